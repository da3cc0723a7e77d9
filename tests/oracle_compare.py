"""The kernels on their own, beside the oracle: build both, feed both, compare both."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.kernels import mixer as mixing
from stream_llsvm.kernels import scaling
from stream_llsvm.kernels.losses import CRAMMER_SINGER, HINGE, HUBERIZED_HINGE, LOGISTIC, OVR
from stream_llsvm.kernels.run import MIXED, SEEN, TAUGHT
from stream_llsvm.learners.anchored import COMMON_SHARE
from stream_llsvm.members.additive.member import Additive
from stream_llsvm.members.anchors import state as kernel
from stream_llsvm.members.anchors.codes import INVERSE_DISTANCE, RECONSTRUCTION, SOFTMAX
from stream_llsvm.members.anchors.member import LADDER, Anchors
from stream_llsvm.members.base import Member
from stream_llsvm.members.contexts.member import Contexts
from stream_llsvm.members.ferns.member import Ferns
from stream_llsvm.members.neighbours.member import Remembered
from stream_llsvm.members.prior.member import Prior
from stream_llsvm.members.trees.member import Trees
from stream_llsvm.members.waves.member import Waves
from stream_llsvm.members.words.member import Words
from stream_llsvm.model.state import ModelState
from tests.oracle import Oracle, Told
from tests.oracle_memory import MemoryOracle, Neighbours
from tests.oracle_parts import Array, Scale
from tests.oracle_state import close, compare, machines_of, positions_of, take

NOTHING = np.zeros(0, dtype=np.int64)
JOINT: dict[str, Any] = {"loss": LOGISTIC, "multiclass": CRAMMER_SINGER, "averaged": True}


def member(**options: Any) -> Anchors:
    """Make a member: the flagship's settings, small, except where told otherwise."""
    settings: dict[str, Any] = {
        "n_anchors": 10,
        "n_neighbors": 4,
        "coding": SOFTMAX,
        "loss": LOGISTIC,
        "multiclass": CRAMMER_SINGER,
        "schedule": kernel.LADDER,
        "steps": LADDER,
        "averaged": True,
        "supervised": True,
        "flat": False,
        "common_share": COMMON_SHARE,
        "l2": 0.0,
        "t0": 1_000,
        "skip": 100,
    }
    return Anchors(**(settings | options))


def paper(schedule: int, **options: Any) -> Anchors:
    """Make a member that learns as the papers' algorithms do."""
    settings: dict[str, Any] = {
        "schedule": schedule,
        "steps": (1.0,),
        "averaged": False,
        "supervised": schedule == kernel.PAPER_SAPL,
        "common_share": 0.0,
        "loss": HINGE,
        "multiclass": OVR,
        "l2": 1e-3,
        "t0": 100,
        "skip": 7,
    }
    return member(**(settings | options))


#: One of each kind, with every option somewhere.
MEMBERS: dict[str, Anchors] = {
    "sapl": member(),
    "llsvm": member(supervised=False),
    "inverse distance": member(coding=INVERSE_DISTANCE),
    "reconstruction": member(coding=RECONSTRUCTION, supervised=False),
    "clusters": member(n_neighbors=1, supervised=False, common_share=1.0),
    "hinge, one against the rest": member(loss=HINGE, multiclass=OVR),
    "Huberized hinge, joint": member(loss=HUBERIZED_HINGE),
    "one step": member(steps=(2.0,), averaged=False),
    "shrinking": member(l2=1e-2),
    "lcc": member(flat=True, common_share=0.0, supervised=False),
    "supervised lcc": member(flat=True, common_share=0.0),
    "one anchor": member(n_anchors=1, n_neighbors=1),
    "all neighbours": member(n_neighbors=10),
    "paper llsvm": paper(kernel.PAPER_LLSVM),
    "paper sapl": paper(kernel.PAPER_SAPL),
    "paper lcc": paper(kernel.PAPER_SAPL, flat=True),
}


