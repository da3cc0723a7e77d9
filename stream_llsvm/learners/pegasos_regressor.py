"""Pegasos for numbers: linear support vector regression."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.kernels.losses import LOSSES_OF_NUMBERS
from stream_llsvm.kernels.scaling import NEVER_NEGATIVE, STATISTICS
from stream_llsvm.learners.block import BlockModel
from stream_llsvm.learners.number_reasons import explain_linear, spread_of
from stream_llsvm.learners.numbers import NumberLearner
from stream_llsvm.members.family.pegasos import steps
from stream_llsvm.members.family.pegasos.numbers import run
from stream_llsvm.model.explain import Explanation
from stream_llsvm.options import choice, flag, number, whole
from stream_llsvm.records.features import Row

Views = dict[str, NDArray[np.float64]]


class PegasosRegressor(BlockModel, NumberLearner):
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
        self.l2 = number("l2", l2, 1e-12, 1e6)
        self.batch_size = whole("batch_size", batch_size, 1, 10**9)
        self.projection = flag("projection", projection)
        self.loss = choice("loss", loss, LOSSES_OF_NUMBERS)
        self.t0 = whole("t0", t0, 0, 10**12)
        super().__init__(standardize, max_mb)

    def _layout(self, width: int, columns: int) -> dict[str, tuple[int, ...]]:
        return {
            "head": (steps.HEAD,),
            "statistics": (width, STATISTICS),
            "target": (1, STATISTICS),
            "scale": (columns,),
            "norm": (columns,),
            "bias": (columns,),
            "weights": (columns, width),
            "slope_bias": (columns,),
            "slope": (columns, width),
        }

    @property
    def _kernel(self) -> Any:
        return run

    def _make_plan(self, width: int, columns: int, starts: Sequence[int]) -> list[int]:
        loss = LOSSES_OF_NUMBERS[self.loss]
        return [width, self.standardize, loss, self.batch_size, self.projection, *starts]

    def _begin(self, views: Views) -> None:
        views["scale"][:] = 1
        self._settle(views)

    def _settle(self, views: Views) -> None:
        head = views["head"]
        head[[steps.L2, steps.EPSILON, steps.T0]] = self.l2, self.epsilon, self.t0

    def _call(
        self,
        row: Row,
        targets: NDArray[np.float64],
        importance: NDArray[np.float64],
        out: NDArray[np.float64],
    ) -> None:
        run(
            self._state,
            self._scratch,
            self._plan,
            row.values.reshape(-1),
            row.columns,
            row.starts,
            targets,
            importance,
            out,
        )

    def _sound(self, views: Views) -> bool:
        head = views["head"]
        never_negative = [
            head,
            views["norm"],
            views["statistics"][:, NEVER_NEGATIVE],
            views["target"][:, NEVER_NEGATIVE],
        ]
        counts = head[[steps.SEEN, steps.STEPS, steps.HELD]]
        return bool(
            all((part >= 0).all() for part in never_negative)
            and (views["scale"] > 0).all()
            and (counts == np.floor(counts)).all()
            and head[steps.HELD] < max(2, self.batch_size)
        )

    @property
    def _machines(self) -> NDArray[np.float64]:
        """The weights per scaled feature, (columns, features)."""
        views = self._views()
        plain: NDArray[np.float64] = views["scale"][:, None] * views["weights"]
        return plain[:, : len(self._features)]

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
        return explain_linear(
            self._features.names,
            self._features.encode(x),
            float(told[0]),
            spread * self._machines[0],
            self._views()["statistics"],
            standardize=self.standardize,
        )
