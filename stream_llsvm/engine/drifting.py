"""Watching the errors for drift."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from river import base

_LOOK = 8  # records between two looks at what a detector makes of the error rate


def changes(detector: base.DriftDetector, errors: Sequence[float]) -> Iterator[tuple[int, bool]]:
    """Yield where the detector sees a change, and whether that is for the worse.

    That a model which has just begun gets better is no drift.

    Parameters
    ----------
    detector
        One of river's.
    errors
        1.0 for each wrong answer, 0.0 for each right one.

    Examples
    --------
    >>> from river import drift
    >>> detector = drift.ADWIN()
    >>> list(changes(detector, [0.0] * 500 + [1.0] * 100))
    [(511, True)]

    """
    update = _update(detector)
    for first in range(0, len(errors), _LOOK):  # a look costs as much as all else
        before = getattr(detector, "estimation", None)
        for n, error in enumerate(errors[first : first + _LOOK], first):
            if not update(error):
                continue
            after = getattr(detector, "estimation", None)
            yield n, before is None or after is None or after > before
            before = after
            update = _update(detector)


def _update(detector: base.DriftDetector) -> Callable[[float], bool]:
    """Return what takes one error and tells of a change."""

    def update(error: float) -> bool:
        detector.update(error)
        return bool(detector.drift_detected)

    # ADWIN's own update asks whether there was a change, hands the error on to a compiled part,
    # and keeps what that says: three times the price of that part.
    part: Any = getattr(detector, "_helper", None)
    if type(detector).__module__ != "river.drift.adwin" or not hasattr(part, "update"):
        return update
    if detector.drift_detected:
        return update  # which begins anew with a part of its own
    own = part.update

    def quick(error: float) -> bool:
        if own(error):
            detector._drift_detected = True
            return True
        return False

    return quick
