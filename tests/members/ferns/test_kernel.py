"""Ferns: questions number a cell, features are drawn by relevance, and the idle are replaced."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from stream_llsvm.kernels.metric import PERIOD
from stream_llsvm.members.ferns import kernel
from tests.kernels.alone import alone
from tests.oracle_compare import Kernels, ferns, stream
from tests.oracle_parts import Array

cells_of = alone(kernel.cells_of)
draw = alone(kernel.draw)
least_useful = alone(kernel.least_useful)


class Questions(NamedTuple):
    """What ``draw`` reads and writes of a ``FernsState``."""

    depth: int
    source: NDArray[np.int64]
    features: NDArray[np.int64]
    thresholds: NDArray[np.float32]


def test_answers_number_a_cell() -> None:
    features = np.array([[0, 1, 2], [2, 2, 0]])
    thresholds = np.array([[0.0, 1.0, 2.0], [-1.0, 5.0, 0.5]], dtype=np.float32)
    cells = np.zeros(2, dtype=np.int64)
    cells_of(np.array([1.0, 0.5, 3.0], dtype=np.float32), features, thresholds, cells)
    assert cells.tolist() == [0b101, 8 + 0b101]


def test_a_value_on_its_threshold_is_not_above_it() -> None:
    cells = np.zeros(1, dtype=np.int64)
    x = np.array([0.25], dtype=np.float32)
    cells_of(x, np.zeros((1, 1), dtype=np.int64), x.reshape(1, 1), cells)
    assert cells.tolist() == [0]


def _drawn(
    relevance: Array, recent: Array, n: int = 2_000
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    features, thresholds = np.zeros((n, 1), dtype=np.int64), np.zeros((n, 1), dtype=np.float32)
    asked = Questions(1, np.array([3], dtype=np.int64), features, thresholds)
    for f in range(n):
        draw(asked, f, recent.astype(np.float32), relevance.astype(np.float32))
    return features[:, 0], thresholds[:, 0]


def test_features_are_drawn_by_relevance() -> None:
    """Chi squared with 3 degrees of freedom: beyond 16.3 one draw in a thousand would be."""
    relevance = np.array([1.0, 4.0, 0.0, 3.0, 2.0])
    features, _ = _drawn(relevance, np.random.default_rng(0).normal(size=(50, 5)))
    counts = np.bincount(features, minlength=5)
    assert counts[2] == 0
    expected = 2_000 * relevance / relevance.sum()
    some = expected > 0
    assert ((counts - expected)[some] ** 2 / expected[some]).sum() < 16.3


def test_without_a_memory_features_count_alike() -> None:
    features, _ = _drawn(np.zeros(4), np.random.default_rng(0).normal(size=(50, 4)))
    counts = np.bincount(features, minlength=4)
    assert ((counts - 500) ** 2 / 500).sum() < 16.3


def test_a_threshold_lies_halfway_between_two_recent_records() -> None:
    recent = np.array([[0.0, 10.0], [1.0, 20.0], [8.0, 50.0]])
    features, thresholds = _drawn(np.zeros(2), recent, n=300)
    for i in range(2):
        pairs = {(a + b) / 2 for a in recent[:, i] for b in recent[:, i]}
        assert set(thresholds[features == i].tolist()) <= pairs


def test_a_feature_on_which_records_differ_is_preferred() -> None:
    recent = np.zeros((20, 4))
    recent[:, 3] = np.arange(20)
    features, _ = _drawn(np.zeros(4), recent)
    assert (features == 3).mean() > 0.5


def test_the_least_useful_of_the_old_ferns_goes() -> None:
    facts = np.zeros((2, 4))
    facts[kernel.BORN] = [0, 10, 500, 900]
    facts[kernel.USE] = [0.5, 0.2, 0.3, -9.0]
    assert least_useful(facts, kernel.GRACE + 100.0) == 1
    assert least_useful(facts, kernel.GRACE + 2_000.0) == 3
    assert least_useful(facts, kernel.GRACE - 1.0) == -1


def test_ferns_that_are_drawn_anew_are_few_and_begin_with_nothing() -> None:
    kernels = Kernels(ferns(), 4, 2)
    x, labels = stream(0, kernel.GRACE + 10 * PERIOD, 4, 2)
    kernels.rows(x[: kernel.GRACE - 1], labels[: kernel.GRACE - 1])
    assert (kernels.own["facts"][kernel.BORN] == 0).all(), "all are too young to be judged"
    for i in range(kernel.GRACE - 1, len(x)):
        before = {name: view.copy() for name, view in kernels.own.items()}
        kernels.learn(x[i], int(labels[i]))
        anew = np.flatnonzero(kernels.own["facts"][kernel.BORN] != before["facts"][kernel.BORN])
        assert len(anew) == (1 if (i + 1) % PERIOD == 0 and i + 1 >= kernel.GRACE else 0) or (
            len(anew) == 0 and (before["facts"][kernel.BORN] > i + 1 - kernel.GRACE).all()
        )
        for fern in anew:
            assert (kernels.own["weights"][fern] == 0).all()
            assert (kernels.own["mass"][fern] == 0).all()


def test_before_the_first_draw_ferns_say_nothing() -> None:
    kernels = Kernels(ferns(), 3, 3)
    x, labels = stream(0, kernel.FIRST_DRAW + 1, 3, 3)
    kernels.rows(x[: kernel.FIRST_DRAW - 1], labels[: kernel.FIRST_DRAW - 1])
    assert (kernels.own["mass"] == 0).all()
    assert (kernels.own["features"] == 0).all()
    kernels.rows(x[kernel.FIRST_DRAW - 1 :], labels[kernel.FIRST_DRAW - 1 :])
    assert kernels.own["mass"].sum() > 0


@pytest.mark.parametrize("classes", [2, 4])
def test_it_learns_corners_that_no_line_cuts_off(classes: int) -> None:
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, size=(4_000, 2))
    labels = (x[:, 0] > 0).astype(np.int64) + 2 * (x[:, 1] > 0).astype(np.int64)
    if classes == 2:
        labels = np.isin(labels, [0, 3]).astype(np.int64)
    _, likeliest = Kernels(ferns(n_ferns=30, depth=6), 2, classes).rows(x, labels)
    assert (likeliest == labels)[-1_000:].mean() > 0.9


def test_each_seed_asks_other_questions() -> None:
    x, labels = stream(0, 60, 4, 2)
    asked = []
    for seed in (1, 1, 2):
        kernels = Kernels(ferns(seed=seed), 4, 2)
        kernels.rows(x, labels)
        asked.append(kernels.own["thresholds"].tolist())
    assert asked[0] == asked[1] != asked[2]
