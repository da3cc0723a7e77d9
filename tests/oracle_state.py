"""A member's state, as the kernels keep it and as the oracle does: copied, and compared."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.members.additive import kernel as additive_kernel
from stream_llsvm.members.anchors import state as kernel
from stream_llsvm.members.contexts import state as contexts_state
from stream_llsvm.members.contexts.table import COUNT, SHARES, TAG
from stream_llsvm.members.ferns import kernel as ferns_kernel
from stream_llsvm.members.neighbours import kernel as memory_kernel
from stream_llsvm.members.trees import state as trees_state
from stream_llsvm.members.waves import kernel as waves_kernel
from tests.oracle import MemberOracle
from tests.oracle_additive import AdditiveOracle
from tests.oracle_anchors import Anchor, AnchorsOracle, Machine
from tests.oracle_cells import Cells
from tests.oracle_contexts import Cell, ContextsOracle
from tests.oracle_ferns import WORD, FernsOracle
from tests.oracle_memory import MemoryOracle, Record
from tests.oracle_parts import Array
from tests.oracle_prior import PriorOracle
from tests.oracle_trees import Histogram, Node, Tree, TreesOracle
from tests.oracle_waves import WavesOracle

Views = Mapping[str, NDArray[Any]]


def close(actual: Any, expected: Any, tolerance: float, what: str) -> None:
    """Compare to a fraction of the largest number, which is what float32 can promise.

    Not below 0.02: steps of the usual size may cancel to nothing but their rounding.
    """
    actual, expected = np.asarray(actual, dtype=float), np.asarray(expected, dtype=float)
    size = float(np.abs(expected).max(initial=0.02))
    room = tolerance * (size + np.abs(expected))
    if actual.shape == expected.shape and (np.abs(actual - expected) <= room).all():
        return  # as numpy would say, ten times faster; what fails is numpy's to tell
    np.testing.assert_allclose(
        actual, expected, rtol=tolerance, atol=tolerance * size, err_msg=what
    )


def take(member: MemberOracle, own: Views) -> None:
    """Give a member's oracle the kernel's state."""
    if isinstance(member, AnchorsOracle):
        _take_anchors(member, own)
    elif isinstance(member, MemoryOracle):
        _take_memory(member, own)
    elif isinstance(member, PriorOracle):
        member.shares = own["shares"].astype(float)
    elif isinstance(member, ContextsOracle):
        _take_contexts(member, own)
    elif isinstance(member, WavesOracle):
        member.seen = int(own["running"][waves_kernel.SEEN])
        member.spread = float(own["running"][waves_kernel.SPREAD])
        member.weights = own["weights"].astype(float)
        member.variance = own["variance"].astype(float)
    elif isinstance(member, TreesOracle):
        _take_trees(member, own)
    elif isinstance(member, AdditiveOracle | FernsOracle):
        _take_cells(member, own)


def compare(member: MemberOracle, own: Views, tolerance: float) -> None:
    """Compare a member's oracle with the kernel's state."""
    if isinstance(member, AnchorsOracle):
        _compare_anchors(member, own, tolerance)
    elif isinstance(member, MemoryOracle):
        _compare_memory(member, own, tolerance)
    elif isinstance(member, PriorOracle):
        close(own["shares"], member.shares, 1e-6, "shares")
    elif isinstance(member, ContextsOracle):
        _compare_contexts(member, own, tolerance)
    elif isinstance(member, WavesOracle):
        close(own["running"][waves_kernel.SPREAD], member.spread, tolerance, "spread")
        close(own["weights"], member.weights, tolerance, "weights")
        close(own["variance"], member.variance, tolerance, "variance")
    elif isinstance(member, TreesOracle):
        _compare_trees(member, own, tolerance)
    elif isinstance(member, AdditiveOracle | FernsOracle):
        _compare_cells(member, own, tolerance)


# ---- anchors


def positions_of(own: Views) -> Array:
    """Where the anchors are, scaled."""
    born = int(own["running"][kernel.N_ANCHORS])
    zoom = own["facts"][kernel.ZOOM, :born].astype(np.float64)
    return np.asarray(zoom[:, None] * own["positions"][:born])


def machines_of(own: Views) -> tuple[Array, Array]:
    """Plain weights and biases of all machines in use, by what kernels/members/machines says.

    (machines, copies, rungs, columns, features) and the same without features.
    """
    views = {k: v.astype(np.float64) for k, v in own.items() if k != "near"}
    parts = views["weights"]
    weights = parts * views["raw_scale"][:, None, None]
    if parts.shape[1] == 2:
        keep, gain = views["keep"][:, :, None, None], views["gain"][:, None, None, None]
        weights[:, 1] = keep * parts[:, 0] + gain * parts[:, 1]
    used = list(range(int(views["running"][kernel.N_ANCHORS])))
    used += range(len(views["positions"]), len(parts))
    return weights[used], views["biases"][used]


def _take_anchors(oracle: AnchorsOracle, own: Views) -> None:
    oracle.learned = int(own["running"][kernel.SEEN])
    oracle.count = oracle.options.skip - oracle.learned % oracle.options.skip
    oracle.spread, oracle.energy = own["running"][[kernel.SPREAD, kernel.ENERGY]].tolist()
    oracle.tilt = float(own["running"][kernel.TILT])
    oracle.reach = float(own["running"][kernel.REACH])
    oracle.hits = own["hits"].copy()
    weights, biases = machines_of(own)
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
        for v, m, n in zip(positions_of(own), machines, visits[: len(machines)], strict=True)
    ]


def _compare_anchors(oracle: AnchorsOracle, own: Views, tolerance: float) -> None:
    facts = own["facts"]
    born = len(oracle.anchors)
    assert int(own["running"][kernel.N_ANCHORS]) == born
    close(own["hits"], oracle.hits, 1e-9, "hits")
    running = own["running"][[kernel.SPREAD, kernel.ENERGY, kernel.TILT]]
    close(running[0], oracle.spread, tolerance, "spread")
    close(running[1], oracle.energy, tolerance, "energy")
    close(running[2], oracle.tilt, tolerance, "tilt")
    close(facts[kernel.VISITS, :born], [a.visits for a in oracle.anchors], 1e-6, "visits")
    masses = [a.machine.mass for a in oracle.anchors]
    close(facts[kernel.MASS, :born], masses, tolerance, "mass")
    if born:
        positions = np.array([a.position for a in oracle.anchors])
        close(positions_of(own), positions, tolerance, "positions")
        norms = (positions**2).sum(axis=1)
        close(facts[kernel.NORM, :born], norms, tolerance, "norms")
    weights, biases = machines_of(own)
    for copy in range(weights.shape[1] if oracle.machines else 0):
        name = "averaged" if copy else "raw"
        if not oracle.options.flat:
            expected = np.array([m.weights[copy] for m in oracle.machines])
            for r in range(expected.shape[1]):
                close(weights[:, copy, r], expected[:, r], tolerance, f"{name} weights {r}")
        expected = np.array([m.biases[copy] for m in oracle.machines])
        for r in range(expected.shape[1]):
            close(biases[:, copy, r], expected[:, r], tolerance, f"{name} biases {r}")


# ---- additive and ferns


def _take_cells(oracle: AdditiveOracle | FernsOracle, own: Views) -> None:
    oracle.bias = own["bias"].astype(float)
    oracle.mass = own["mass"].astype(float).reshape(-1)
    oracle.weights = own["weights"].astype(float).reshape(-1, *oracle.bias.shape)
    if isinstance(oracle, FernsOracle):
        oracle.seen = int(own["running"][ferns_kernel.SEEN])
        oracle.features = own["features"].copy()
        oracle.thresholds = own["thresholds"].astype(float)
        oracle.born, oracle.use = own["facts"][[ferns_kernel.BORN, ferns_kernel.USE]]
        oracle.recent, oracle.labels = list(own["recent"].astype(float)), own["labels"].copy()
        oracle.dice.state = int(own["source"][0]) % WORD
    else:
        oracle.seen = int(own["running"][additive_kernel.SEEN])


def _compare_cells(oracle: Cells, own: Views, tolerance: float) -> None:
    close(own["mass"].reshape(-1), oracle.mass, tolerance, "mass")
    weights = own["weights"].reshape(-1, *oracle.bias.shape)
    for copy in range(oracle.options.copies):
        name = "averaged" if copy else "raw"
        for r in range(len(oracle.steps)):
            expected = oracle.weights[:, copy, r]
            close(weights[:, copy, r], expected, tolerance, f"{name} weights {r}")
            close(own["bias"][copy, r], oracle.bias[copy, r], tolerance, f"{name} bias {r}")
    if isinstance(oracle, FernsOracle):
        assert np.array_equal(own["features"], oracle.features)
        close(own["thresholds"], oracle.thresholds, 1e-6, "thresholds")
        facts = own["facts"]
        assert np.array_equal(facts[ferns_kernel.BORN], oracle.born)
        close(facts[ferns_kernel.USE], oracle.use, tolerance, "use")
        close(own["recent"], oracle.recent, 1e-6, "recent records")
        assert np.array_equal(own["labels"], oracle.labels)
        assert int(own["source"][0]) % WORD == oracle.dice.state


# ---- memory


def _take_memory(oracle: MemoryOracle, own: Views) -> None:
    if oracle.window == 0:
        return
    running, held = own["running"], int(own["running"][memory_kernel.HELD])
    oracle.seen, oracle.head = int(running[memory_kernel.SEEN]), int(running[memory_kernel.HEAD])
    oracle.spread = float(running[memory_kernel.SPREAD])
    oracle.scale, oracle.effort = own["scale"].astype(float), own["effort"].copy()
    oracle.ruler = own["ruler"].astype(float)
    oracle.records = [_record(own, j) for j in range(held)]


def _record(own: Views, j: int) -> Record:
    label, stamp, worth = own["facts"][:, j]
    return Record(own["store"][:, j].astype(float), int(label), float(stamp), float(worth))


def _compare_memory(oracle: MemoryOracle, own: Views, tolerance: float) -> None:
    if oracle.window == 0:
        return
    running = own["running"]
    assert running[memory_kernel.SEEN] == oracle.seen
    assert running[memory_kernel.HELD] == len(oracle.records)
    assert running[memory_kernel.HEAD] == oracle.head
    close(running[memory_kernel.SPREAD], oracle.spread, tolerance, "spread")
    close(own["scale"], oracle.scale, tolerance, "metric")
    close(own["ruler"], oracle.ruler, tolerance, "ruler")
    close(own["effort"], oracle.effort, tolerance, "effort")
    for j, record in enumerate(oracle.records):
        kept = _record(own, j)
        assert (kept.label, kept.stamp, kept.worth) == (record.label, record.stamp, record.worth)
        close(kept.z, record.z, 1e-6, "remembered record")
    norms = [(oracle.ruler * r.z**2).sum() for r in oracle.records]
    close(own["norms"][: len(norms)], norms, tolerance, "norms")


# ---- contexts


def _take_contexts(member: ContextsOracle, own: Views) -> None:
    running = own["running"]
    member.seen, member.usual = int(running[contexts_state.SEEN]), own["usual"].copy()
    member.table = [
        Cell(float(cell[COUNT]), int(cell[TAG]), _shares_of(cell, member.classes))
        for cell in own["table"][: running[contexts_state.USED]]
    ]
    member.trust = own["trust"].T.tolist()
    for i, fields in enumerate([(), *member.sets]):
        member.weights[fields] = own["weights"][:, i].tolist()


def _shares_of(cell: Array, classes: int) -> Array:
    shares = cell[SHARES:].astype(float)
    if len(shares) == 1 and classes == 2:
        return np.array([1 - shares[0], shares[0]])
    return np.ones(1) if classes == 1 else shares


def _compare_contexts(member: ContextsOracle, own: Views, tolerance: float) -> None:
    running = own["running"]
    assert running[contexts_state.USED] == len(member.table)
    assert running[contexts_state.TAKEN] == sum(cell.count > 0 for cell in member.table)
    table = own["table"][: len(member.table)]
    assert table[:, COUNT].tolist() == [cell.count for cell in member.table]
    for i in np.flatnonzero(table[:, COUNT]).tolist():
        assert table[i, TAG] == member.table[i].tag
        shares = _shares_of(table[i], member.classes)
        close(shares, member.table[i].shares, tolerance, f"shares of cell {i}")
    close(own["usual"], member.usual, 1e-9, "the usual")
    close(own["trust"].T, member.trust, tolerance, "trust in counts")
    weights = [member.weights[fields] for fields in [(), *member.sets]]
    close(own["weights"][:, : len(weights)].T, weights, tolerance, "weights of sets")


# ---- trees


def _take_trees(oracle: TreesOracle, own: Views) -> None:
    running = own["running"]
    oracle.seen, oracle.free = int(running[trees_state.SEEN]), int(running[trees_state.FREE])
    oracle.bias = own["bias"].astype(float)
    oracle.dice.state = int(own["source"][0]) % WORD
    oracle.trees = [_tree(own, t) for t in range(len(oracle.trees))]


def _tree(own: Views, t: int) -> Tree:
    size, born = own["facts"][:, t].tolist()
    nodes = [Node(own["values"][t, i].astype(float)) for i in range(size)]
    for i, node in enumerate(nodes):
        node.mass, node.feature = float(own["mass"][t, i]), int(own["asks"][t, i])
        node.cut, first = float(own["cuts"][t, i]), int(own["below"][t, i])
        slot = int(own["slots"][t, i])
        node.waits = slot != trees_state.NEVER
        if slot >= 0:
            node.histogram = _histogram(own, slot)
        if first != trees_state.LEAF:
            node.below = nodes[first : first + 2]
            for side, other in enumerate(node.below):
                other.above, other.is_upper = node, bool(side)
    return Tree(nodes, born, float(own["use"][t]))


def _histogram(own: Views, slot: int) -> Histogram:
    low, pace = own["bins"][slot].T
    sums = np.swapaxes(own["sums"][slot], 0, 1).astype(float)
    sides, since = own["sides"][slot].astype(float), float(own["since"][slot])
    return Histogram(own["asked"][slot].tolist(), low.copy(), pace.copy(), sums, sides, since)


def _compare_trees(oracle: TreesOracle, own: Views, tolerance: float) -> None:
    assert int(own["running"][trees_state.SEEN]) == oracle.seen
    assert int(own["running"][trees_state.FREE]) == oracle.free
    assert int(own["source"][0]) % WORD == oracle.dice.state
    close(own["bias"], oracle.bias, tolerance, "bias")
    close(own["use"], [tree.use for tree in oracle.trees], tolerance, "use")
    for t, expected in enumerate(oracle.trees):
        found = _tree(own, t)
        assert (len(found.nodes), found.born) == (len(expected.nodes), expected.born)
        for ours, theirs in zip(found.nodes, expected.nodes, strict=True):
            assert len(ours.below) == len(theirs.below)
            assert (ours.histogram is None) == (theirs.histogram is None)
            if ours.below:
                assert ours.feature == theirs.feature
                close(ours.cut, theirs.cut, 1e-5, "a cut")
                continue
            close(ours.mass, theirs.mass, tolerance, "mass")
            close(ours.values, theirs.values, tolerance, "values")
            if ours.histogram is not None and theirs.histogram is not None:
                _compare_histograms(ours.histogram, theirs.histogram, tolerance)


def _compare_histograms(ours: Histogram, theirs: Histogram, tolerance: float) -> None:
    assert ours.features == theirs.features
    assert np.array_equal(ours.sides, theirs.sides)
    close(ours.since, theirs.since, 1e-5, "records since the last look")
    close(ours.low, theirs.low, 1e-5, "first bins")
    close(ours.pace, theirs.pace, 1e-5, "bins a unit")
    close(ours.sums, theirs.sums, tolerance, "sums")
