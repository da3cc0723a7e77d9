"""LLC-SAPL: locally linear classifiers with supervised anchor point learning."""

from __future__ import annotations

from collections.abc import Sequence

from stream_llsvm.learners.anchored import AnchorClassifier
from stream_llsvm.members.base import Member
from stream_llsvm.members.words.member import Words

#: Rows for words of texts: as a whole model it is small.
_CELLS = 2**14


class SAPLClassifier(AnchorClassifier):
    """Locally linear SVM whose anchors move to where they help most (LLC-SAPL).

    A record is answered by a smooth blend of the linear machines of its nearest anchors, SAPL(11).
    Learning it is one gradient step on those machines, SAPL(17), SAPL(18), and on where their
    anchors are, SAPL(16), shared by all classes, SAPL(21): all three descend one objective,
    SAPL(12). Every record costs the same, for ever.

    Where records name few of many features, as texts do, a member `words` works beside the anchors,
    unless there is a ``feature_map`` or a step size of the user's own. docs/committee.md has it.
    {parameters}

    References
    ----------
    [^1]: Mao, Fu, Wu, Zhu, Zhang. Optimizing Locally Linear Classifiers with Supervised Anchor
        Point Learning. IJCAI 2015.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> from stream_llsvm import SAPLClassifier
    >>> model = SAPLClassifier()
    >>> evaluate.progressive_val_score(datasets.Bananas(), model, metrics.Accuracy())
    Accuracy: 89...%

    """

    def _members(self) -> Sequence[Member]:
        anchors = super()._members()
        return (
            (*anchors, Words(n_cells=_CELLS))
            if self.step_size == "auto" and not self.feature_map
            else anchors
        )
