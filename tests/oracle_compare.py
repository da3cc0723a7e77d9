"""The kernels on their own, beside the oracle: build both, feed both, compare both."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.kernels import mixer as mixing
from stream_llsvm.kernels import scaling
from stream_llsvm.kernels.coding import INVERSE_DISTANCE, SOFTMAX
from stream_llsvm.kernels.losses import CRAMMER_SINGER, HINGE, LOGISTIC, OVR, SQUARED_HINGE
from stream_llsvm.kernels.members import anchors as kernel
from stream_llsvm.kernels.run import MIXED, SEEN, run
from stream_llsvm.learners.anchored import COMMON_SHARE
from stream_llsvm.members.anchors import LADDER, Anchors
from stream_llsvm.memory import Memory
from tests.oracle import Anchor, Machine, Oracle
from tests.oracle_parts import Array, Scale

NOTHING = np.zeros(0, dtype=np.int64)


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
    "hinge, one against the rest": member(loss=HINGE, multiclass=OVR),
    "squared hinge, joint": member(loss=SQUARED_HINGE),
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


class Kernels:
    """A model's memory and the kernel that works on it; records are arrays, labels are codes."""

    def __init__(self, of: Anchors, width: int, classes: int, *, standardize: bool = True) -> None:
        self.memory = Memory((of,), width, classes, standardize=standardize)
        self.memory.begin()

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
        m = self.memory
        run(m.state, m.scratch, m.plan, values, columns, starts, labels, w, proba, likeliest)
        return proba, likeliest

    def learn(self, x: Array, label: int, w: float = 1.0) -> Array:
        """Learn one dense record; returns the probabilities predicted before."""
        proba: Array = self.rows(x, np.array([label]), np.array([w]))[0][0]
        return proba

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
        new.introduce(self.memory.width, width)
        self.memory = new

    def words(self) -> NDArray[np.int64]:
        """Return a copy of the state, as bits."""
        return self.memory.state.view(np.int64).copy()

    @property
    def scores(self) -> Array:
        """The experts' scores for the record last fed."""
        return np.asarray(self.memory.views(0)["scores"][0], dtype=np.float64)

    @property
    def own(self) -> dict[str, NDArray[Any]]:
        """The member's sections."""
        return self.memory.views(1)

    @property
    def positions(self) -> Array:
        """Where the anchors are, scaled."""
        born = int(self.own["running"][kernel.N_ANCHORS])
        zoom = self.own["facts"][kernel.ZOOM, :born].astype(np.float64)
        return np.asarray(zoom[:, None] * self.own["positions"][:born])

    @property
    def machines(self) -> tuple[Array, Array]:
        """Plain weights and biases of all machines in use, by what kernels/members/machines says.

        (machines, copies, rungs, columns, features) and the same without features.
        """
        views = {k: v.astype(np.float64) for k, v in self.own.items() if k != "near"}
        parts = views["weights"]
        weights = parts * views["raw_scale"][:, None, None]
        if parts.shape[1] == 2:
            keep, gain = views["keep"][:, :, None, None], views["gain"][:, None, None, None]
            weights[:, 1] = keep * parts[:, 0] + gain * parts[:, 1]
        used = list(range(int(views["running"][kernel.N_ANCHORS])))
        used += range(len(views["positions"]), len(parts))
        return weights[used], views["biases"][used]


def synced(oracle: Oracle, kernels: Kernels) -> None:
    """Give the oracle the kernels' state, so that rounding cannot add up from step to step."""
    model, own = kernels.memory.views(0), kernels.own
    oracle.seen, oracle.mixed = (int(model["counters"][i]) for i in (SEEN, MIXED))
    oracle.scales = [Scale(*row.tolist()) for row in model["statistics"]]
    oracle.trust, oracle.power, oracle.effort = (row.copy() for row in model["mixer"])
    oracle.learned = int(own["running"][kernel.SEEN])
    oracle.count = oracle.options.skip - oracle.learned % oracle.options.skip
    oracle.spread, oracle.energy = own["running"][[kernel.SPREAD, kernel.ENERGY]].tolist()
    oracle.hits = own["hits"].copy()
    weights, biases = kernels.machines
    if oracle.options.flat:
        weights = np.zeros((*weights.shape[:-1], oracle.width))
    mass = own["facts"][kernel.MASS].astype(float)
    parts = zip(weights, biases, mass[: len(weights)], strict=True)
    machines = [Machine(w, b, m) for w, b, m in parts]
    if oracle.common:
        oracle.common = machines.pop()
        oracle.common.mass = float(mass[-1])
    visits = own["facts"][kernel.VISITS]
    oracle.anchors = [
        Anchor(v, m, float(n))
        for v, m, n in zip(kernels.positions, machines, visits[: len(machines)], strict=True)
    ]


