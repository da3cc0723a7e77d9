"""LL-SVM for numbers: locally linear support vector regression."""

from __future__ import annotations

from collections.abc import Sequence

from stream_llsvm.kernels.losses import LOSSES_OF_NUMBERS, OVR
from stream_llsvm.kernels.run_numbers import FARTHEST
from stream_llsvm.kernels.scaling import RAW_CLIP
from stream_llsvm.learners.anchored import COMMON_SHARE
from stream_llsvm.learners.numbers import NumberLearner
from stream_llsvm.members.anchors.codes import INVERSE_DISTANCE, SOFTMAX
from stream_llsvm.members.anchors.state import LADDER
from stream_llsvm.members.base import Member
from stream_llsvm.members.regression.member import NumberAnchors, Numbers
from stream_llsvm.options import choice, number, whole

CODINGS = {"softmax": SOFTMAX, "inverse_distance": INVERSE_DISTANCE}
#: Step sizes side by side, relative to the mean square of the coded record.
STEPS = (0.4, 1.6)


class LLSVMRegressor(NumberLearner):
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
        further away counts as that far. Without, answers and targets end at a million.
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
            NumberAnchors(
                n_anchors=self.n_anchors,
                n_neighbors=min(self.n_neighbors, self.n_anchors),
                coding=CODINGS[self.coding],
                loss=LOSSES_OF_NUMBERS[self.loss],
                multiclass=OVR,  # of classes: of no use here
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
            Numbers(epsilon=epsilon, farthest=FARTHEST if self.standardize else int(RAW_CLIP)),
        )
