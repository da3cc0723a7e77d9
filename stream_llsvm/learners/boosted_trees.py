"""Boosted trees as a classifier of their own."""

from __future__ import annotations

from collections.abc import Sequence

from stream_llsvm.learners.base import LocalClassifier
from stream_llsvm.members.base import Member
from stream_llsvm.members.trees.member import Trees
from stream_llsvm.options import whole


class BoostedTreesClassifier(LocalClassifier):
    """Small trees that grow with the stream, each taught what those before it leave.

    A leaf adds to the score what its records have taught it, by a logistic step each. It counts
    how its errors hang on where up to 16 of the features lie, in 32 bins; where a cut explains
    more of them than chance would, it becomes two. Every 256 records the least useful tree of those
    older than 2,000 begins anew, so that they follow the stream. What answers is a mixture of the
    leaves' last values and of their averages.

    Thresholds are its home ground: rules, codes that are ordered, and concepts that change at once.

    Parameters
    ----------
    n_trees
        How many trees there are.
    n_leaves
        How many leaves a tree has at most.
    standardize
        Whether features are brought to mean 0 and variance 1, learned on the fly. If not, they
        should lie between -2.5 and 2.5, where cuts are looked for.
    max_mb
        How much memory the model may grow to take as features and classes appear.
    seed
        For the features that a leaf asks about where there are more than 16, and for the random
        order of `warm_start`.

    References
    ----------
    [^1]: Friedman. Greedy Function Approximation: A Gradient Boosting Machine. Annals of
        Statistics 2001.
    [^2]: Gunasekara, Pfahringer, Gomes, Bifet. Gradient Boosted Trees on Data Streams. Machine
        Learning 2024.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> from stream_llsvm import BoostedTreesClassifier
    >>> model = BoostedTreesClassifier()
    >>> evaluate.progressive_val_score(datasets.Bananas(), model, metrics.Accuracy())
    Accuracy: 8...%

    """

    def __init__(
        self,
        n_trees: int = 20,
        n_leaves: int = 64,
        standardize: bool = True,
        max_mb: int = 1_024,
        seed: int = 0,
    ) -> None:
        self.n_trees = whole("n_trees", n_trees, 1, 10_000)
        self.n_leaves = whole("n_leaves", n_leaves, 2, 1_024)
        super().__init__(standardize, max_mb, seed)

    def _members(self) -> Sequence[Member]:
        return (Trees(n_trees=self.n_trees, n_leaves=self.n_leaves, seed=self.seed),)
