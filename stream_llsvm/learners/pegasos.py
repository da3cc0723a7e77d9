"""Pegasos: the linear SVM by stochastic steps."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.kernels.losses import LOSSES_OF_PEGASOS
from stream_llsvm.kernels.pegasos import state as kernel
from stream_llsvm.kernels.pegasos.run import run
from stream_llsvm.kernels.scaling import NEVER_NEGATIVE, STATISTICS
from stream_llsvm.learners.block import BlockModel
from stream_llsvm.learners.number_reasons import explain_linear
from stream_llsvm.learners.scoring import ScoringClassifier
from stream_llsvm.model.explain import Explanation
from stream_llsvm.options import choice, flag, number, whole
from stream_llsvm.records.features import Row

Views = dict[str, NDArray[np.float64]]


class Pegasos(BlockModel):
    """The state that the kernel works on, and the options that both learners have."""

    _losses: Mapping[str, int]
    _epsilon = 0.0

    def __init__(
        self,
        l2: float,
        batch_size: int,
        projection: bool,
        loss: str,
        t0: int,
        standardize: bool,
        max_mb: int,
    ) -> None:
        self.l2 = number("l2", l2, 1e-12, 1e6)
        self.batch_size = whole("batch_size", batch_size, 1, 10**9)
        self.projection = flag("projection", projection)
        self.loss = choice("loss", loss, self._losses)
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

    @property
    def _kernel(self) -> Any:
        return run

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
            *(s[:, NEVER_NEGATIVE] for s in self._scales(views)),
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

    def _explained(
        self, x: Mapping[Any, Any], told: float, machine: NDArray[np.float64]
    ) -> Explanation:
        """Take what one machine tells of a record apart by features."""
        return explain_linear(
            self._features.names,
            self._features.encode(x),
            told,
            machine,
            self._views()["statistics"],
            standardize=self.standardize,
        )

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
        "hinge", "squared_hinge" (the plain square, whose push has no bound) or "logistic".
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

    _losses = LOSSES_OF_PEGASOS

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
        super().__init__(l2, batch_size, projection, loss, t0, standardize, max_mb)

    def explain_one(self, x: Mapping[Any, Any], label: Hashable | None = None) -> Explanation:
        """Take the score of a label apart into what each feature adds: its weight times its value.

        Parameters
        ----------
        x
            The record.
        label
            The label whose score is to be explained; the predicted one if None.

        """
        scores = self.decision_function_one(x)
        if not scores:
            raise ValueError("nothing has been learned yet, so there is nothing to explain")
        chosen = self.predict_one(x) if label is None else label
        code = self._labels.code(chosen)
        if code < 0:
            raise ValueError(f"the label {label!r} has not been seen; those seen: {self.classes}")
        machines = self._machines
        signs = {1: (0.0,), 2: (-1.0, 1.0)}.get(len(self._labels))
        machine = machines[code] if signs is None else signs[code] * machines[0]
        known = self._labels.labels[code]
        return replace(self._explained(x, scores[known], machine), label=known)