def both_learn(
    kernels: Kernels, oracle: Oracle, x: Array, label: int, w: float = 1.0, *, tolerance: float
) -> None:
    """Let both learn a record; compare what they predicted before, and what they know after.

    Which class an expert puts first can be a tie (all scores 0 after the first record), which
    rounding decides: the oracle takes the kernel's word for it, the scores having been compared.
    """
    seen = oracle.look(x)
    close(kernels.learn(x, label, w), seen.proba, tolerance, "probabilities")
    scores = kernels.scores
    close(scores, seen.scores, tolerance, "scores")
    tops = scores.argmax(axis=1) if oracle.columns > 1 else (scores[:, 0] > 0).astype(int)
    oracle.learn(x, label, w, tops=tops)
    agree(kernels, oracle, tolerance)


def close(actual: Any, expected: Any, tolerance: float, what: str) -> None:
    """Compare to a fraction of the largest number, which is what float32 can promise.

    Not below 0.02: steps of the usual size may cancel to nothing but their rounding.
    """
    actual, expected = np.asarray(actual, dtype=float), np.asarray(expected, dtype=float)
    size = float(np.abs(expected).max(initial=0.02))
    np.testing.assert_allclose(
        actual, expected, rtol=tolerance, atol=tolerance * size, err_msg=what
    )


def agree(kernels: Kernels, oracle: Oracle, tolerance: float) -> None:
    """Compare all that is learned."""
    model, own = kernels.memory.views(0), kernels.own
    facts = own["facts"]
    born = len(oracle.anchors)
    assert int(own["running"][kernel.N_ANCHORS]) == born
    for i, scale in enumerate(oracle.scales):
        close(model["statistics"][i], list(vars(scale).values()), 1e-9, f"scale of feature {i}")
    close(own["hits"], oracle.hits, 1e-9, "hits")
    running = own["running"][[kernel.SPREAD, kernel.ENERGY]]
    close(running[0], oracle.spread, tolerance, "spread")
    close(running[1], oracle.energy, tolerance, "energy")
    close(facts[kernel.VISITS, :born], [a.visits for a in oracle.anchors], 1e-6, "visits")
    masses = [a.machine.mass for a in oracle.anchors]
    close(facts[kernel.MASS, :born], masses, tolerance, "mass")
    if born:
        positions = np.array([a.position for a in oracle.anchors])
        close(kernels.positions, positions, tolerance, "positions")
        norms = (positions**2).sum(axis=1)
        close(facts[kernel.NORM, :born], norms, tolerance, "norms")
    weights, biases = kernels.machines
    for copy in range(weights.shape[1] if oracle.machines else 0):
        name = "averaged" if copy else "raw"
        if not oracle.options.flat:
            expected = np.array([m.weights[copy] for m in oracle.machines])
            for r in range(expected.shape[1]):
                close(weights[:, copy, r], expected[:, r], tolerance, f"{name} weights {r}")
        expected = np.array([m.biases[copy] for m in oracle.machines])
        for r in range(expected.shape[1]):
            close(biases[:, copy, r], expected[:, r], tolerance, f"{name} biases {r}")
    close(model["mixer"][mixing.TRUST], oracle.trust, tolerance, "trust")
    close(model["mixer"][mixing.POWER], oracle.power, tolerance, "power")
    close(model["mixer"][mixing.EFFORT], oracle.effort, tolerance, "effort")


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
