"""Trees: leaves are cut where it explains more than chance would, and the idle begin anew."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from stream_llsvm.kernels.sections import sections_of
from stream_llsvm.members.trees import growth, kernel
from stream_llsvm.members.trees import state as at
from stream_llsvm.members.trees.member import Trees
from tests.kernels.alone import alone
from tests.oracle import Oracle
from tests.oracle_compare import Kernels, both_learn, stream, synced
from tests.oracle_parts import Array
from tests.oracle_trees import TreesOracle

best_cut = alone(growth.best_cut)
count = alone(growth.count)
draw_features = alone(growth.draw_features)
draw_sides = alone(growth.draw_sides)
least_useful = alone(kernel.least_useful)


def trees(n_leaves: int = 8, seed: int = 1) -> Trees:
    return Trees(n_trees=5, n_leaves=n_leaves, seed=seed)


def corners(seed: int, n: int, width: int = 2) -> tuple[Array, NDArray[np.int64]]:
    """Draw four cells of a grid that no line tells apart."""
    x = np.random.default_rng(seed).uniform(-1, 1, size=(n, width))
    return x, ((x[:, 0] > 0.3) != (x[:, 1] > -0.2)).astype(np.int64)


def found_cut(sums: Array) -> tuple[int, list[float], list[float]]:
    features = sums.shape[1] // 2
    whole, left = np.zeros((2, 2 * features), dtype=np.float32)
    best = np.zeros((2, features), dtype=np.float32)
    f = best_cut(sums.astype(np.float32), whole, left, best)
    return f, best[0].tolist(), best[1].tolist()


def test_the_best_cut_is_that_of_most_gain() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        sums = np.zeros((at.BINS, 6))
        sums[:, 0::2], sums[:, 1::2] = rng.normal(size=(at.BINS, 3)), rng.random((at.BINS, 3))
        sums[:9, 2] += 1.5
        gains = np.full((3, at.BINS - 1), -np.inf)
        for f in range(3):
            G, V = sums[:, 2 * f].sum(), sums[:, 2 * f + 1].sum()
            for b in range(at.BINS - 1):
                g, v = sums[: b + 1, 2 * f].sum(), sums[: b + 1, 2 * f + 1].sum()
                if min(v, V - v) >= 1:
                    gains[f, b] = g**2 / (v + 1) + (G - g) ** 2 / (V - v + 1) - G**2 / (V + 1)
        f, _, places = found_cut(sums)
        expected = int(gains.max(axis=1).argmax())
        assert f == (expected if gains.max() > growth.GAIN else -1)
        assert places[expected] == gains[expected].argmax()


def test_noise_is_not_cut() -> None:
    """Of 200 leaves of nothing but noise, 16 features each, hardly any finds a cut in a look."""
    rng = np.random.default_rng(0)
    cuts = 0
    for _ in range(200):
        sums = np.zeros((at.BINS, 2 * at.FEATURES))
        for _ in range(100):
            bins = rng.integers(0, at.BINS, at.FEATURES)
            error = rng.choice([-0.5, 0.5])
            sums[bins, 2 * np.arange(at.FEATURES)] += error
            sums[bins, 2 * np.arange(at.FEATURES) + 1] += 0.25
        cuts += found_cut(sums)[0] >= 0
    assert cuts <= 10


def test_a_value_is_counted_in_its_bin_and_what_lies_outside_in_the_last() -> None:
    sums = np.zeros((at.BINS, 6), dtype=np.float32)
    bins = np.tile(np.array([-2.0, 8.0], dtype=np.float32), (3, 1))  # from -2 to 2
    x = np.array([0.0, -9.0, 9.0, 0.3], dtype=np.float32)
    asked = np.array([3, 1, 2], dtype=np.int32)
    count(sums, bins, asked, x, np.float32(0.5), np.float32(0.25))
    expected = np.zeros_like(sums)
    for f, b in enumerate((18, 0, at.BINS - 1)):
        expected[b, 2 * f : 2 * f + 2] = 0.5, 0.25
    assert np.array_equal(sums, expected)


def test_features_are_drawn_evenly_and_each_once() -> None:
    source, counts = np.array([5], dtype=np.int64), np.zeros(12)
    for _ in range(3_000):
        asked = np.zeros(4, dtype=np.int32)
        draw_features(source, 12, asked)
        assert len(set(asked.tolist())) == 4
        counts[asked] += 1
    assert ((counts - 1_000) ** 2 / 1_000).sum() < 31.3  # chi squared, one in a thousand


@pytest.mark.parametrize("known", [0, 2, 4])
def test_few_features_are_all_asked(known: int) -> None:
    asked = np.zeros(4, dtype=np.int32)
    draw_features(np.array([5], dtype=np.int64), known, asked)
    assert asked.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("classes", [3, 4, 9])
def test_half_of_the_classes_are_on_each_side(classes: int) -> None:
    source, total = np.array([5], dtype=np.int64), np.zeros(classes)
    for _ in range(500):
        sides = np.zeros(classes, dtype=np.float32)
        draw_sides(source, sides)
        assert np.abs(sides).tolist() == [1.0] * classes
        assert sides.sum() == classes % 2
        total += sides
    assert np.abs(total / 500 - classes % 2 / classes).max() < 0.2


def test_the_least_useful_of_the_old_trees_goes() -> None:
    born, use = np.array([0, 10, 500, 900]), np.array([0.5, 0.2, 0.3, -9.0])
    assert least_useful(use, born, kernel.GRACE + 100) == 1
    assert least_useful(use, born, kernel.GRACE + 2_000) == 3
    assert least_useful(use, born, kernel.GRACE - 1) == -1


@pytest.mark.parametrize("classes", [2, 4])
def test_trees_that_grow_and_begin_anew_are_the_oracles(classes: int) -> None:
    """Cuts are made, histograms run out, and at last a tree is a leaf again."""
    n = kernel.GRACE + kernel.PERIOD
    x, labels = corners(4, n, 3)
    labels = labels + 2 * (x[:, 2] > 0) if classes == 4 else labels
    kernels, oracle = Kernels(trees(), 3, classes), Oracle(trees(), 3, classes)
    seen, sizes = 0, []
    for begin, end in ((0, 300), (n - 300, n)):
        kernels.rows(x[seen:begin], labels[seen:begin])
        for row, label in zip(x[begin:end], labels[begin:end], strict=True):
            synced(oracle, kernels)
            both_learn(kernels, oracle, row, int(label), tolerance=1e-3)
        seen = end
        sizes.append(kernels.own["facts"][at.SIZE].copy())
    assert sizes[0].max() > 1, "a leaf was cut"
    assert sizes[1].max() == 15, "a tree has its size"
    assert np.count_nonzero(kernels.own["facts"][at.BORN]) == 1
    assert kernels.memory.sound()


@pytest.mark.parametrize("classes", [2, 4])
def test_while_steps_shrink_cuts_do_too_and_no_tree_begins_anew(classes: int) -> None:
    """What a tree said that ended then, none of the others could learn any more."""
    n = kernel.GRACE + kernel.PERIOD
    x, labels = corners(4, n, 3)
    labels = labels + 2 * (x[:, 2] > 0) if classes == 4 else labels
    kernels, oracle = Kernels(trees(), 3, classes), Oracle(trees(), 3, classes)
    (own,) = oracle.members
    assert isinstance(own, TreesOracle)
    own.left = 0.4
    trees().slow_down(kernels.own, own.left)
    for i, (row, label) in enumerate(zip(x, labels, strict=True)):
        if i < 300:
            synced(oracle, kernels)
            both_learn(kernels, oracle, row, int(label), tolerance=1e-3)
        else:
            kernels.learn(row, int(label), 1.0)
    assert kernels.own["facts"][at.SIZE].min() > 1
    assert not kernels.own["facts"][at.BORN].any()


def test_of_steps_without_length_nothing_is_learned() -> None:
    x, labels = corners(4, 400, 3)
    kernels = Kernels(trees(), 3, 2)
    kernels.rows(x[:200], labels[:200])
    trees().slow_down(kernels.own, 0.0)
    kept = [part.name for part in sections_of(at.TreesState) if part.where == "state"]
    before = {name: kernels.own[name].copy() for name in kept}
    kernels.rows(x[200:], labels[200:])
    for name in kept:
        np.testing.assert_array_equal(kernels.own[name], before[name], err_msg=name)
    trees().go_live(kernels.own)
    kernels.rows(x[200:], labels[200:])
    assert kernels.own["running"][at.SEEN] == 400


@pytest.mark.parametrize("classes", [2, 5])
def test_of_many_features_some_are_drawn_and_others_later(classes: int) -> None:
    x, labels = stream(4, 500, at.FEATURES + 5, classes)
    kernels, oracle = Kernels(trees(), x.shape[1], classes), Oracle(trees(), x.shape[1], classes)
    kernels.rows(x[:1], labels[:1])
    first = kernels.own["asked"].copy()
    for row, label in zip(x[1:], labels[1:], strict=True):
        synced(oracle, kernels)
        both_learn(kernels, oracle, row, int(label), tolerance=1e-3)
    assert (kernels.own["asked"] != first).any()
    assert len(np.unique(kernels.own["asked"])) > at.FEATURES


@pytest.mark.parametrize("classes", [2, 4])
def test_it_learns_corners_that_no_line_cuts_off(classes: int) -> None:
    x, labels = corners(0, 4_000)
    if classes == 4:
        labels = (x[:, 0] > 0.3).astype(np.int64) + 2 * (x[:, 1] > -0.2)
    _, likeliest = Kernels(Trees(), 2, classes).rows(x, labels)
    assert (likeliest == labels)[-1_000:].mean() > 0.95


def test_a_concept_that_changes_is_learned_anew() -> None:
    x, labels = corners(0, 8_000)
    labels[4_000:] = (x[4_000:, 0] > -0.5) ^ (x[4_000:, 1] > 0.6)
    _, likeliest = Kernels(Trees(), 2, 2).rows(x, labels)
    assert (likeliest == labels)[-1_000:].mean() > 0.93


def test_a_tree_has_no_more_leaves_than_it_may() -> None:
    kernels = Kernels(trees(n_leaves=4), 2, 2)
    kernels.rows(*corners(0, 3_000))
    assert kernels.own["facts"][at.SIZE].max() == 7
    assert kernels.memory.sound()


def test_a_record_of_weight_2_is_nearly_two_records() -> None:
    x, labels = corners(0, 2_000)
    heavy, twice = Kernels(trees(), 2, 2), Kernels(trees(), 2, 2)
    heavy.rows(x, labels, np.full(len(x), 2.0))
    twice.rows(np.repeat(x, 2, axis=0), np.repeat(labels, 2))
    for one in (heavy, twice):
        test, truth = corners(1, 1_000)
        _, likeliest = one.rows(test, np.full(len(test), -1))
        assert (likeliest == truth).mean() > 0.93


def test_a_record_of_no_weight_teaches_nothing() -> None:
    x, labels = corners(0, 300)
    kernels = Kernels(trees(), 2, 2)
    kernels.rows(x, labels, np.zeros(len(x)))
    assert not kernels.own["values"].any()
    assert not kernels.own["sums"].any()


def test_answers_change_nothing() -> None:
    x, labels = corners(0, 300)
    kernels = Kernels(trees(), 2, 2)
    kernels.rows(x, labels)
    before = kernels.words()
    kernels.rows(x, np.full(len(x), -1))
    assert np.array_equal(kernels.words(), before)


def test_each_seed_draws_other_features() -> None:
    x, labels = stream(0, 60, 30, 2)
    asked = []
    for seed in (1, 1, 2):
        kernels = Kernels(trees(seed=seed), 30, 2)
        kernels.rows(x, labels)
        asked.append(kernels.own["asked"].tolist())
    assert asked[0] == asked[1] != asked[2]


@pytest.mark.parametrize("classes", [2, 4])
def test_the_account_of_a_score_is_that_score(classes: int) -> None:
    x, labels = corners(0, 1_500, 3)
    labels = labels + 2 * (x[:, 2] > 0) if classes == 4 else labels
    kernels = Kernels(Trees(), 3, classes)
    kernels.rows(x, labels)
    asked: int = 0
    for row in x[:50]:
        kernels.predict(row)
        z = kernels.memory.views(0)["z"][0, 0, :3].astype(float)
        parts = Trees().parts(kernels.own, z)
        total = parts.of_features.sum(axis=2) + parts.rest
        np.testing.assert_allclose(total, kernels.scores, atol=1e-5)
        asked += int(np.count_nonzero(parts.of_features[1].any(axis=0)))
    assert asked > 50


@pytest.mark.parametrize("classes", [2, 4])
def test_beside_others_it_says_nothing_before_it_has_asked_something(classes: int) -> None:
    x, labels = corners(0, 600, 3)
    labels = labels + 2 * (x[:, 2] > 0) if classes == 4 else labels
    of = Trees(eager=False)
    kernels = Kernels(of, 3, classes)
    silent = 0
    for row, label in zip(x, labels, strict=True):
        kernels.learn(row, int(label))
        kernels.predict(row)
        asked = kernels.own["leaves"].any()
        assert kernels.scores.any() == asked
        silent += not asked
        z = kernels.memory.views(0)["z"][0, 0, :3].astype(float)
        parts = of.parts(kernels.own, z)
        total = parts.of_features.sum(axis=2) + parts.rest
        np.testing.assert_allclose(total, kernels.scores, atol=1e-5)
    assert 20 <= silent < 300


def test_what_no_tree_asks_for_has_no_part() -> None:
    rng = np.random.default_rng(0)
    x = np.column_stack([rng.uniform(-1, 1, 3_000), np.zeros(3_000)])
    kernels = Kernels(Trees(), 2, 2)
    kernels.rows(x, (x[:, 0] > 0.2).astype(np.int64))
    kernels.predict(np.array([0.9, 0.0]))
    parts = Trees().parts(kernels.own, kernels.memory.views(0)["z"][0, 0, :2].astype(float))
    assert (parts.of_features[:, 0, 1] == 0).all()
    assert (parts.of_features[:, 0, 0] > 1).all(), "it speaks for the second class"
