"""What came of decisions: their cost, how often sets held the truth, what was held."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.engine.validation import array, count, number, require
from stream_llsvm.engine.window import Window
from stream_llsvm.learners.decision import Outcome

#: What is summed: of each outcome its value, and whether it had one.
_KINDS = len(Outcome._fields)


class DecidedScores:
    """Means of outcomes: over a window, fading and over all.

    Parameters
    ----------
    window
        How many of the last decisions are looked at.
    fade
        What a decision still counts when another has come.

    Examples
    --------
    >>> scores = DecidedScores(100, 0.999)
    >>> scores.update([Outcome(5.0, 1.0, 2.0, float("nan")), Outcome(0.0, 1.0, 1.0, 1.0)])
    >>> scores.means()["cumulative"].tolist()
    [2.5, 1.0, 1.5, 1.0]

    """

    def __init__(self, window: int, fade: float) -> None:
        self.n = 0
        self._ring = Window(window)
        self._fade = fade
        self._recent = np.zeros((window, 2, _KINDS))
        self._sums = np.zeros((2, _KINDS))
        self._fading = np.zeros((2, _KINDS))

    def update(self, outcomes: Sequence[Outcome]) -> None:
        """Take what came of decisions, in order."""
        for outcome in outcomes:
            values = np.array(outcome)
            known = ~np.isnan(values)
            both = np.array([np.where(known, values, 0.0), known])
            self._recent[self.n % len(self._recent)] = both
            self._sums += both
            self._fading *= self._fade
            self._fading += both
            self.n += 1

    def begin_anew(self) -> None:
        """Let the window begin with the next decision: another model is decided from."""
        self._ring.begun = self.n

    def means(self) -> dict[str, NDArray[np.float64]]:
        """Return the means of each view, in the order of `Outcome`; NaN where nothing had one."""
        recent = self._recent[self._ring.latest(self.n)].sum(axis=0)
        views = {"windowed": recent, "fading": self._fading, "cumulative": self._sums}
        with np.errstate(invalid="ignore"):
            return {view: sums[0] / sums[1] for view, sums in views.items()}

    def payload(self) -> dict[str, Any]:
        """Return everything, as plain values; nothing in it changes with further updates."""
        return {
            "n": self.n, "recent": self._recent.copy(), "sums": self._sums.copy(),
            "fading": self._fading.copy(), "fade": self._fade,
            "begun": self._ring.begun,
        }  # fmt: skip

    @classmethod
    def restored(cls, payload: Mapping[str, Any], window: int) -> Self:
        """Continue from what `payload` gave; raises ModelFileError if it does not fit together."""
        scores = cls(window, number(payload, "fade", high=1.0))
        scores.n = count(payload, "n")
        scores._ring.begun = count({"begun": 0, **payload}, "begun", high=scores.n)
        scores._recent = array(payload, "recent", np.float64, (window, 2, _KINDS))
        scores._sums = array(payload, "sums", np.float64, (2, _KINDS))
        scores._fading = array(payload, "fading", np.float64, (2, _KINDS))
        for name, values in (("recent", scores._recent), ("sums", scores._sums)):
            require(bool((values[..., 1, :] >= 0).all()), name)
        return scores
