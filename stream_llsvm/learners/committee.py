"""The committee: several members, each a machine over its own local code, and one mixer."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from stream_llsvm.kernels.coding import SOFTMAX
from stream_llsvm.kernels.losses import CRAMMER_SINGER, HINGE, LOGISTIC, OVR
from stream_llsvm.kernels.members.anchor_state import LADDER
from stream_llsvm.learners.base import LocalClassifier
from stream_llsvm.learners.options import whole
from stream_llsvm.members.additive import Additive
from stream_llsvm.members.anchors import Anchors
from stream_llsvm.members.budget import Budgeted
from stream_llsvm.members.ferns import Ferns
from stream_llsvm.members.landmarks import Landmarks
from stream_llsvm.members.local import LocalMachines
from stream_llsvm.members.member import Member
from stream_llsvm.members.memory import Remembered
from stream_llsvm.members.prior import Prior
from stream_llsvm.members.waves import Waves

#: Each member's relative step sizes. Beside the others one or two are as good as six, on the mean
#: of the streams, and cost a fraction.
LINEAR_STEPS = (0.5, 5.0)
ANCHOR_STEPS = (3.0,)
ADDITIVE_STEPS = (3.0,)
FERN_STEPS = (5.0,)
LANDMARK_STEPS = (10.0,)
NEIGHBORS = 8
#: The anchors' supervised step in a warm start, shorter than alone: letter is 0.3 points better.
REHEARSED_STEP = 0.1
#: Multiply-adds that a record may cost.
BUDGET = 1_400_000
MEMBERS = (
    "anchors:1",
    "anchors:30",
    "anchors:300",
    "additive",
    "memory",
    "prior",
    "waves",
    "ferns",
)


def anchors(size: int, seed: int) -> Member:
    """Make an anchors member."""
    return Anchors(
        n_anchors=size,
        n_neighbors=min(NEIGHBORS, size),
        coding=SOFTMAX,
        loss=LOGISTIC,
        multiclass=CRAMMER_SINGER,
        schedule=LADDER,
        steps=LINEAR_STEPS if size == 1 else ANCHOR_STEPS,
        averaged=True,
        supervised=size > 1,
        flat=False,
        common_share=0.0,
        l2=0.0,
        t0=1_000,
        skip=100,
        rehearsed_step=REHEARSED_STEP,
    )


def additive(size: int, seed: int) -> Member:
    """Make an additive member."""
    return Additive(
        n_knots=size, loss=LOGISTIC, multiclass=CRAMMER_SINGER, averaged=True, steps=ADDITIVE_STEPS
    )


def memory(size: int, seed: int) -> Member:
    """Make a memory member."""
    return Remembered(window=size)


def ferns(size: int, seed: int) -> Member:
    """Make a ferns member."""
    return Ferns(
        n_ferns=size,
        loss=LOGISTIC,
        multiclass=CRAMMER_SINGER,
        averaged=True,
        seed=seed,
        steps=FERN_STEPS,
    )


def local(size: int, seed: int) -> Member:
    """Make a local member: small SVMs among the nearest of that many records."""
    return LocalMachines(window=size, seed=seed)


def landmarks(size: int, seed: int) -> Member:
    """Make a landmarks member: so many clusters."""
    return Landmarks(
        n_clusters=size,
        loss=LOGISTIC,
        multiclass=CRAMMER_SINGER,
        averaged=True,
        steps=LANDMARK_STEPS,
        seed=seed,
    )


def prior(size: int, seed: int) -> Member:
    """Make a prior member: how often each class came among the last so many."""
    return Prior(reach=size)


def waves(size: int, seed: int) -> Member:
    """Make a waves member: least squares over so many random Fourier features."""
    return Waves(n_waves=size, seed=seed)


def pegasos(size: int, seed: int) -> Member:
    """Make a kernelised Pegasos with at most that many support vectors."""
    return Budgeted(most=size, loss=HINGE, multiclass=OVR)


#: Of each kind: how to make one, the size if none is given, and the range of sizes.
KINDS: dict[str, tuple[Callable[[int, int], Member], int, int, int]] = {
    "anchors": (anchors, 100, 1, 100_000),
    "additive": (additive, 33, 2, 1_025),
    "memory": (memory, 2_000, 1, 1_000_000),
    "ferns": (ferns, 100, 1, 10_000),
    "local": (local, 2_000, 1, 1_000_000),
    "landmarks": (landmarks, 30, 1, 100_000),
    "pegasos": (pegasos, 200, 1, 100_000),
    "prior": (prior, 32, 1, 1_000_000),
    "waves": (waves, 128, 2, 1_024),
}


class CommitteeClassifier(LocalClassifier):
    """Several members side by side, and a mixer that learns online how much to believe each.

    By default a linear machine, two sets of anchors, a curve per feature, a memory of records, how
    often each class has come of late, least squares over random waves, and random ferns. Each takes
    one step per record on its own error; the mixer takes one logistic step on the weights of their
    scores, and its output is the probability. `mixture` reports how each member is doing,
    `explain_one` what each adds. docs/committee.md has the equations.

    Parameters
    ----------
    members
        What it is made of: "anchors", "additive", "memory", "ferns", "prior", "waves", "local",
        "landmarks" or "pegasos", each with its size if that is to be another than usual (100
        anchors, 33 knots, 2,000 records, 100 ferns, 32 labels, 128 waves, 2,000 records, 30
        clusters, 200 support vectors), as in
        "anchors:30". "anchors:1" is a linear machine, "local" a `LocalSVMClassifier`'s small SVMs,
        which cost more than all others together, "landmarks" an `L3SVMClassifier`, "pegasos" a
        `BudgetedPegasosClassifier`.
    budget
        Multiply-adds that a record may cost. Where all members together cost more, those that the
        mixer can do without sleep, and are woken now and then; members that are all needed stay
        awake. "auto" is 1,400,000, which all the usual members exceed from about 2,000 features on
        with two classes, from about 670 with ten.
    threads
        How many cores work on a batch of records, a member or more on each; the result is the same
        to the bit.
    standardize
        Whether features are brought to mean 0 and variance 1, learned on the fly.
    max_mb
        How much memory the model may grow to take as features and classes appear.
    seed
        For the ferns' questions, the waves, and for the random order of `warm_start`.

    References
    ----------
    [^1]: Ladicky, Torr. Locally Linear Support Vector Machines. ICML 2011.
    [^2]: Mao, Fu, Wu, Zhu, Zhang. Optimizing Locally Linear Classifiers with Supervised Anchor
        Point Learning. IJCAI 2015.
    [^3]: Zaidi, Squire. Local Adaptive SVM for Object Recognition. DICTA 2010.
    [^4]: Ozuysal, Calonder, Lepetit, Fua. Fast Keypoint Recognition Using Random Ferns. PAMI 2010.
    [^5]: Rahimi, Recht. Random Features for Large-Scale Kernel Machines. NIPS 2007.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> from stream_llsvm import CommitteeClassifier
    >>> model = CommitteeClassifier()
    >>> evaluate.progressive_val_score(datasets.Bananas(), model, metrics.Accuracy())
    Accuracy: 89...%

    """

    def __init__(
        self,
        members: tuple[str, ...] = MEMBERS,
        budget: int | str = "auto",
        threads: int = 1,
        standardize: bool = True,
        max_mb: int = 1_024,
        seed: int = 0,
    ) -> None:
        self.members = members
        self.budget: int | str = budget
        if budget != "auto":
            self.budget = whole('budget (if it is not "auto")', budget, 1, 10**12)
        self.threads = whole("threads", threads, 1, 1_024)
        super().__init__(standardize, max_mb, seed)
        self._members()

    @property
    def _budget(self) -> int:
        return BUDGET if isinstance(self.budget, str) else self.budget

    @property
    def _threads(self) -> int:
        return self.threads

    def _members(self) -> Sequence[Member]:
        if not isinstance(self.members, tuple | list) or len(self.members) == 0:
            raise ValueError(f"members must be a tuple of names; got {self.members!r}")
        made = [self._member(text) for text in self.members]
        # The ferns read the metric that the memory leaves for them in the same chunk of rows.
        return tuple(sorted(made, key=lambda member: isinstance(member, Ferns)))

    def _member(self, text: str) -> Member:
        name, _, size = text.partition(":") if isinstance(text, str) else ("", "", "")
        if name not in KINDS:
            listed = ", ".join(repr(kind) for kind in KINDS)
            raise ValueError(f"members are {listed}, with a size or without: got {text!r}")
        make, usual, low, high = KINDS[name]
        number = int(size) if size.isdecimal() else size or usual
        return make(whole(f"the size in {text!r}", number, low, high), self.seed)
