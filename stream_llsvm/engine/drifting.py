"""Watching the errors for drift."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import indexOf
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
