"""L3-SVM: clusters that share landmarks and a bias."""

from __future__ import annotations

from collections.abc import Sequence

from stream_llsvm.learners.margins import MarginClassifier
from stream_llsvm.members.base import Member
from stream_llsvm.members.family.landmarks.member import Landmarks
from stream_llsvm.members.family.landmarks.projection import LINEAR, PRINCIPAL, RANDOM, RBF
from stream_llsvm.options import choice, number, whole

PROJECTIONS = {"linear": LINEAR, "rbf": RBF}
LANDMARKS = {"auto": -1, "random": RANDOM, "pca": PRINCIPAL}


class L3SVMClassifier(MarginClassifier):
    """Landmarks-based linear local SVM: a machine per cluster over similarities to landmarks (L3).

    A record is projected on landmarks that all clusters share, mu_L(x), and answered by the
    weights of its own cluster and a bias that all clusters share (L3 section 2.1):

        f(x, k) = theta_k . mu_L(x) + b

    Clusters are found by online k-means, landmarks as ``landmarks`` says. Both begin anew at the
    20th record, when the scales of the features are known roughly. Two step sizes stand side by
    side, each with its raw and its averaged weights, and the mixer finds out which to believe.

    Parameters
    ----------
    n_clusters
        How many clusters there may be. They are born from the first records.
    n_landmarks
        How many landmarks. "auto" is as many as there are features and at most 100, as the paper
        advises (section 4.2); with the RBF always 100. A linear projection never takes more than
        there are features.
    projection
        "linear": mu(x, l) = x . l, with l brought to length 1. "rbf": exp(-d^2 / (sigma s)), with d
        the distance and s the squared distance that is usual between records and landmarks.
    landmarks
        "random": a fair sample of all records so far (a reservoir). "pca": their principal
        components, learned online, for a linear projection only; where there are as many landmarks
        as features these are the axes, since any orthonormal basis then gives the same machines.
        "auto": "pca" for a linear projection, "random" for the RBF. Random landmarks are the
        paper's own choice; their similarities resemble each other, so that single steps learn
        less from them (80 instead of 88 % on the image segments).
    sigma
        The RBF's width; has no meaning for a linear projection.
    loss
        "logistic", "hinge" or "huberized_hinge": squared up to a violation of one, then linear.
    multiclass
        With more than two classes: "crammer_singer", all classes in one loss (for "logistic" that
        is the softmax's), or "ovr", one class against the rest, as the paper has it.
    standardize
        Whether features are brought to mean 0 and variance 1, learned on the fly.
    max_mb
        How much memory the model may grow to take as features and classes appear.
    seed
        For the reservoir, and for the random order of `warm_start`.
    l2
        The penalty on the weights, 1 / c in the paper. A cluster's weights shrink with each
        of its own records, so that one that answers a third of them is penalised by a third.

    References
    ----------
    [^1]: Zantedeschi, Emonet, Sebban. L3-SVMs: Landmarks-based Linear Local Support Vector
        Machines. 2017.
    [^2]: Weng, Zhang, Hwang. Candid Covariance-free Incremental Principal Component Analysis.
        PAMI 2003.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> from stream_llsvm import L3SVMClassifier
    >>> model = L3SVMClassifier()
    >>> evaluate.progressive_val_score(datasets.Bananas(), model, metrics.Accuracy())
    Accuracy: 8...%

    """

    def __init__(
        self,
        n_clusters: int = 30,
        n_landmarks: int | str = "auto",
        projection: str = "linear",
        landmarks: str = "auto",
        sigma: float = 1.0,
        loss: str = "logistic",
        multiclass: str = "crammer_singer",
        standardize: bool = True,
        max_mb: int = 1_024,
        seed: int = 0,
        l2: float = 0.0,
    ) -> None:
        self.n_clusters = whole("n_clusters", n_clusters, 1, 100_000)
        self.n_landmarks: int | str = n_landmarks
        if n_landmarks != "auto":
            self.n_landmarks = whole('n_landmarks (if it is not "auto")', n_landmarks, 1, 10_000)
        self.projection = choice("projection", projection, PROJECTIONS)
        self.landmarks = choice("landmarks", landmarks, LANDMARKS)
        if self.landmarks == "pca" and self.projection == "rbf":
            raise ValueError(
                'landmarks="pca" are directions, which projection="linear" can use and "rbf" not'
            )
        self.sigma = number("sigma", sigma, 1e-3, 1e3)
        self.l2 = number("l2", l2, 0.0, 1.0)
        super().__init__(loss, multiclass, standardize, max_mb, seed)

    def _members(self) -> Sequence[Member]:
        way = LANDMARKS[self.landmarks]
        if self.landmarks == "auto":
            way = RANDOM if self.projection == "rbf" else PRINCIPAL
        return (
            Landmarks(
                n_clusters=self.n_clusters,
                n_landmarks=0 if isinstance(self.n_landmarks, str) else self.n_landmarks,
                projection=PROJECTIONS[self.projection],
                choice=way,
                bell=self.sigma,
                l2=self.l2,
                **self._margins,
                averaged=True,
                seed=self.seed,
            ),
        )
