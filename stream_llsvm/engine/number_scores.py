"""The scores of numbers: how far each answer was from its label."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.engine.scores import FADE, WINDOW, Scores, Totals
from stream_llsvm.engine.tally import (
    COUNTED_NUMBERS,
    FADED,
    FADED_SQUARES,
    LABEL,
    LEVELS,
    MOMENTS,
    OWN_SQUARES,
    SEEN,
    SPREAD,
    tally_numbers,
)
from stream_llsvm.engine.task import REGRESSION
from stream_llsvm.engine.validation import MOST, array, count, part, require

Floats = NDArray[np.float64]


class NumberScores(Scores):
    """Scores of numbers, from blocks of records.

    Parameters
    ----------
    window
        How many of the last records the windowed scores look at.

    Examples
    --------
    >>> import numpy as np
    >>> scores = NumberScores(window=100)
    >>> spreads = scores.update(np.array([1.0, 2.0, 4.0]), np.array([1.5, 2.0, 3.0]))
    >>> found = scores.report()["cumulative"]
    >>> found["mae"], found["last_label"], round(found["r2"], 3)
    (0.5, 1.333..., 0.732)

    """

    task = REGRESSION

    def __init__(self, window: int = WINDOW) -> None:
        super().__init__(window)
        self._moments = np.zeros(MOMENTS)
        self._recent = np.zeros((COUNTED_NUMBERS, window))
        self._sums = np.zeros(SPREAD)
        self._fading = np.zeros(SPREAD)

    def update(self, truth: Floats, told: Floats) -> Floats:
        """Score a block: labels, and what was told of them (NaN: nothing).

        Returns one standard deviation of the latest labels before each record.
        """
        spreads = np.zeros(len(truth))
        self.n += tally_numbers(
            (truth, told), self.n, FADE, self._moments, (self._sums, self._fading), self._recent,
            spreads,
        )  # fmt: skip
        return spreads

    def _totals(self) -> Mapping[str, Totals]:
        recent, moments = self._recent[:, self._ring.latest(self.n)], self._moments
        errors = recent[:SPREAD].sum(axis=1) / max(1, recent.shape[1])
        variance = recent[LABEL].var() if recent.shape[1] else 0.0
        faded = moments[FADED]
        return {
            "windowed": Totals(np.append(errors, variance)),
            "fading": Totals(np.append(self._fading, moments[FADED_SQUARES]) / faded),
            "cumulative": Totals(np.append(self._sums, moments[OWN_SQUARES]) / self.n),
        }

    @property
    def seen(self) -> int:
        """How many records had a label, those that were not scored included."""
        return int(self._moments[SEEN])

    def payload(self) -> dict[str, Any]:
        """Return everything, as plain values; nothing in it changes with further updates."""
        return {
            "window": self.window, "n": self.n, "moments": self._moments.copy(),
            "recent": self._recent.copy(), "sums": self._sums.copy(),
            "fading": self._fading.copy(),
            "begun": self._ring.begun,
        }  # fmt: skip

    @classmethod
    def restored(cls, payload: Mapping[str, Any]) -> Self:
        """Continue from what `payload` gave; raises ModelFileError if it does not fit together."""
        # Before anything is made of that size: there are as many as the file has brought.
        recent = part(payload, "recent", np.ndarray)
        window = count(payload, "window", 1)
        require(recent.shape == (COUNTED_NUMBERS, window), "recent")
        scores = cls(window)
        scores.n = n = count(payload, "n")
        scores._ring.begun = count({"begun": 0, **payload}, "begun", high=n)
        scores._moments = moments = array(payload, "moments", np.float64, (MOMENTS,))
        scores._recent = array(payload, "recent", np.float64, (COUNTED_NUMBERS, window))
        scores._sums = array(payload, "sums", np.float64, (SPREAD,))
        scores._fading = array(payload, "fading", np.float64, (SPREAD,))
        seen = moments[SEEN]
        require(n <= seen <= MOST and seen == int(seen), "moments")
        require(0 <= moments[FADED] <= min(n, 1 / (1 - FADE) + 1), "moments")
        require((moments[FADED] > 0) == (n > 0), "moments")
        for name, values in (
            ("moments", moments[[OWN_SQUARES, FADED_SQUARES]]),
            ("recent", scores._recent[:SPREAD]),
            ("sums", scores._sums),
            ("fading", scores._fading),
        ):
            require(bool((values >= 0).all()), name)
        return scores


def shares_of(errors: Floats, spreads: Floats) -> Floats:
    """Return errors as shares of what labels spread by, at most 1, in so many steps.

    Examples
    --------
    >>> shares_of(np.array([1.0, 5.0, 0.0, 2.0]), np.array([2.0, 2.0, 0.0, 0.0])).round(2).tolist()
    [0.5, 1.0, 0.0, 1.0]

    """
    flat = spreads <= 0
    shares = np.where(flat, errors > 0, errors / np.where(flat, 1.0, spreads))
    return np.floor(np.minimum(shares, 1.0) * LEVELS + 0.5) / LEVELS
