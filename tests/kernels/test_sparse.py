"""Sparse records: the same model as from dense ones, at the price of what they name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from stream_llsvm.kernels.scaling import ABSENT
from stream_llsvm.members.anchors.member import Anchors
from stream_llsvm.members.anchors.steps import WIDE
from tests.oracle import Oracle
from tests.oracle_compare import (
    ALL,
    FERNS,
    MEMBERS,
    MEMORIES,
    Kernels,
    additive,
    both_learn,
    member,
    stream,
    synced,
)
from tests.oracle_state import close

NEW = [*MEMORIES, *FERNS, "committee: memory and ferns"]


def _sparse_stream(n: int, width: int, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    x, labels = stream(seed, n, width, 3)
    # Words: each record names a few, some words are common and some are rare.
    x[rng.random(x.shape) > np.linspace(0.9, 0.05, width)] = ABSENT
    x[rng.random(x.shape) < 0.02] = np.nan
    return x, labels


@pytest.mark.parametrize("name", ["sapl", "lcc", "inverse distance", "paper sapl"])
def test_sparse_rows_are_dense_rows_with_absent_columns(name: str) -> None:
    x, labels = _sparse_stream(40, 12)
    dense, sparse = Kernels(MEMBERS[name], 12, 3), Kernels(MEMBERS[name], 12, 3)
    oracle = Oracle(MEMBERS[name], 12, 3)
    for row, label in zip(x, labels, strict=True):
        synced(oracle, sparse)
        dense.memory.state[:] = sparse.memory.state
        expected = sparse.sparse(row, int(label))
        both_learn(dense, oracle, row, int(label), tolerance=1e-3)
        close(dense.scores, sparse.scores, 1e-3, "scores")
        close(dense.predict(row), sparse.sparse(row, -1), 1e-3, "probabilities")
        close(dense.positions, sparse.positions, 1e-3, "positions")
        close(sparse.machines[0], dense.machines[0], 1e-3, "weights")
        close(sparse.machines[1], dense.machines[1], 1e-3, "biases")
        assert expected.sum() == pytest.approx(1)


@pytest.mark.parametrize("of", [member(), member(n_anchors=1, n_neighbors=1, common_share=0.0)])
@pytest.mark.parametrize("share", [0.05, 0.5])
def test_wide_sparse_records_are_learned_as_the_oracle_does(of: Anchors, share: float) -> None:
    """Those that name less than a quarter are learned as they are, not as an anchor sees them."""
    width = WIDE + 30
    x, labels = stream(3, 40, width, 3)
    x[np.random.default_rng(0).random(x.shape) > share] = ABSENT
    dense, sparse, oracle = Kernels(of, width, 3), Kernels(of, width, 3), Oracle(of, width, 3)
    for row, label in zip(x, labels, strict=True):
        synced(oracle, sparse)
        dense.memory.state[:] = sparse.memory.state
        sparse.sparse(row, int(label))
        both_learn(dense, oracle, row, int(label), tolerance=1e-3)
        close(sparse.machines[0], dense.machines[0], 1e-3, "weights")
        close(sparse.machines[1], dense.machines[1], 1e-3, "biases")


@pytest.mark.parametrize("name", NEW)
def test_memories_and_ferns_learn_sparse_rows_as_dense_ones(name: str) -> None:
    x, labels = _sparse_stream(150, 12)
    dense, sparse = Kernels(ALL[name], 12, 3), Kernels(ALL[name], 12, 3)
    for row, label in zip(x, labels, strict=True):
        dense.memory.state[:] = sparse.memory.state
        expected = sparse.sparse(row, int(label))
        close(dense.learn(row, int(label)), expected, 1e-3, "probabilities")
        close(dense.scores, sparse.scores, 1e-3, "scores")
        for i in range(1, len(dense.memory._places)):
            one, other = dense.memory.views(i), sparse.memory.views(i)
            for section, (*_, where) in dense.memory._places[i].items():
                if where == "state":
                    close(one[section], other[section], 1e-3, section)


def test_an_additive_model_touches_only_the_features_that_are_named() -> None:
    x, labels = _sparse_stream(200, 12)
    kernels = Kernels(additive(), 12, 3)
    for row, label in zip(x, labels, strict=True):
        before = kernels.own["weights"].copy()
        kernels.sparse(row, int(label))
        touched = (kernels.own["weights"] != before).any(axis=(1, 2, 3, 4))
        assert not touched[row == ABSENT].any()


@pytest.mark.parametrize("name", ["sapl", "additive", "memory", "ferns", "committee: all"])
def test_a_sparse_block_is_row_by_row_to_the_bit(name: str) -> None:
    x, labels = _sparse_stream(400, 12)
    block, single = Kernels(ALL[name], 12, 3), Kernels(ALL[name], 12, 3)
    named = x != ABSENT
    starts = np.concatenate([[0], np.cumsum(named.sum(axis=1))])
    block.raw(x[named], np.ascontiguousarray(np.nonzero(named)[1]), starts, labels)
    for row, label in zip(x, labels, strict=True):
        single.sparse(row, -1)
        single.sparse(row, int(label))
    assert np.array_equal(block.words(), single.words())


def test_a_sparse_record_touches_only_the_columns_that_it_names() -> None:
    x, labels = _sparse_stream(420, 30)
    kernels = Kernels(member(l2=1e-4, n_anchors=6), 30, 3)
    touched = 0
    for i, (row, label) in enumerate(zip(x, labels, strict=True)):
        before = kernels.own | {"statistics": kernels.memory.views(0)["statistics"]}
        before = {name: view.copy() for name, view in before.items()}
        kernels.sparse(row, int(label))
        after = kernels.own | {"statistics": kernels.memory.views(0)["statistics"]}
        scales = ("raw_scale", "gain", "facts")  # folded: back to 1
        folded = any(((after[s] == 1) & (before[s] != 1)).any() for s in scales)
        if i < 20 or folded:
            continue  # births and the folding of a small scale are rare and touch all columns
        touched += 1
        away = row == ABSENT
        for name in ("weights", "positions"):
            assert np.array_equal(after[name][..., away], before[name][..., away])
        assert np.array_equal(after["statistics"][away], before["statistics"][away])
    assert touched > 300
