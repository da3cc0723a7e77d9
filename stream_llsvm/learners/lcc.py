"""LCC+SVM and LLC-SAPLlcc: a linear machine on the local codes alone."""

from __future__ import annotations

from stream_llsvm.learners.anchored import AnchorClassifier
from stream_llsvm.options import flag


class LCCClassifier(AnchorClassifier):
    """Linear SVM on local codes: each anchor has a bias and no weights, LL(15).

    The smallest and fastest of the family: a smooth, learned vote of the nearest anchors. With
    ``supervised=False`` it is LCC+SVM, with the supervised anchor step LLC-SAPLlcc.

    {parameters}
    supervised
        Whether the anchors take the supervised step, SAPL(16).

    References
    ----------
    [^1]: Yu, Zhang, Gong. Nonlinear Learning using Local Coordinate Coding. NIPS 2009.
    [^2]: Mao, Fu, Wu, Zhu, Zhang. Optimizing Locally Linear Classifiers with Supervised Anchor
        Point Learning. IJCAI 2015.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> from stream_llsvm import LCCClassifier
    >>> model = LCCClassifier()
    >>> evaluate.progressive_val_score(datasets.Bananas(), model, metrics.Accuracy())
    Accuracy: 8...%

    """

    _flat = True

    def __init__(
        self,
        n_anchors: int = 100,
        n_neighbors: int = 8,
        coding: str = "softmax",
        step_size: float | str = "auto",
        l2: float = 0.0,
        t0: int = 1_000,
        skip: int = 100,
        standardize: bool = True,
        loss: str = "logistic",
        multiclass: str = "crammer_singer",
        max_mb: int = 1_024,
        seed: int = 0,
        supervised: bool = True,
    ) -> None:
        self.supervised = flag("supervised", supervised)
        super().__init__(
            n_anchors=n_anchors,
            n_neighbors=n_neighbors,
            coding=coding,
            step_size=step_size,
            l2=l2,
            t0=t0,
            skip=skip,
            standardize=standardize,
            loss=loss,
            multiclass=multiclass,
            max_mb=max_mb,
            seed=seed,
        )

    @property
    def _supervised_anchors(self) -> bool:
        return self.supervised
