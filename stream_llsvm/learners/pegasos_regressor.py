"""Pegasos for numbers: linear support vector regression."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Any

from stream_llsvm.kernels.losses import LOSSES_OF_NUMBERS
from stream_llsvm.learners.number_reasons import spread_of
from stream_llsvm.learners.numbers import NumberLearner
from stream_llsvm.learners.pegasos import Pegasos
from stream_llsvm.model.explain import Explanation
from stream_llsvm.options import number


class PegasosRegressor(Pegasos, NumberLearner):
    """Linear support vector regression by Pegasos.

    Parameters
    ----------
    l2
        The penalty on the weights: lambda.
    batch_size
        How many records make a step, the mean of their steps.
    projection
        Whether weights are brought back to the ball that the best ones must lie in: what a machine
        that knows nothing loses bounds them.
    loss
        "epsilon_insensitive", "squared_epsilon_insensitive", "squared" or "huber".
    epsilon
        What "epsilon_insensitive" forgives, and where "huber" turns linear; in standard deviations
        of the target if ``standardize``.
    t0
        Steps are 1 / (lambda (t + t0)): keeps the first ones short.
    standardize
        Whether features and the target are brought to mean 0 and variance 1, learned on the fly.
    max_mb
        How much memory the model may grow to take as features appear.

    References
    ----------
    [^1]: Shalev-Shwartz, Singer, Srebro, Cotter. Pegasos: Primal Estimated sub-GrAdient SOlver for
        SVM. Mathematical Programming, 2011.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> from stream_llsvm import PegasosRegressor
    >>> model = PegasosRegressor()
    >>> evaluate.progressive_val_score(datasets.TrumpApproval(), model, metrics.MAE())
    MAE: 0...

    """

    _losses = LOSSES_OF_NUMBERS

    def __init__(
        self,
        l2: float = 1e-3,
        batch_size: int = 1,
        projection: bool = True,
        loss: str = "huber",
        epsilon: float = 0.1,
        t0: int = 0,
        standardize: bool = True,
        max_mb: int = 1_024,
    ) -> None:
        self.epsilon = number("epsilon", epsilon, 0.0, 1e12)
        self._epsilon = self.epsilon
        super().__init__(l2, batch_size, projection, loss, t0, standardize, max_mb)

    def _know(self, names: Iterable[Hashable]) -> None:
        self._grow(names, 1)

    @property
    def _has_begun(self) -> bool:
        return self._state is not None

    def explain_one(self, x: Mapping[Any, Any]) -> Explanation:
        """Take the number told for a record apart into what each feature adds to it.

        Each adds its weight times its value, in the target's units.

        Parameters
        ----------
        x
            The record.

        """
        told = self._score_one(x)
        if told is None:
            raise ValueError("nothing has been learned yet, so there is nothing to explain")
        spread = spread_of(self.standardize, self._views()["target"][0])
        return self._explained(x, float(told[0]), spread * self._machines[0])
