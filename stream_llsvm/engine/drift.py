"""Watching the errors for drift."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from operator import indexOf
from typing import Any

import numpy as np
from river import base

from stream_llsvm.engine.validation import array, count

_KEPT = 65_536  # errors: a bit each, or a byte
_LATELY = 100  # records whose errors say how bad it is now
_LOOK = 8  # records between two looks at what a detector makes of the error rate


class Drift:
    """A drift detector that goes on where it was when a run is continued.

    A detector that has just begun anew, amid a rise, sees wobbles as changes, and some of those go
    down. So errors have fallen only when the detector has seen a fall and they are half of what
    they rose to. That they fall before any rise is how a model learns, and is not told.

    River's detectors cannot be saved without pickle. What they have seen of late can be: it is
    shown to the new one again.

    Parameters
    ----------
    detector
        One of river's.
    levels
        How many errors there are beside none at all: 1, or more between 0 and 1.

    """

    def __init__(self, detector: base.DriftDetector, levels: int = 1) -> None:
        self.detector, self._levels = detector, levels
        self._errors: deque[float] = deque(maxlen=_KEPT)
        self._tail: list[float] = []
        self._risen_to = 0.0  # the error rate at its worst since it rose; 0 if it has not
        self._falling = False

    def update(self, errors: Sequence[float]) -> Iterator[tuple[int, bool]]:
        """Yield where the errors have changed, and whether that is for the worse."""
        self._errors.extend(errors)
        known, before = [*self._tail, *errors], len(self._tail)
        self._tail = known[-_LATELY:]
        done = 0
        for n, worse in changes(self.detector, errors):
            yield from self._fallen(known, before, done, n)
            done = n
            if worse or self._risen_to:
                self._risen_to = max(self._risen_to, _mean(known, before + n))
            self._falling = not worse and self._risen_to > 0
            if worse:
                yield n, True
        yield from self._fallen(known, before, done, len(errors))

    def _fallen(
        self, known: Sequence[float], before: int, first: int, end: int
    ) -> Iterator[tuple[int, bool]]:
        """Yield the first of these errors at which they have fallen, if there is one."""
        for n in range(first, end) if self._falling else ():
            if _mean(known, before + n) < self._risen_to / 2:
                self._risen_to, self._falling = 0.0, False
                yield n, False
                return

    def payload(self) -> dict[str, Any]:
        """Return what a checkpoint keeps."""
        errors = np.fromiter(self._errors, float, len(self._errors))
        if self._levels == 1:
            return {"count": len(errors), "errors": np.packbits(errors > 0)}
        return {"count": len(errors), "levels": np.rint(errors * self._levels).astype(np.uint8)}

    def restore(self, payload: Mapping[str, Any]) -> None:
        """Continue from what `payload` gave; raises ModelFileError if it does not fit together."""
        for _ in self.update(errors_of(payload, self._levels)):
            pass


def detector_of(chosen: str | base.DriftDetector | None) -> base.DriftDetector | None:
    """Return the detector that was chosen, by name or itself."""
    if not isinstance(chosen, str):
        return chosen
    if chosen != "adwin":
        raise ValueError(
            f'detector must be "adwin", one of river.drift\'s, or None: got {chosen!r}'
        )
    from river import drift  # late: it brings much with it

    return drift.ADWIN()


def errors_of(payload: Mapping[str, Any], levels: int = 1) -> list[float]:
    """Return the errors that a detector's payload holds."""
    n = count(payload, "count", 0, _KEPT)
    if levels > 1:
        shares: list[float] = (array(payload, "levels", np.uint8, (n,)) / levels).tolist()
        return shares
    packed = array(payload, "errors", np.uint8, (-(-n // 8),))
    errors: list[float] = np.unpackbits(packed, count=n).astype(float).tolist()
    return errors


def _mean(errors: Sequence[float], at: int) -> float:
    """Return the mean of the errors up to this one, of the latest."""
    latest = errors[max(0, at + 1 - _LATELY) : at + 1]
    return sum(latest) / len(latest)


def changes(detector: base.DriftDetector, errors: Sequence[float]) -> Iterator[tuple[int, bool]]:
    """Yield where the detector sees a change, and whether that is for the worse.

    That a model which has just begun gets better is no drift.

    Parameters
    ----------
    detector
        One of river's.
    errors
        1.0 for each wrong answer, 0.0 for each right one; of numbers, something between.

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
