"""Random ferns as a classifier of its own."""

from __future__ import annotations

from collections.abc import Sequence

from stream_llsvm.learners.margins import MarginClassifier
from stream_llsvm.members.base import Member
from stream_llsvm.members.ferns.member import Ferns
from stream_llsvm.options import whole


class FernsClassifier(MarginClassifier):
    """Random partitions with a weight per cell; the least useful is drawn anew, for ever.

    A fern asks the same few questions of every record, is this feature above that threshold?, and
    the answers choose one of its cells. The weights of all ferns' cells are learned together, by
    one step per record, as those of a linear machine over a very sparse code. The ferns are drawn
    at the 50th record, each question as the best of ten by the labels of the records so far; from
    then on, every 64 records the least useful of those older than 1,000 records, or than half of a
    young stream, is drawn anew.
    Three step sizes stand side by side, each with its raw and its averaged weights, and the mixer
    finds out which to believe.

    Parameters
    ----------
    n_ferns
        How many ferns there are.
    depth
        How many questions each asks: it has 2 to the power of that many cells.
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
        For the ferns' questions, and for the random order of `warm_start`.

    References
    ----------
    [^1]: Ozuysal, Calonder, Lepetit, Fua. Fast Keypoint Recognition Using Random Ferns. PAMI 2010.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> from stream_llsvm import FernsClassifier
    >>> model = FernsClassifier()
    >>> evaluate.progressive_val_score(datasets.Bananas(), model, metrics.Accuracy())
    Accuracy: 8...%

    """

    def __init__(
        self,
        n_ferns: int = 60,
        depth: int = 8,
        loss: str = "logistic",
        multiclass: str = "crammer_singer",
        standardize: bool = True,
        max_mb: int = 1_024,
        seed: int = 0,
    ) -> None:
        self.n_ferns = whole("n_ferns", n_ferns, 1, 10_000)
        self.depth = whole("depth", depth, 1, 16)
        super().__init__(loss, multiclass, standardize, max_mb, seed)

    def _members(self) -> Sequence[Member]:
        return (
            Ferns(
                n_ferns=self.n_ferns,
                depth=self.depth,
                **self._margins,
                averaged=True,
                seed=self.seed,
            ),
        )
