"""Which of two models errs less: a test that may be looked at after every record.

A usual test promises its rate of false alarms for one look, and whoever looks again and again will
see a difference where there is none. This one is a confidence sequence: with a probability of
95 % its interval holds the mean difference at every moment at once, whatever the stream does, so
that one may stop and decide whenever one likes.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import log
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.engine.validation import count, number, require

Verdict = Literal["better", "worse", "undecided"]
ALPHA = 0.05
#: How far apart two differences may lie, each between -1 and 1.
_WIDEST = 2.0
#: How boldly one may bet on a difference: for each size of it, and each length of a stream, one of
#: these is about right, and all bet at once with equal shares.
_BETS = np.geomspace(0.45, 1e-6, 48)
_PRICES = (-np.log1p(-_WIDEST * _BETS) - _WIDEST * _BETS) / _WIDEST**2
_HALVINGS = 50


class PairedTest:
    r"""The mean difference of two models' errors on the same records, and where it may lie.

    With differences :math:`\delta_i` between -1 and 1, their mean :math:`\gamma_i` before the i-th,
    :math:`V_t = \sum_i (\delta_i - \gamma_i)^2` and
    :math:`\psi(\lambda) = (-\log(1 - 2 \lambda) - 2 \lambda) / 4`,

    .. math:: E_t(\Delta) = \sum_k w_k \exp(\lambda_k \sum_i (\delta_i - \Delta_i)
              - \psi(\lambda_k) V_t)

    is an e-process: at no time is it expected to be above 1, if :math:`\Delta_i` is what
    :math:`\delta_i` was expected to be just before the i-th record. By Ville's inequality it ever
    exceeds :math:`2 / \alpha` with a probability of at most :math:`\alpha / 2`. So the mean of the
    :math:`\Delta_i` is where neither this one nor that of :math:`-\delta` does: the empirical
    Bernstein confidence sequence of Choe and Ramdas, Comparing Sequential Forecasters (Operations
    Research, 2024), theorem 2, with the mixture over :math:`\lambda` as a sum. Nothing is assumed
    of the stream: the means may drift.

    Parameters
    ----------
    alpha
        The chance that the interval ever misses.

    Examples
    --------
    >>> test = PairedTest()
    >>> test.update(np.zeros(500))
    >>> test.verdict
    'undecided'
    >>> test.update(np.repeat([-1.0, 0.0, 0.0], 60))
    >>> low, high = test.interval
    >>> test.verdict, round(test.mean, 3), low < test.mean < high < 0
    ('better', -0.088, True)

    """

    def __init__(self, alpha: float = ALPHA) -> None:
        self.n = 0
        self._alpha = alpha
        self._sum = self._squares = 0.0

    def update(self, differences: NDArray[np.float64]) -> None:
        """Take the next records: the one's error minus the other's, each between -1 and 1.

        One record after the other gives the same, to the bit, as all at once.
        """
        if len(differences) == 0:
            return
        sums = np.cumsum(np.concatenate([[self._sum], differences]))
        seen = np.arange(self.n, self.n + len(differences))
        around = differences - sums[:-1] / np.maximum(seen, 1)
        self._squares = float(np.cumsum(np.concatenate([[self._squares], around**2]))[-1])
        self._sum = float(sums[-1])
        self.n += len(differences)

    @property
    def mean(self) -> float:
        """The mean difference so far: below 0 where the one errs less."""
        return self._sum / max(self.n, 1)

    @property
    def interval(self) -> tuple[float, float]:
        """Where the mean difference lies, also if one looks all the time."""
        if self.n == 0:
            return -1.0, 1.0
        reach = self._reach() / self.n
        return max(-1.0, self.mean - reach), min(1.0, self.mean + reach)

    @property
    def verdict(self) -> Verdict:
        """Whether the one is better, worse, or it cannot be said yet."""
        if self._log_e(abs(self._sum)) < log(2 / self._alpha):
            return "undecided"
        return "better" if self._sum < 0 else "worse"

    def _log_e(self, above: float) -> float:
        """Return the logarithm of the e-process where the sum is so far above what was expected."""
        logs = _BETS * above - _PRICES * self._squares
        most = float(logs.max())
        return most + float(np.log(np.exp(logs - most).mean()))

    def _reach(self) -> float:
        """Return how far the sum may be from what was expected, by halving."""
        wanted = log(2 / self._alpha)
        low, high = 0.0, 1.0
        while self._log_e(high) < wanted:
            low, high = high, 2 * high
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            low, high = (middle, high) if self._log_e(middle) < wanted else (low, middle)
        return high

    def payload(self) -> dict[str, Any]:
        """Return what a checkpoint keeps."""
        return {"n": self.n, "sum": self._sum, "squares": self._squares}

    @classmethod
    def restored(cls, payload: Mapping[str, Any]) -> Self:
        """Continue from what `payload` gave; raises ModelFileError if it does not fit together."""
        test = cls()
        test.n = count(payload, "n")
        test._sum = number(payload, "sum", low=-float(test.n), high=float(test.n))
        test._squares = number(payload, "squares")
        require(test._squares <= _WIDEST**2 * test.n, "squares")
        return test
