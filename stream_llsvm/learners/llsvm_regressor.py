"""LL-SVM for numbers: locally linear support vector regression."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.kernels.losses import HINGE, LOSSES_OF_NUMBERS, OVR
from stream_llsvm.learners.anchored import COMMON_SHARE
from stream_llsvm.learners.number_reasons import explain_number
from stream_llsvm.learners.numbers import NumberLearner
from stream_llsvm.members.anchors.codes import INVERSE_DISTANCE, SOFTMAX
from stream_llsvm.members.anchors.member import Anchors
from stream_llsvm.members.anchors.state import LADDER
from stream_llsvm.members.base import Member
from stream_llsvm.members.regression.kernel import run_numbers
from stream_llsvm.members.regression.member import Numbers
from stream_llsvm.model.explain import Explanation
from stream_llsvm.model.file import ModelFileError, write
from stream_llsvm.model.growth import GrowingModel
from stream_llsvm.model.notices import announce
from stream_llsvm.options import choice, number, whole
from stream_llsvm.records.features import Row

CODINGS = {"softmax": SOFTMAX, "inverse_distance": INVERSE_DISTANCE}
#: Step sizes side by side, relative to the mean square of the coded record.
STEPS = (0.4, 1.6)
#: A number is one score, as two classes share one.
_ONE_SCORE = (False, True)


class LLSVMRegressor(GrowingModel, NumberLearner):
    """Locally linear support vector regression over anchors found on the fly.

    A record is answered by a smooth blend of the linear machines of its nearest anchors, LL(8), as
    in `LLSVMClassifier`; learning it is one gradient step of a regression's loss on those
    machines. Several step sizes stand side by side, each with its raw and its averaged weights;
    those that have been nearest of late count most.

    Parameters
    ----------
    n_anchors
        How many anchors there may be. They are born from the first records.
    n_neighbors
        How many of the nearest anchors answer a record.
    coding
        How the nearest share the answer: "softmax" or "inverse_distance".
    step_size
        "auto": several side by side. A number: that one, relative to the mean square of the coded
        record.
    l2
        The penalty on the weights: lambda in LL(9).
    loss
        "huber", "epsilon_insensitive", "squared_epsilon_insensitive" or "squared".
    epsilon
        Where "huber" turns linear, and what the insensitive losses forgive; in standard deviations
        of the target if ``standardize``. "auto" is 1 for "huber" and 0.1 for the others.
    standardize
        Whether features and the target are brought to mean 0 and variance 1, learned on the fly.
        An answer is then at most eight standard deviations from the target's mean, and a target
        further away counts as that far.
    max_mb
        How much memory the model may grow to take as features appear.

    References
    ----------
    [^1]: Ladicky, Torr. Locally Linear Support Vector Machines. ICML 2011.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> from stream_llsvm import LLSVMRegressor
    >>> model = LLSVMRegressor()
    >>> evaluate.progressive_val_score(datasets.TrumpApproval(), model, metrics.MAE())
    MAE: 0...

    """

    def __init__(
        self,
        n_anchors: int = 100,
        n_neighbors: int = 8,
        coding: str = "softmax",
        step_size: float | str = "auto",
        l2: float = 0.0,
        loss: str = "huber",
        epsilon: float | str = "auto",
        standardize: bool = True,
        max_mb: int = 1_024,
    ) -> None:
        self.n_anchors = whole("n_anchors", n_anchors, 1, 100_000)
        self.n_neighbors = whole("n_neighbors", n_neighbors, 1, 1_000)
        self.coding = choice("coding", coding, CODINGS)
        self.step_size: float | str = step_size
        if step_size != "auto":
            self.step_size = number('step_size (if it is not "auto")', step_size, 1e-6, 1e3)
        self.l2 = number("l2", l2, 0.0, 1.0)
        self.loss = choice("loss", loss, LOSSES_OF_NUMBERS)
        self.epsilon: float | str = epsilon
        if epsilon != "auto":
            self.epsilon = number('epsilon (if it is not "auto")', epsilon, 0.0, 1e12)
        super().__init__(standardize, max_mb)

    def _members(self) -> Sequence[Member]:
        auto = isinstance(self.step_size, str)
        epsilon = self.epsilon
        if isinstance(epsilon, str):
            epsilon = 1.0 if self.loss == "huber" else 0.1
        return (
            Anchors(
                n_anchors=self.n_anchors,
                n_neighbors=min(self.n_neighbors, self.n_anchors),
                coding=CODINGS[self.coding],
                loss=HINGE,  # of classes: of no use here
                multiclass=OVR,
                schedule=LADDER,
                steps=STEPS if isinstance(self.step_size, str) else (self.step_size,),
                averaged=auto,
                supervised=False,
                flat=False,
                common_share=COMMON_SHARE,
                l2=self.l2,
                t0=1,
                skip=1,
            ),
            Numbers(loss=LOSSES_OF_NUMBERS[self.loss], epsilon=epsilon),
        )

    @property
    def classes(self) -> tuple[Any, ...]:
        """A regressor has none."""
        raise AttributeError("a regressor has no classes")

    @property
    def _has_begun(self) -> bool:
        return self._state is not None

    def _know(self, names: Iterable[Hashable]) -> None:
        if self._state is None:
            announce(run_numbers)
        self._make_room(names, _ONE_SCORE)

    def _call(
        self,
        row: Row,
        targets: NDArray[np.float64],
        importance: NDArray[np.float64],
        out: NDArray[np.float64],
    ) -> None:
        memory = self._state
        assert memory is not None
        run_numbers(
            memory.state,
            memory.scratch,
            memory.plan,
            row.values.reshape(-1),
            row.columns,
            row.starts,
            targets,
            importance,
            out,
        )

    def _score_one(self, x: Mapping[Any, Any]) -> NDArray[np.float64] | None:
        row = self._features.encode(x)
        if self._state is None:
            return None
        if self._features.ignored or not x:
            self._warn_of_unknown(x)
        out = np.zeros((1, 1))
        self._call(row, np.full(1, np.nan), np.ones(1), out)
        scores: NDArray[np.float64] = out[0]
        return scores

    def _learn_row(self, row: Row, target: float, weight: float) -> None:
        self._call(row, np.array([target]), np.array([weight]), np.zeros((1, 1)))

    def explain_one(self, x: Mapping[Any, Any]) -> Explanation:
        """Take the number told for a record apart into what each feature adds.

        A contribution is what the number loses when the feature is set to its mean; contributions
        and bias sum up to it, in the target's units.

        Parameters
        ----------
        x
            The record.

        """
        told = self._score_one(x)
        if told is None or self._state is None:
            raise ValueError("nothing has been learned yet, so there is nothing to explain")
        row = self._features.encode(x)

        def tell(rows: Row) -> NDArray[np.float64]:
            n = len(rows.values) if rows.starts.size == 0 else len(rows.starts) - 1
            out = np.zeros((n, 1))
            self._call(rows, np.full(n, np.nan), np.ones(n), out)
            return out[:, 0]

        return explain_number(self._state, self._features.names, row, float(told[0]), tell)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to one file, whole or not at all; `load_model` reads it.

        Parameters
        ----------
        path
            Where to. An existing file is replaced.

        """
        write(path, self._payload())

    def _payload(self) -> dict[str, object]:
        memory = self._state
        return {
            "class": type(self).__name__,
            "params": self._get_params(),
            "features": self._features.names,
            "labels": self._labels.labels,
            "width": 0 if memory is None else memory.width,
            "state": None if memory is None else memory.state.view(np.uint8),
        }

    def _restore(self, payload: Mapping[str, Any]) -> None:
        if payload["labels"] not in ((), _ONE_SCORE):
            raise ModelFileError("the model file has labels, which a regressor does not")
        super()._restore(payload)
