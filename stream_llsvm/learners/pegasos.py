"""Pegasos: the linear SVM by stochastic steps, for classes and for numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from river import base

from stream_llsvm.features import Row
from stream_llsvm.frames import as_matrix, like
from stream_llsvm.kernels import pegasos as kernel
from stream_llsvm.kernels.scaling import (
    BORN,
    COUNT,
    INVERSE,
    NAMED,
    STATISTICS,
    VARIANCE,
)
from stream_llsvm.learners.block import BlockModel
from stream_llsvm.learners.options import choice, flag, number, whole
from stream_llsvm.learners.scoring import ScoringClassifier
from stream_llsvm.learners.weights import checked_weight, checked_weights
from stream_llsvm.values import as_number

Views = dict[str, NDArray[np.float64]]


class Pegasos(BlockModel):
    """The state that the kernel works on, and the options that both learners have."""

    loss: str
    _losses: Mapping[str, int]
    _epsilon = 0.0

    def __init__(
        self,
        l2: float,
        batch_size: int,
        projection: bool,
        t0: int,
        standardize: bool,
        max_mb: int,
    ) -> None:
        self.l2 = number("l2", l2, 1e-12, 1e6)
        self.batch_size = whole("batch_size", batch_size, 1, 10**9)
        self.projection = flag("projection", projection)
        self.t0 = whole("t0", t0, 0, 10**12)
        super().__init__(standardize, max_mb)

    def _layout(self, width: int, columns: int) -> dict[str, tuple[int, ...]]:
        return {
            "head": (kernel.HEAD,),
            "statistics": (width, STATISTICS),
            "target": (1, STATISTICS),
            "scale": (columns,),
            "norm": (columns,),
            "bias": (columns,),
            "weights": (columns, width),
            "slope_bias": (columns,),
            "slope": (columns, width),
        }

    def _make_plan(self, width: int, columns: int, starts: Sequence[int]) -> list[int]:
        loss = self._losses[self.loss]
        return [
            width, columns, self.standardize, loss, self.batch_size, self.projection, *starts
        ]  # fmt: skip

    def _begin(self, views: Views) -> None:
        views["scale"][:] = 1
        self._settle(views)

    def _settle(self, views: Views) -> None:
        head = views["head"]
        head[[kernel.L2, kernel.EPSILON, kernel.T0]] = self.l2, self._epsilon, self.t0

    def _carry(self, old: Views, new: Views) -> None:
        one, more = len(old["scale"]), len(new["scale"])
        super()._carry(old, new)
        if one == more:
            return
        # A class that nobody has seen would have been every record's "not this one".
        seen = old["head"][kernel.STEPS] > 0
        if one == 1:
            for name in ("weights", "bias", "slope", "slope_bias"):
                new[name][0] = -new[name][0]
                new[name][1] = -new[name][0]
            new["scale"][1], new["norm"][1] = new["scale"][0], new["norm"][0]
        first = max(2, one)
        new["bias"][first:], new["norm"][first:] = (-1, 1) if seen else (0, 0)

    def _call(
        self,
        row: Row,
        targets: NDArray[np.float64],
        importance: NDArray[np.float64],
        out: NDArray[np.float64],
    ) -> None:
        kernel.run(
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
            *(s[:, [COUNT, VARIANCE, INVERSE, NAMED, BORN]] for s in self._scales(views)),
        ]
        counts = head[[kernel.SEEN, kernel.STEPS, kernel.HELD]]
        return bool(
            all((part >= 0).all() for part in never_negative)
            and (views["scale"] > 0).all()
            and (counts == np.floor(counts)).all()
            and head[kernel.HELD] < max(2, self.batch_size)
        )

    @staticmethod
    def _scales(views: Views) -> list[NDArray[np.float64]]:
        return [views["statistics"], views["target"]]

    @property
    def _machines(self) -> NDArray[np.float64]:
        """The weights per scaled feature, (columns, features)."""
        views = self._views()
        plain: NDArray[np.float64] = views["scale"][:, None] * views["weights"]
        return plain[:, : len(self._features)]


class PegasosClassifier(Pegasos, ScoringClassifier):
    """Linear SVM by Pegasos: steps of 1 / (l2 t) down the regularised loss.

    Several classes are learned each against the rest. A step costs what the record names: weights
    are kept with a scale, so that shrinking and projecting them touches nothing else. For losses
    with a curvature a step is never longer than the record asks for.

    Parameters
    ----------
    l2
        The penalty on the weights: lambda.
    batch_size
        How many records make a step, the mean of their steps. What is held of a batch is part of
        the model: a saved one goes on in the middle.
    projection
        Whether weights are brought back to the ball that the best ones must lie in: of radius
        1 / sqrt(lambda) for the hinge.
    loss
        "hinge", "squared_hinge" or "logistic".
    t0
        Steps are 1 / (lambda (t + t0)): keeps the first ones short. Pegasos has 0.
    standardize
        Whether features are brought to mean 0 and variance 1, learned on the fly.
    max_mb
        How much memory the model may grow to take as features and classes appear.

    References
    ----------
    [^1]: Shalev-Shwartz, Singer, Srebro, Cotter. Pegasos: Primal Estimated sub-GrAdient SOlver for
        SVM. Mathematical Programming, 2011.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> from stream_llsvm import PegasosClassifier
    >>> model = PegasosClassifier()
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 8...%

    """

    _losses = kernel.OF_CLASSES

    def __init__(
        self,
        l2: float = 1e-2,
        batch_size: int = 1,
        projection: bool = True,
        loss: str = "hinge",
        t0: int = 0,
        standardize: bool = True,
        max_mb: int = 1_024,
    ) -> None:
        self.loss = choice("loss", loss, kernel.OF_CLASSES)
        super().__init__(l2, batch_size, projection, t0, standardize, max_mb)


class PegasosRegressor(Pegasos, base.MiniBatchRegressor):
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

    _losses = kernel.OF_NUMBERS

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
        self.loss = choice("loss", loss, kernel.OF_NUMBERS)
        self.epsilon = number("epsilon", epsilon, 0.0, 1e12)
        self._epsilon = self.epsilon
        super().__init__(l2, batch_size, projection, t0, standardize, max_mb)

    def learn_one(self, x: Mapping[Any, Any], y: float, w: float = 1.0) -> None:
        """Learn from one record.

        Parameters
        ----------
        x
            The record: ``{feature: number}``.
        y
            The number to predict.
        w
            How much the record counts.

        """
        row = self._features.encode(x)
        target = _target(y)
        weight = 1.0 if type(w) is float and w == 1.0 else checked_weight(w)
        if weight == 0:
            return
        if self._features.ignored or self._state is None:
            self._grow(x, 1)
            row = self._features.encode(x)
        self._learn_row(row, target, weight)

    def predict_one(self, x: Mapping[Any, Any]) -> float:
        """Return the number expected, 0 before anything was learned.

        Parameters
        ----------
        x
            The record.

        """
        scores = self._score_one(x)
        return 0.0 if scores is None else float(scores[0])

    def learn_many(self, X: Any, y: Any, w: Any = 1.0) -> None:
        """Learn from each row in turn: the same, to the bit, as `learn_one` row by row.

        Parameters
        ----------
        X
            Any eager dataframe that narwhals reads, a 2-D array or a scipy sparse matrix, of which
            all features are then known from the first row on.
        y
            One number a row.
        w
            How much each record counts: one number, or one a row.

        """
        names, matrix = as_matrix(X)
        targets = _targets(y, len(matrix))
        importance = checked_weights(w, len(matrix))
        counted = np.flatnonzero(importance > 0)
        if len(counted) == 0:
            return
        self._grow(self._named(names, matrix), 1)
        row = self._features.encode_many(names, matrix)
        targets = np.where(importance > 0, targets, np.nan)
        self._call(row, targets, importance, np.zeros((len(matrix), 1)))

    def predict_many(self, X: Any) -> Any:
        """Return the number expected for each row, in the kind of series that X's library has.

        Parameters
        ----------
        X
            The records, as in `learn_many`.

        """
        names, matrix = as_matrix(X)
        return like(X, self._score_rows(names, matrix)[:, 0])


def _target(y: Any, row: int | None = None) -> float:
    told = as_number("the target", y, row)
    if math.isnan(told):
        place = "" if row is None else f" of row {row} (the first row is 0)"
        raise ValueError(
            f"the target{place} is missing ({y!r}): such a record can be predicted, but not "
            "learned from"
        )
    return told


def _targets(y: Any, n: int) -> NDArray[np.float64]:
    """Return a batch's targets: a series, an array or a list of finite numbers."""
    if isinstance(y, np.ndarray) and y.dtype.kind in "biuf" and y.shape == (n,):
        targets = y.astype(np.float64)
        if np.isfinite(targets).all():
            return targets
    listed = list(y.to_pylist() if hasattr(y, "to_pylist") else y)
    if len(listed) != n or getattr(y, "ndim", 1) != 1:
        raise ValueError(f"{len(listed)} targets for {n} rows: give one number a row")
    return np.array([_target(value, row) for row, value in enumerate(listed)], dtype=np.float64)
