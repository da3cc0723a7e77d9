"""How good the answers should be by what the model itself says: known before any label comes.

A calibrated model that calls its answers 90 % likely is right nine times in ten, so the mean of
these probabilities is an estimate of the accuracy. Beside it stands what was answered, and how
sure the answers were.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.engine.tally import BINS, tally_answers
from stream_llsvm.engine.validation import MOST, array, count, number, part, require
from stream_llsvm.engine.window import Window

Codes = NDArray[np.int64]
Floats = NDArray[np.float64]

FADE = 0.999
_ALL, _FADING, _FADED, _SUMS = range(4)


class Estimate:
    """What the probabilities of the answers promise, over all records that were answered.

    Parameters
    ----------
    window
        How many of the last answers the windowed view looks at.

    Examples
    --------
    >>> estimate = Estimate(window=3)
    >>> estimate.update(np.array([0, 1, 0, -1]), np.array([0.9, 0.6, 0.75, 0.0]))
    >>> estimate.means()["windowed"], estimate.answers().tolist()
    (0.75, [2, 1])

    """

    def __init__(self, window: int) -> None:
        self.window, self.n = window, 0
        self._ring = Window(window)
        self._codes = np.zeros(window, dtype=np.int64)
        self._sure = np.zeros(window)
        self._sums = np.zeros(_SUMS)
        self._counts = np.zeros(0, dtype=np.int64)
        self._bins = np.zeros(BINS, dtype=np.int64)

    def update(self, codes: Codes, sure: Floats) -> None:
        """Take the answers to a block of records (-1: none), and how likely each was held."""
        if len(codes) == 0:
            return
        more = int(codes.max()) + 1 - len(self._counts)
        if more > 0:
            self._counts = np.pad(self._counts, (0, more))
        self.n += tally_answers(
            (np.ascontiguousarray(codes), np.ascontiguousarray(sure)), self.n, FADE,
            (self._codes, self._sure), (self._sums, self._counts, self._bins),
        )  # fmt: skip

    def begin_anew(self) -> None:
        """Let the window begin with the next answer: another model gives it."""
        self._ring.begun = self.n

    def means(self) -> dict[str, float]:
        """Return the estimated accuracy in each view; empty before the first answer."""
        if self.n == 0:
            return {}
        some = self._ring.held(self.n) > 0
        return {
            **({"windowed": float(self._sure[self._ring.latest(self.n)].mean())} if some else {}),
            "fading": float(self._sums[_FADING] / self._sums[_FADED]),
            "cumulative": float(self._sums[_ALL] / self.n),
        }

    def answers(self) -> Codes:
        """Return how often each class was answered in the window."""
        return np.bincount(self._codes[self._ring.latest(self.n)], minlength=len(self._counts))

    def confidence(self) -> tuple[Codes, Codes]:
        """Return how many answers were how sure, by equal bins: in the window, and of all."""
        sure = self._sure[self._ring.latest(self.n)]
        recent = np.minimum((sure * BINS).astype(np.int64), BINS - 1)
        return np.bincount(recent, minlength=BINS), self._bins.copy()

    def payload(self) -> dict[str, Any]:
        """Return everything, as plain values; nothing in it changes with further updates."""
        return {
            "window": self.window, "n": self.n, "codes": self._codes.copy(),
            "sure": self._sure.copy(), "sums": self._sums.copy(),
            "counts": self._counts.copy(), "bins": self._bins.copy(),
            "begun": self._ring.begun,
        }  # fmt: skip

    @classmethod
    def restored(cls, payload: Mapping[str, Any], classes: int) -> Self:
        """Continue from what `payload` gave; raises ModelFileError if it does not fit together."""
        found = part(payload, "codes", np.ndarray)
        window = count(payload, "window", 1)
        require(found.shape == (window,), "codes")
        seen = len(part(payload, "counts", np.ndarray))
        require(seen <= classes, "counts")
        estimate = cls(window)
        estimate.n = n = count(payload, "n")
        estimate._ring.begun = count({"begun": 0, **payload}, "begun", high=n)
        estimate._codes = array(payload, "codes", np.int64, (window,))
        estimate._sure = array(payload, "sure", np.float64, (window,))
        estimate._sums = array(payload, "sums", np.float64, (_SUMS,))
        estimate._counts = array(payload, "counts", np.int64, (seen,))
        estimate._bins = array(payload, "bins", np.int64, (BINS,))
        codes, sure, sums = estimate._codes, estimate._sure, estimate._sums
        require(bool(((codes >= 0) & (codes < max(1, seen))).all()), "codes")
        require(bool(((sure >= 0) & (sure <= 1)).all()), "sure")
        require(bool((sums >= 0).all() and sums[_ALL] <= n), "sums")
        number({"faded": float(sums[_FADED])}, "faded", high=1 / (1 - FADE) + 1)
        require((sums[_FADED] > 0) == (n > 0), "sums")
        require(bool(sums[_FADING] <= sums[_FADED] * (1 + 1e-9)), "sums")
        for name, counts in (("counts", estimate._counts), ("bins", estimate._bins)):
            require(bool(((counts >= 0) & (counts <= MOST)).all()), name)
            require(int(counts.sum()) == n, name)
        return estimate
