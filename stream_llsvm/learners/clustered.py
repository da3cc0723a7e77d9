"""CSVM: clustered support vector machines."""

from __future__ import annotations

from stream_llsvm.learners.anchored import AnchorClassifier
from stream_llsvm.options import number, whole


class CSVMClassifier(AnchorClassifier):
    """One linear SVM per cluster, pulled towards a global one (CSVM).

    A record is answered by the machine of its cluster alone, W_k . x + b_k with
    W_k = W + V_k: the global part W answers every record and is learned from all of them, the
    cluster's own part V_k from its records only. The clusters are found by online k-means. Compared
    in L3 and SAPL; it is an LL-SVM with one neighbour and a large common machine.

    Parameters
    ----------
    n_clusters
        How many clusters there may be. They are born from the first records.
    global_share
        How strongly the clusters' machines are pulled towards the global one: the square root of
        CSVM's lambda turned upside down. 0 for clusters that know nothing of each other.
    step_size
        "auto": several step sizes side by side, each with its raw and its averaged weights, and
        the mixer finds out which to believe. A number: that one step.
    l2
        The penalty on the weights: lambda in LL(9).
    standardize
        Whether features are brought to mean 0 and variance 1, learned on the fly.
    loss
        "logistic", "hinge" or "huberized_hinge": squared up to a violation of one, then linear.
    multiclass
        With more than two classes: "crammer_singer", all classes in one loss, or "ovr".
    max_mb
        How much memory the model may grow to take as features and classes appear.
    seed
        For the random order of `warm_start`. Learning from a stream uses no random numbers.

    References
    ----------
    [^1]: Gu, Han. Clustered Support Vector Machines. AISTATS 2013.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> from stream_llsvm import CSVMClassifier
    >>> model = CSVMClassifier()
    >>> evaluate.progressive_val_score(datasets.Bananas(), model, metrics.Accuracy())
    Accuracy: 8...%

    """

    def __init__(
        self,
        n_clusters: int = 30,
        global_share: float = 1.0,
        step_size: float | str = "auto",
        l2: float = 0.0,
        standardize: bool = True,
        loss: str = "logistic",
        multiclass: str = "crammer_singer",
        max_mb: int = 1_024,
        seed: int = 0,
    ) -> None:
        if step_size == "paper":
            raise ValueError(f'step_size must be "auto" or a number: got {step_size!r}')
        super().__init__(
            n_anchors=whole("n_clusters", n_clusters, 1, 100_000),
            n_neighbors=1,
            step_size=step_size,
            l2=l2,
            standardize=standardize,
            loss=loss,
            multiclass=multiclass,
            max_mb=max_mb,
            seed=seed,
        )
        self.n_clusters = self.n_anchors
        self.global_share = number("global_share", global_share, 0.0, 1e3)

    @property
    def _supervised_anchors(self) -> bool:
        return False

    @property
    def _common_share(self) -> float:
        return self.global_share
