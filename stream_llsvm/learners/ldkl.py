"""Local deep kernel learning as a classifier of its own."""

from __future__ import annotations

from collections.abc import Sequence

from stream_llsvm.learners.margins import MarginClassifier
from stream_llsvm.members.base import Member
from stream_llsvm.members.family.ldkl.member import Ldkl
from stream_llsvm.options import number, whole


class LDKLClassifier(MarginClassifier):
    """A tree whose gates are learned, and a linear machine at each of its nodes.

    Local deep kernel learning, which SAPL's paper compares itself with: a gate sends a record so
    far to the right, each node on its ways adds what its machine says, times a tanh of a direction
    of its own. Machines, directions and gates all take a step of gradient descent on each record.
    The paper hardens the gates in the end, a stream has none: here they stay soft. One tree serves
    all classes. Three step sizes stand side by side, each with raw and averaged machines, and the
    mixer finds out which to believe.

    Models of this kind are merged with ``since`` only: two trees have no mean, but those that
    parted from a known one have changes.

    Parameters
    ----------
    depth
        How many levels of gates the tree has: of three there are 7 gates and 15 machines.
    sharpness
        How steep a node's tanh is at first, sigma in the paper.
    loss
        "logistic", "hinge" or "huberized_hinge": squared up to a violation of one, then linear.
    multiclass
        With more than two classes: "crammer_singer", all classes in one loss (for "logistic" that
        is the softmax's), or "ovr", one class against the rest.
    standardize
        Whether features are brought to mean 0 and variance 1, learned on the fly.
    max_mb
        How much memory the model may grow to take as features and classes appear.
    seed
        For the tree's first gates and directions, and for the random order of `warm_start`.

    References
    ----------
    [^1]: Jose, Goyal, Aggrwal, Varma. Local Deep Kernel Learning for Efficient Non-linear SVM
        Prediction. ICML 2013.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> from stream_llsvm import LDKLClassifier
    >>> model = LDKLClassifier()
    >>> evaluate.progressive_val_score(datasets.Bananas(), model, metrics.Accuracy())
    Accuracy: 8...%

    """

    def __init__(
        self,
        depth: int = 3,
        sharpness: float = 1.0,
        loss: str = "logistic",
        multiclass: str = "crammer_singer",
        standardize: bool = True,
        max_mb: int = 1_024,
        seed: int = 0,
    ) -> None:
        self.depth = whole("depth", depth, 1, 10)
        self.sharpness = number("sharpness", sharpness, 1e-3, 1e3)
        super().__init__(loss, multiclass, standardize, max_mb, seed)

    def _members(self) -> Sequence[Member]:
        return (
            Ldkl(
                depth=self.depth,
                sharpness=self.sharpness,
                seed=self.seed,
                **self._margins,
                averaged=True,
            ),
        )
