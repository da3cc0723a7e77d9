"""Watching the errors for drift."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from operator import indexOf
from typing import Any

import numpy as np
from river import base

_KEPT = 65_536  # errors, a bit each
_LOOK = 8  # records between two looks at what a detector makes of the error rate


class Drift:
    """A drift detector that goes on where it was when a run is continued.

    River's detectors cannot be saved without pickle. What they have seen of late can be: it is
    shown to the new one again.

    Parameters
    ----------
    detector
        One of river's.

    """

    def __init__(self, detector: base.DriftDetector) -> None:
        self.detector = detector
        self._errors: deque[float] = deque(maxlen=_KEPT)

    def update(self, errors: Sequence[float]) -> Iterator[tuple[int, bool]]:
        """Yield where there is a change, and whether that is for the worse; see `changes`."""
        self._errors.extend(errors)
        return changes(self.detector, errors)

    def payload(self) -> dict[str, Any]:
        """Return what a checkpoint keeps."""
        errors = np.fromiter(self._errors, bool, len(self._errors))
        return {"count": len(errors), "errors": np.packbits(errors)}

    def restore(self, payload: Mapping[str, Any]) -> None:
        """Continue from what `payload` gave."""
        errors = np.unpackbits(payload["errors"], count=payload["count"]).astype(float).tolist()
        for _ in self.update(errors):
            pass


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
    known = type(detector).__module__ == "river.drift.adwin"
    if known and hasattr(getattr(detector, "_helper", None), "update"):
        yield from _of_adwin(detector, errors)
        return
    for first in range(0, len(errors), _LOOK):  # a look costs as much as all else
        before = getattr(detector, "estimation", None)
        for n, error in enumerate(errors[first : first + _LOOK], first):
            detector.update(error)
            if not detector.drift_detected:
                continue
            after = getattr(detector, "estimation", None)
            yield n, before is None or after is None or after > before
            before = after


def _of_adwin(detector: Any, errors: Sequence[float]) -> Iterator[tuple[int, bool]]:
    """Do the same with ADWIN, at a fifth of the price.

    Its own update asks whether there was a change, hands the error on to a compiled part, and
    keeps what that says. Without a change its mean is known from what came in: it need not be
    looked at.
    """
    before = 0.0
    n = 0
    while n < len(errors):
        if n % _LOOK == 0:
            before = detector.estimation
        if detector.drift_detected:
            detector.update(errors[n])  # which begins anew with another part
            hit = n if detector.drift_detected else -1
        else:
            width, total = detector.width, detector.total
            try:
                hit = n + indexOf(map(detector._helper.update, errors[n:]), True)
            except ValueError:  # there is none
                return
            detector._drift_detected = True
            look = hit - hit % _LOOK
            if look > n:
                before = (total + sum(errors[n:look])) / (width + look - n)
        if hit >= 0:
            after = detector.estimation
            yield hit, after > before
            before = after
            n = hit
        n += 1
