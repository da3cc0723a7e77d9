"""A fern's questions: drawn by relevance, and each the best of some by the records' labels."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from stream_llsvm.members.ferns import draw as drawing
from stream_llsvm.members.ferns.draw import RECORD, ROWS
from tests.kernels.alone import alone
from tests.oracle_parts import Array

draw = alone(drawing.draw)
question = alone(drawing.question)
reach_of = alone(drawing.reach_of)
list_runs = alone(drawing.list_runs)
sort_by_label = alone(drawing.sort_by_label)
split = alone(drawing.split)
gain_of = alone(drawing.gain_of)


class Ferns(NamedTuple):
    """What ``draw`` reads and writes of a ``FernsState``."""

    depth: int
    source: NDArray[np.int64]
    features: NDArray[np.int64]
    thresholds: NDArray[np.float32]
    recent: NDArray[np.float32]
    labels: NDArray[np.int64]
    reach: Array
    order: NDArray[np.int64]
    counts: NDArray[np.int64]


def _ferns(recent: Array, labels: NDArray[np.int64], depth: int = 8, seed: int = 3) -> Ferns:
    return Ferns(
        depth,
        np.array([seed], dtype=np.int64),
        np.zeros((1, depth), dtype=np.int64),
        np.zeros((1, depth), dtype=np.float32),
        recent.astype(np.float32),
        labels.astype(np.int64),
        np.arange(1, recent.shape[1] + 1, dtype=np.float64),
        np.zeros((ROWS, len(recent)), dtype=np.int64),
        np.zeros(int(labels.max()) + 1, dtype=np.int64),
    )


def _asked(
    relevance: Array, recent: Array, n: int = 2_000
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    source, reach = np.array([3], dtype=np.int64), np.zeros(len(relevance))
    reach_of(relevance.astype(np.float32), reach)
    drawn = [question(source, reach, recent.astype(np.float32)) for _ in range(n)]
    return np.array([f for f, _ in drawn]), np.array([t for _, t in drawn], dtype=np.float32)


def test_features_are_drawn_by_relevance() -> None:
    """Chi squared with 3 degrees of freedom: beyond 16.3 one draw in a thousand would be."""
    relevance = np.array([1.0, 4.0, 0.0, 3.0, 2.0])
    features, _ = _asked(relevance, np.random.default_rng(0).normal(size=(50, 5)))
    counts = np.bincount(features, minlength=5)
    assert counts[2] == 0
    expected = 2_000 * relevance / relevance.sum()
    some = expected > 0
    assert ((counts - expected)[some] ** 2 / expected[some]).sum() < 16.3


def test_without_a_memory_features_count_alike() -> None:
    features, _ = _asked(np.zeros(4), np.random.default_rng(0).normal(size=(50, 4)))
    counts = np.bincount(features, minlength=4)
    assert ((counts - 500) ** 2 / 500).sum() < 16.3


def test_a_threshold_lies_halfway_between_two_recent_records() -> None:
    recent = np.array([[0.0, 10.0], [1.0, 20.0], [8.0, 50.0]])
    features, thresholds = _asked(np.zeros(2), recent, n=300)
    for i in range(2):
        pairs = {(a + b) / 2 for a in recent[:, i] for b in recent[:, i]}
        assert set(thresholds[features == i].tolist()) <= pairs


def test_a_feature_on_which_records_differ_is_preferred() -> None:
    recent = np.zeros((20, 4))
    recent[:, 3] = np.arange(20)
    features, _ = _asked(np.zeros(4), recent)
    assert (features == 3).mean() > 0.5


@pytest.mark.parametrize("classes", [1, 2, 5, 40])
def test_the_gain_is_that_of_the_cells_and_splits_keep_them_in_order(classes: int) -> None:
    rng = np.random.default_rng(classes)
    recent, labels = rng.normal(size=(60, 3)).astype(np.float32), rng.integers(classes, size=60)
    order, counts = np.zeros((ROWS, 60), dtype=np.int64), np.zeros(classes, dtype=np.int64)
    sort_by_label(labels, 60, order, counts)
    paths, left = np.zeros(60, dtype=np.int64), 60
    for level in range(6):
        left, runs = list_runs(labels, order, left)
        sizes = np.bincount(paths)
        assert sorted(order[RECORD, :left]) == np.flatnonzero(sizes[paths] > 1).tolist()
        feature, threshold = level % 3, float(np.float32(0.2 * level - 0.5))
        answers = recent[:, feature] > threshold
        found = gain_of(recent, order, runs, feature, np.float32(threshold))
        expected = 0.0
        for path in np.flatnonzero(sizes > 1):
            for side in (False, True):
                inside = np.bincount(labels[(paths == path) & (answers == side)])
                expected += float((inside**2).sum() / (inside.sum() + 1))
        assert found == pytest.approx(expected, rel=1e-12)
        split(recent, order, left, feature, np.float32(threshold))
        paths = 2 * paths + answers


def test_the_question_that_tells_the_classes_apart_is_found() -> None:
    """One feature in eight decides: a single draw would ask for it once in eight times."""
    rng = np.random.default_rng(0)
    recent = rng.normal(size=(200, 8))
    hits = 0
    for seed in range(40):
        one = _ferns(recent, (recent[:, 5] > 0.3).astype(np.int64), depth=1, seed=seed)
        draw(one, 0, 200)
        hits += int(one.features[0, 0] == 5)
    assert hits > 20, "ten draws miss it 26 times in a hundred"


def test_what_is_pure_stays_whole_and_what_is_alone_counts_no_more() -> None:
    """After the first good question nothing is left to ask, and draws still end."""
    recent = np.array([[0.0], [0.0], [1.0], [1.0]])
    one = _ferns(recent, np.array([0, 0, 1, 1]), depth=3)
    draw(one, 0, 4)
    assert one.thresholds[0].tolist() == [0.5, 0.5, 0.5]
    two = _ferns(np.array([[0.0], [1.0]]), np.array([0, 1]), depth=5)
    draw(two, 0, 2)
    assert np.isin(two.thresholds, [0.0, 0.5, 1.0]).all()


def test_only_the_first_records_are_asked() -> None:
    """Those behind hold nothing yet."""
    recent = np.array([[1.0], [2.0], [999.0], [-999.0]])
    one = _ferns(recent, np.array([0, 1, 0, 1]))
    draw(one, 0, 2)
    assert ((one.thresholds >= 1) & (one.thresholds <= 2)).all()
