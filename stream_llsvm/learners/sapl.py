"""LLC-SAPL: locally linear classifiers with supervised anchor point learning."""

from __future__ import annotations

from stream_llsvm.learners.anchored import AnchorClassifier


class SAPLClassifier(AnchorClassifier):
    """Locally linear SVM whose anchors move to where they help most (LLC-SAPL).

    A record is answered by a smooth blend of the linear machines of its nearest anchors, SAPL(11).
    Learning it is one gradient step on those machines, SAPL(17), SAPL(18), and on where their
    anchors are, SAPL(16), shared by all classes, SAPL(21): all three descend one objective,
    SAPL(12). Every record costs the same, for ever.
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
