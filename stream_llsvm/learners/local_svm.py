"""Local SVM and Local Adaptive SVM: a small SVM solved among the neighbours of each query."""

from __future__ import annotations

from collections.abc import Sequence

from stream_llsvm.kernels.local.smo import LINEAR, RBF
from stream_llsvm.kernels.local.window import DIAGONAL, FULL, PLAIN, RESERVOIR, SLIDING
from stream_llsvm.learners.base import LocalClassifier
from stream_llsvm.learners.options import choice, number, whole
from stream_llsvm.members.local import LocalMachines
from stream_llsvm.members.member import Member

METRICS = {"diagonal": DIAGONAL, "megm": FULL}
LOCAL_KERNELS = {"rbf": RBF, "linear": LINEAR}
REPLACE = {"oldest": SLIDING, "random": RESERVOIR}
_FLOATS = 2**26


class LocalSVMClassifier(LocalClassifier):
    """TODO."""

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