def additive(**options: Any) -> Additive:
    """Make an additive member with few knots."""
    return Additive(**(JOINT | {"n_knots": 5} | options))


def remembered(**options: Any) -> Remembered:
    """Make a memory with a short window: the stream soon fills it."""
    return Remembered(**({"window": 30} | options))


def ferns(**options: Any) -> Ferns:
    """Make a few small ferns."""
    return Ferns(**(JOINT | {"n_ferns": 6, "depth": 3, "seed": 7} | options))


#: The members beside the anchors, one of each kind, with every option somewhere.
ADDITIVE: dict[str, Additive] = {
    "additive": additive(),
    "additive, two knots": additive(n_knots=2),
    "additive, one step": additive(steps=(2.0,), averaged=False),
    "additive, Huberized hinge, one against the rest": additive(
        loss=HUBERIZED_HINGE,
        multiclass=OVR,
        steps=(0.3, 3.0),  # greater ones throw rounding up from step to step
    ),
}
MEMORIES: dict[str, Remembered] = {
    "memory": remembered(),
    "memory, plain distances": remembered(learns_metric=False),
    "memory of one": remembered(window=1),
    "memory of many": remembered(window=500),
}
FERNS: dict[str, Ferns] = {
    "ferns": ferns(),
    "ferns, one question": ferns(depth=1),
    "ferns, one step": ferns(steps=(2.0,), averaged=False),
    "ferns, Huberized hinge, one against the rest": ferns(loss=HUBERIZED_HINGE, multiclass=OVR),
}
PRIORS: dict[str, Prior] = {"prior": Prior(), "prior of the last label": Prior(reach=1)}
WAVES: dict[str, Waves] = {"waves": Waves(n_waves=12), "waves, two": Waves(n_waves=2, seed=3)}
CONTEXTS: dict[str, Contexts] = {
    "contexts": Contexts(n_cells=2_048, eager=True),
    "contexts, few cells": Contexts(n_cells=1_024, eager=True),
}
TREES: dict[str, Trees] = {
    "trees": Trees(n_trees=4, n_leaves=8, seed=3),
    "trees, one of two leaves": Trees(n_trees=1, n_leaves=2),
    "trees, silent at first": Trees(n_trees=2, n_leaves=4, eager=False),
}
#: Dense records, such as these are, find it silent; what it learns of others its own tests say.
WORDS: dict[str, Words] = {"words": Words(n_cells=1_024)}
#: Several members and one mixer.
COMMITTEES: dict[str, tuple[Member, ...]] = {
    "all": (
        member(n_anchors=1, n_neighbors=1, common_share=0.0),
        member(steps=(10.0,), common_share=0.0),
        additive(steps=(3.0,)),
        remembered(),
        Prior(reach=10),
        Waves(n_waves=6),
        ferns(steps=(1.0, 10.0)),
        Trees(n_trees=3, n_leaves=4, eager=False),
        Words(n_cells=1_024),
        Contexts(n_cells=1_024, eager=True),
    ),
    "memory and ferns": (remembered(window=80), ferns(n_ferns=12)),
    "two of a kind": (additive(), additive(n_knots=2)),
}
#: All of them: whatever holds for a model holds for each.
ALL: dict[str, Member | tuple[Member, ...]] = {
    **MEMBERS,
    **ADDITIVE,
    **MEMORIES,
    **FERNS,
    **PRIORS,
    **WAVES,
    **CONTEXTS,
    **TREES,
    **WORDS,
}
ALL |= {f"committee: {name}": of for name, of in COMMITTEES.items()}


