"""Contexts as a classifier of its own: names, codes and texts."""

from __future__ import annotations

from collections.abc import Sequence

from stream_llsvm.learners.base import LocalClassifier
from stream_llsvm.members.base import Member
from stream_llsvm.members.contexts.member import Contexts
from stream_llsvm.options import whole


class ContextsClassifier(LocalClassifier):
    """What fields say together: how often each class came with it, and how much that counts.

    A context is what one to five fields say together ("country=DE", "country=DE and device=web"),
    or a word of a text. Each keeps how often each class came in it, forgetting over 200 of its own
    records. What that says beyond what is usual anyway is its vote, and each set of fields has one
    weight, learned by logistic steps. Numbers take part by the eighth of their scale in which they
    lie, and whole numbers that come again as what they are: so codes are names.

    Up to 128 fields contexts are made of several (all sets of up to five fields while there are at
    most 128 sets, beyond a fixed lot of them); with more fields each stands alone.

    Parameters
    ----------
    n_cells
        How many contexts are remembered at most; a power of two, else the next lower one. What is
        rarely asked for makes room. With many classes fewer, so that cells times classes stay below
        2,097,152.
    standardize
        Whether numbers are brought to mean 0 and variance 1, learned on the fly.
    max_mb
        How much memory the model may grow to take as features and classes appear.
    seed
        For the random order of `warm_start`.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> from stream_llsvm import ContextsClassifier
    >>> model = ContextsClassifier()
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 9...%

    """

    def __init__(
        self,
        n_cells: int = 2**18,
        standardize: bool = True,
        max_mb: int = 1_024,
        seed: int = 0,
    ) -> None:
        self.n_cells = whole("n_cells", n_cells, 2**10, 2**20)
        super().__init__(standardize, max_mb, seed)

    def _members(self) -> Sequence[Member]:
        return (Contexts(n_cells=self.n_cells, eager=True),)
