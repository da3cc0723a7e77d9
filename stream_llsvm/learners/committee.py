"""The committee: several members, each a machine over its own local code, and one mixer."""

from __future__ import annotations

from collections.abc import Sequence
from inspect import cleandoc

from stream_llsvm.kernels.plan import READS_METRIC
from stream_llsvm.learners.base import LocalClassifier
from stream_llsvm.members.base import Member
from stream_llsvm.members.registry import KINDS
from stream_llsvm.options import whole
from stream_llsvm.removed import removed

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
    "trees",
    "ferns",
    "contexts",
    "words",
)


class CommitteeClassifier(LocalClassifier):
    """Several members side by side, and a mixer that learns online how much to believe each.

    By default a linear machine, two sets of anchors, a curve per feature, a memory of records, how
    often each class has come of late, least squares over random waves, random ferns, small boosted
    trees, contexts, which work where there are names or codes, and words, which works where records
    name few of many features. Each takes one step per record on its own error; the mixer takes one
    logistic step on the weights of their scores, and its output is the probability. `mixture`
    reports how each member is doing, `explain_one` what each adds. docs/committee.md has the
    equations.

    Parameters
    ----------
    members
        What it is made of, each with its size if that is to be another than usual, as in
        "anchors:30":
        {kinds}.
        "anchors:1" is a linear machine, "local" a `LocalSVMClassifier`'s small SVMs, which cost
        more than all others together, "landmarks" an `L3SVMClassifier`, "pegasos" a
        `BudgetedPegasosClassifier`, "linear" a `PegasosClassifier`.
    budget
        Multiply-adds that a record may cost. Members that are not worth their price rest at any
        budget; where all together cost more than that, they rest sooner, and members that are all
        needed go on working. "auto" is 1,400,000, which all the usual members exceed from about
        2,000 features on with two classes, from about 670 with ten.
    threads
        How many cores work on a batch of records, a member or more on each; the result is the same
        to the bit.
    standardize
        Whether features are brought to mean 0 and variance 1, learned on the fly.
    max_mb
        How much memory the model may grow to take as features and classes appear.
    seed
        For the ferns' and the trees' questions, the waves, and for the random order of
        `warm_start`.

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

    def _rests_among_names(self, member: Member) -> bool:
        # They see the first names only, and words sees all: together they cost sms messages 0.2
        # points, and a drifting stream of 50,000 words 0.4.
        return member.capped

    def _members(self) -> Sequence[Member]:
        if not isinstance(self.members, tuple | list) or len(self.members) == 0:
            raise ValueError(f"members must be a tuple of names; got {self.members!r}")
        made = [self._member(text) for text in self.members]
        # Who reads the metric comes after who leaves it, in the same chunk of rows.
        # At the end come those that seldom speak, and who is trusted on top of the others.
        return tuple(
            sorted(
                made,
                key=lambda one: (one.comes_on_top, one.seldom_speaks, one.metric == READS_METRIC),
            )
        )

    def _member(self, text: str) -> Member:
        name, _, size = text.partition(":") if isinstance(text, str) else ("", "", "")
        if name not in KINDS:
            if (gone := removed(name)) is not None:
                raise ValueError(gone)
            listed = ", ".join(repr(kind) for kind in KINDS)
            raise ValueError(f"members are {listed}, with a size or without: got {text!r}")
        kind = KINDS[name]
        number = int(size) if size.isdecimal() else size or kind.size
        return kind.make(whole(f"the size in {text!r}", number, kind.least, kind.most), self.seed)


CommitteeClassifier.__doc__ = cleandoc(CommitteeClassifier.__doc__ or "").replace(
    "{kinds}",
    ",\n    ".join(f'"{kind.name}" ({kind.size:,} {kind.counts})' for kind in KINDS.values()),
)