class Kernels:
    """A model's memory and the kernel that works on it; records are arrays, labels are codes."""

    def __init__(
        self, of: Member | Sequence[Member], width: int, classes: int, *, standardize: bool = True
    ) -> None:
        members = of if isinstance(of, Sequence) else (of,)
        self.memory = ModelState(members, width, classes, standardize=standardize)
        self.memory.begin()
        self.memory.introduce(0, 1 + np.arange(width))

    def rows(
        self, x: Array, labels: NDArray[np.int64], w: Array | None = None
    ) -> tuple[Array, NDArray[np.int64]]:
        """Feed dense rows in one call; returns probabilities and likeliest classes."""
        return self.raw(x.reshape(-1), NOTHING, NOTHING, labels, w)

    def raw(
        self,
        values: Array,
        columns: NDArray[np.int64],
        starts: NDArray[np.int64],
        labels: NDArray[np.int64],
        w: Array | None = None,
    ) -> tuple[Array, NDArray[np.int64]]:
        """Feed rows in the kernel's own form."""
        n = len(labels)
        proba, likeliest = np.zeros((n, self.memory.n_classes)), np.zeros(n, dtype=np.int64)
        w = np.ones(n) if w is None else w
        # An array with strides is a type of its own, and would be another compilation.
        columns = np.ascontiguousarray(columns)
        self.memory.run(values, columns, starts, labels, w, likeliest, proba)
        return proba, likeliest

    def learn(self, x: Array, label: int, w: float = 1.0) -> Array:
        """Learn one dense record; returns the probabilities predicted before."""
        proba, likeliest = self.rows(x, np.array([label]), np.array([w]))
        self.likeliest = int(likeliest[0])
        return np.asarray(proba[0])

    def predict(self, x: Array) -> Array:
        """Return each class's probability."""
        return self.learn(x, -1)

    def sparse(self, x: Array, label: int) -> Array:
        """Feed one record by its named columns only."""
        named = np.flatnonzero(x != scaling.ABSENT)
        starts = np.array([0, len(named)])
        proba: Array = self.raw(x[named], named, starts, np.array([label]))[0][0]
        return proba

    def grow(self, width: int, classes: int) -> None:
        """Know more features or classes."""
        new = self.memory.grown(width, classes)
        self.memory.carry_to(new)
        new.introduce(self.memory.width, 1 + np.arange(self.memory.width, width))
        self.memory = new

    def words(self) -> NDArray[np.int64]:
        """Return a copy of the state, as bits."""
        return self.memory.state.view(np.int64).copy()

    @property
    def scores(self) -> Array:
        """The experts' scores for the record last fed."""
        return np.asarray(self.memory.views(0)["scores"][0, 0], dtype=np.float64)

    @property
    def own(self) -> dict[str, NDArray[Any]]:
        """The first member's sections."""
        return self.memory.views(1)

    @property
    def positions(self) -> Array:
        """Where the anchors of the first member are, scaled."""
        return positions_of(self.own)

    @property
    def machines(self) -> tuple[Array, Array]:
        """Plain weights and biases of all machines of the first member."""
        return machines_of(self.own)


def synced(oracle: Oracle, kernels: Kernels) -> None:
    """Give the oracle the kernels' state, so that rounding cannot add up from step to step."""
    model = kernels.memory.views(0)
    oracle.seen = int(model["counters"][SEEN])
    oracle.mixer.mixed = int(model["counters"][MIXED])
    oracle.scales = [Scale(*row.tolist()) for row in model["statistics"]]
    mixer = oracle.mixer
    mixer.trust, mixer.power, mixer.effort, mixer.alone, mixer.alone_effort = (
        model["mixer"][row].copy()
        for row in (mixing.TRUST, mixing.POWER, mixing.EFFORT, mixing.ALONE, mixing.ALONE_EFFORT)
    )
    mixer.all, mixer.over, mixer.gain = model["joined"][0]
    mixer.join_effort, mixer.gained = model["joined"][1, :2].copy(), model["joined"][1, 2]
    oracle.taught = int(model["counters"][TAUGHT])
    oracle.calibration.right, oracle.calibration.count = model["calibration"].copy()
    for i, report in enumerate(oracle.reports):
        report.tied = False
        facts = model["members"][:, i].tolist()
        report.loss, report.accuracy = facts[mixing.OWN_LOSS], facts[mixing.OWN_ACCURACY]
        report.worth, report.worth_squared = facts[mixing.WORTH], facts[mixing.WORTH_SQUARED]
        report.judged = facts[mixing.JUDGED]
        oracle.awake[i], oracle.since[i] = facts[mixing.AWAKE] > 0, facts[mixing.SINCE]
    for i, member in enumerate(oracle.members):
        take(member, kernels.memory.views(1 + i))


