"""LL-SVM: locally linear support vector machines."""

from __future__ import annotations

from stream_llsvm.learners.anchored import AnchorClassifier
from stream_llsvm.members.anchors.state import PAPER_LLSVM


class LLSVMClassifier(AnchorClassifier):
    """Locally linear SVM over anchors found on the fly (LL-SVM).

    A record is answered by a smooth blend of the linear machines of its nearest anchors, LL(8).
    Learning it is one gradient step on those machines, LL(11), LL(12). The anchors are born from
    the first records and follow the stream by online k-means, whatever the labels are.
    {parameters}

    References
    ----------
    [^1]: Ladicky, Torr. Locally Linear Support Vector Machines. ICML 2011.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> from stream_llsvm import LLSVMClassifier
    >>> model = LLSVMClassifier()
    >>> evaluate.progressive_val_score(datasets.Bananas(), model, metrics.Accuracy())
    Accuracy: 8...%

    """

    _paper_schedule = PAPER_LLSVM

    @property
    def _supervised_anchors(self) -> bool:
        return False
