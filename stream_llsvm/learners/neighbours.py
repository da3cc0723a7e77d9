"""The memory as a classifier of its own: nearest neighbours in a metric learned online."""

from __future__ import annotations

from collections.abc import Sequence

from stream_llsvm.learners.base import LocalClassifier
from stream_llsvm.members.base import Member
from stream_llsvm.members.neighbours.member import Remembered
from stream_llsvm.options import choice, whole

_FLOATS = 2**26  # enough for a window of 64 records with a million features


class MemoryClassifier(LocalClassifier):
    """Remembered records vote, by their distance in a metric that is learned as they come.

    The 20 nearest vote. Three counts of their votes stand side by side, and the mixer finds out
    which to believe: one asks the closest, one the closest of the latest, and one all of them by
    1 / distance. The metric says how much each feature counts
    (`feature_relevance`); each record moves it one step down the log loss of a soft vote of the 20
    nearest (LAS's MEGM, for a diagonal metric).

    Parameters
    ----------
    window
        How many records are remembered; the oldest make room. Fewer where window times features
        would exceed 67,108,864, so the usual 2,000 up to 33,554 features, and none where fewer
        than 64 would fit. Of records whose five nearest all have their label, one in eight is kept.
    metric
        "learned", or None for plain distances between scaled features.
    standardize
        Whether features are brought to mean 0 and variance 1, learned on the fly.
    max_mb
        How much memory the model may grow to take as features and classes appear.
    seed
        For the random order of `warm_start`.

    References
    ----------
    [^1]: Zaidi, Squire. Local Adaptive SVM for Object Recognition. DICTA 2010.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> from stream_llsvm import MemoryClassifier
    >>> model = MemoryClassifier()
    >>> evaluate.progressive_val_score(datasets.Bananas(), model, metrics.Accuracy())
    Accuracy: 8...%

    """

    def __init__(
        self,
        window: int = 2_000,
        metric: str | None = "learned",
        standardize: bool = True,
        max_mb: int = 1_024,
        seed: int = 0,
    ) -> None:
        self.window = whole("window", window, 1, 10**6)
        self.metric = metric if metric is None else choice("metric", metric, ("learned",))
        super().__init__(standardize, max_mb, seed)

    def _members(self) -> Sequence[Member]:
        learns = self.metric is not None
        return (Remembered(window=self.window, learns_metric=learns, floats=_FLOATS),)