def both_learn(
    kernels: Kernels, oracle: Oracle, x: Array, label: int, w: float = 1.0, *, tolerance: float
) -> None:
    """Let both learn a record; compare what they predicted before, and what they know after."""
    proba = kernels.learn(x, label, w)
    z = kernels.memory.views(0)["z"][0, 0, : len(x)].astype(float)
    told = Told(z, kernels.scores, kernels.likeliest)
    for i, member in enumerate(oracle.members):
        if isinstance(member, MemoryOracle) and member.experts:
            views = kernels.memory.views(1 + i)
            n = int(views["found"][0])
            near, squared = views["near"][:n].copy(), views["nearest"][:n].astype(float)
            told.near[i] = Neighbours(near, squared)
    seen = oracle.look(x, told)
    close(proba, seen.proba, tolerance, "probabilities")
    close(told.scores, seen.scores, tolerance, "scores")
    oracle.learn(seen, label, w, told)
    agree(kernels, oracle, tolerance)


def agree(kernels: Kernels, oracle: Oracle, tolerance: float) -> None:
    """Compare all that is learned."""
    model = kernels.memory.views(0)
    for i, scale in enumerate(oracle.scales):
        close(model["statistics"][i], list(vars(scale).values()), 1e-9, f"scale of feature {i}")
    for i, member in enumerate(oracle.members):
        compare(member, kernels.memory.views(1 + i), tolerance)
    close(model["mixer"][mixing.TRUST], oracle.mixer.trust, tolerance, "trust")
    close(model["mixer"][mixing.POWER], oracle.mixer.power, tolerance, "power")
    close(model["mixer"][mixing.EFFORT], oracle.mixer.effort, tolerance, "effort")
    close(model["mixer"][mixing.ALONE], oracle.mixer.alone, tolerance, "trust if alone")
    mixed = oracle.mixer
    joined = [[mixed.all, mixed.over, mixed.gain], [*mixed.join_effort, mixed.gained]]
    close(model["joined"], joined, tolerance, "joined")
    right, count = model["calibration"]
    close(right, oracle.calibration.right, tolerance, "calibration")
    close(count, oracle.calibration.count, tolerance, "records calibrated by")
    for i, report in enumerate(oracle.reports):
        facts = model["members"][:, i]
        told = [report.loss, report.worth, report.worth_squared, report.judged]
        found = facts[[mixing.OWN_LOSS, mixing.WORTH, mixing.WORTH_SQUARED, mixing.JUDGED]]
        close(found, told, tolerance, "report on a member")
        if not report.tied:
            close(facts[mixing.OWN_ACCURACY], report.accuracy, tolerance, "a member's accuracy")


def stream(
    seed: int, n: int, width: int, classes: int, *, missing: float = 0.0
) -> tuple[Array, NDArray[np.int64]]:
    """Draw a stream whose classes are curved regions, with features on different scales."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, width))
    directions = rng.normal(size=(classes, width))
    labels = np.argmax(np.sin(2 * x) @ directions.T + 0.3 * rng.normal(size=(n, classes)), axis=1)
    x = x * np.exp(rng.normal(size=width)) + rng.normal(size=width)
    x[rng.random(x.shape) < missing] = np.nan
    return x, labels.astype(np.int64)
