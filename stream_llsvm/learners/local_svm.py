"""Local SVM and Local Adaptive SVM: a small SVM solved among the neighbours of each query."""

from __future__ import annotations

from collections.abc import Sequence

from stream_llsvm.learners.base import LocalClassifier
from stream_llsvm.members.base import Member
from stream_llsvm.members.family.local_svm.member import LocalMachines
from stream_llsvm.members.family.local_svm.smo import LINEAR, RBF
from stream_llsvm.members.family.local_svm.window import DIAGONAL, FULL, PLAIN, RESERVOIR, SLIDING
from stream_llsvm.options import choice, number, whole

METRICS = {"diagonal": DIAGONAL, "megm": FULL}
LOCAL_KERNELS = {"rbf": RBF, "linear": LINEAR}
REPLACE = {"oldest": SLIDING, "random": RESERVOIR}
_FLOATS = 2**26


class LocalSVMClassifier(LocalClassifier):
    """A small SVM, solved for each query among the nearest of the records remembered.

    The K = k log2(N) nearest of the N records in the window are asked. Where all have one label,
    that is the answer. Otherwise a support vector machine is solved to the end for those K, one for
    each class against the rest, and its values are the scores (Local SVM, LAS section III). With
    ``metric="megm"`` all this happens in a space that a linear map makes, and the map is learned
    as the records come, by the gradient of the soft vote's squared error (Local Adaptive SVM, LAS
    Algorithm 1). With ``metric=None`` it is SVM-KNN with plain distances.

    What a query costs has a bound: the search grows with the window, the SVM with K squared. A
    machine is kept as long as its neighbourhood stands, so that learning a record that was just
    predicted solves nothing again.

    Parameters
    ----------
    window
        How many records are remembered. Fewer where the window would take more than 256 MB.
    k
        Neighbours for each doubling of the window: K = k log2(N), rounded up.
    metric
        "megm", a full linear map; "diagonal", a weight per feature, as in `MemoryClassifier`; or
        None for plain distances between scaled features. Above 128 features "megm" is diagonal.
    kernel
        "rbf", exp(-d^2 / (2 sigma^2)) with d the distance, LAS(1); or "linear", x . x' / sigma^2,
        for which `explain_one` is exact by features.
    C
        What it costs a machine to have a neighbour on the wrong side, times the record's weight.
    sigma
        The kernel's width. "local" is the root of the mean squared distance between the
        neighbours, so that it fits wherever the query is (LAS section I).
    replace
        Which record makes room for a new one: the "oldest", or a "random" one so that the window
        is a fair sample of all records so far (a reservoir), for streams that do not change.
    standardize
        Whether features are brought to mean 0 and variance 1, learned on the fly.
    max_mb
        How much memory the model may grow to take as features and classes appear.
    seed
        For the reservoir, and for the random order of `warm_start`.

    References
    ----------
    [^1]: Zaidi, Squire. Local Adaptive SVM for Object Recognition. DICTA 2010.
    [^2]: Zhang, Berg, Maire, Malik. SVM-KNN: Discriminative Nearest Neighbor Classification for
        Visual Category Recognition. CVPR 2006.
    [^3]: Zaidi, Squire, Suter. A Gradient-Based Metric Learning Algorithm for k-NN Classifiers.
        AI 2010.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> from stream_llsvm import LocalSVMClassifier
    >>> model = LocalSVMClassifier()
    >>> evaluate.progressive_val_score(datasets.Bananas(), model, metrics.Accuracy())
    Accuracy: 8...%

    The support vectors near a record are the reason for its label:

    >>> x, y = next(iter(datasets.Bananas()))
    >>> [voter.label for voter in model.explain_one(x).voters[:3]]
    [...]

    """

    def __init__(
        self,
        window: int = 2_000,
        k: float = 3.0,
        metric: str | None = "megm",
        kernel: str = "rbf",
        C: float = 10.0,
        sigma: float | str = "local",
        replace: str = "oldest",
        standardize: bool = True,
        max_mb: int = 1_024,
        seed: int = 0,
    ) -> None:
        self.window = whole("window", window, 1, 10**6)
        self.k = number("k", k, 0.1, 32.0)
        self.metric = metric if metric is None else choice("metric", metric, METRICS)
        self.kernel = choice("kernel", kernel, LOCAL_KERNELS)
        self.C = number("C", C, 1e-6, 1e6)
        self.sigma: float | str = sigma
        if sigma != "local":
            self.sigma = number('sigma (if it is not "local")', sigma, 1e-3, 1e3)
        self.replace = choice("replace", replace, REPLACE)
        super().__init__(standardize, max_mb, seed)

    def _members(self) -> Sequence[Member]:
        return (
            LocalMachines(
                window=self.window,
                k=self.k,
                metric=PLAIN if self.metric is None else METRICS[self.metric],
                kernel_kind=LOCAL_KERNELS[self.kernel],
                penalty=self.C,
                sigma=0.0 if isinstance(self.sigma, str) else self.sigma,
                way=REPLACE[self.replace],
                seed=self.seed,
                floats=_FLOATS,
            ),
        )
