"""The memory: finding the nearest, counting their votes, and forgetting."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from stream_llsvm.kernels.scaling import ABSENT
from stream_llsvm.members.neighbours import kernel
from tests.kernels.alone import alone
from tests.oracle_compare import Kernels, remembered, stream
from tests.oracle_parts import Array

count, vote = alone(kernel.count), alone(kernel.vote)


def hard(n: int) -> tuple[NDArray[np.int64], int]:
    """Return labels, and how many there are, of which no five neighbours have the same."""
    classes = n // (kernel.AGREEING - 1) + 2
    return np.arange(n) % classes, classes


def grown_up(kernels: Kernels) -> None:
    """Let the memory have seen what it forgets once it has seen so many."""
    kernels.own["running"][kernel.SEEN] = kernel.YOUNG


def _asked(stored: Array, x: Array, *, sparse: bool = False) -> tuple[list[int], Array]:
    """Return which of the stored records the kernel finds nearest, and their squared distances."""
    n, width = stored.shape
    labels, classes = hard(n)
    kernels = Kernels(remembered(window=n, learns_metric=False), width, classes, standardize=False)
    grown_up(kernels)
    kernels.rows(stored, labels)
    if sparse:
        kernels.sparse(x, -1)
    else:
        kernels.predict(x)
    found = int(kernels.own["found"][0])
    return kernels.own["near"][:found].tolist(), kernels.own["nearest"][:found].astype(float)


@settings(max_examples=60)
@given(
    seed=st.integers(0, 10_000),
    n=st.one_of(st.integers(1, 130), st.integers(250, 260), st.just(700)),
    values=st.sampled_from([1, 2, 5, 1_000]),
)
def test_the_nearest_are_what_sorting_finds(seed: int, n: int, values: int) -> None:
    """Also among many that are equally far, where each has one vote."""
    stored = np.random.default_rng(seed).integers(0, values, (n, 1)) / 8.0
    near, nearest = _asked(stored, np.zeros(1))
    distance = stored[:, 0] ** 2
    k = min(n, kernel.NEAREST)
    assert len(set(near)) == len(near) == k
    np.testing.assert_allclose(nearest, np.sort(distance)[:k], rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(distance[near], nearest, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("n", [40, 64, 300, 333])
@pytest.mark.parametrize("apart", [1, 32, 64])
def test_the_nearest_may_lie_anywhere(apart: int, n: int) -> None:
    """Side by side, or as far apart in the window as a search by groups could be confused by."""
    stored = np.full((n, 2), 50.0)
    places = np.arange(5, n, apart)[:30]
    stored[places] = np.arange(len(places))[:, None]
    near, _ = _asked(stored, np.zeros(2))
    assert near[: len(places)] == places[: len(near)].tolist()


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("width", range(1, 10))
def test_distances_are_numpys_however_many_features(width: int, sparse: bool) -> None:
    rng = np.random.default_rng(width)
    stored, x = rng.normal(size=(50, width)), rng.normal(size=width)
    if sparse:
        x[::3] = ABSENT
    near, nearest = _asked(stored, x, sparse=sparse)
    told = np.where(x == ABSENT, 0, x)
    distance = ((stored - told) ** 2).sum(axis=1)
    np.testing.assert_allclose(nearest, np.sort(distance)[: kernel.NEAREST], rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(distance[near], nearest, rtol=1e-4, atol=1e-4)


def _votes(
    labels: list[int],
    distances: list[float],
    classes: int,
    columns: int,
    ages: list[float] | None = None,
) -> Array:
    """Return the scores of neighbours of these ages, counted in spans."""
    k, now, span = len(labels), 1e4, 500.0
    facts = np.zeros((3, k))
    facts[kernel.LABEL], facts[kernel.WORTH] = labels, 1
    facts[kernel.STAMP] = now - span * np.array(ages or [0.0] * k)
    out = np.zeros((kernel.EXPERTS, columns), dtype=np.float32)
    tally = np.zeros((kernel.EXPERTS, classes))
    counts = np.zeros((kernel.EXPERTS, kernel.NEAREST), dtype=np.float32)
    squared = np.square(np.array(distances)).astype(np.float32)
    count(np.arange(k), squared, facts, now, span, counts)
    vote(np.arange(k), counts, facts, tally, out)
    return out.astype(float)


def test_experts_differ_in_whom_they_ask() -> None:
    """Of class 2 is the nearest, of class 0 the latest of those beside it, of class 1 the most."""
    labels = [2] + [0] * 4 + [1] * 15
    told = _votes(labels, [0.7] + [1.0] * 19, 3, 3, [3.0] + [0.0] * 4 + [3.0] * 15)
    assert told.argmax(axis=1).tolist() == [2, 0, 1]


@pytest.mark.parametrize("apart", [1.0, 3.0])
def test_the_closest_are_many_where_many_are_alike(apart: float) -> None:
    """The nearest, of class 1, is asked alone only if it is much nearer than the others."""
    told = _votes([1, 0, 0, 0, 0], [1.0] + [apart] * 4, 2, 1)[kernel.CLOSEST, 0]
    assert (told > 0) == (apart > 2)


def test_votes_of_any_age_and_distance_are_counted() -> None:
    """Neither what was never seen before nor what is older than all time gives no number."""
    for ages in ([0.0, 1e300, -1e300], [1e300] * 3, [-5.0] * 3):
        for distances in ([0.0, 0.0, 0.0], [0.0, 1e9, 1e9], [1e9, 1e9, 1e9]):
            assert np.isfinite(_votes([0, 1, 1], distances, 2, 1, ages)).all()


def test_scores_are_log_shares_of_votes_by_nearness() -> None:
    told = _votes([0, 1, 1, 0, 2], [0.5, 1.0, 2.0, 2.0, 4.0], 4, 4)[-1]
    votes = np.array([2 + 0.5, 1 + 0.5, 0.25, 0])
    expected = np.log(votes / votes.sum() + kernel.FLOOR)
    np.testing.assert_allclose(told, expected, rtol=2e-3)
    assert told[3] == pytest.approx(kernel.NOBODY)


def test_two_classes_share_a_score() -> None:
    told = _votes([1, 0, 1], [1.0, 1.0, 2.0], 2, 1)[kernel.ALL, 0]
    yes = 1.5 / 2.5
    expected = math.log(yes + kernel.FLOOR) - math.log(1 - yes + kernel.FLOOR)
    assert told == pytest.approx(expected, rel=2e-3)


def test_a_heavier_record_has_more_of_a_vote() -> None:
    for weight in (1.0, 5.0):
        kernels = Kernels(remembered(learns_metric=False), 1, 2, standardize=False)
        kernels.rows(np.array([[1.0], [-1.0]]), np.array([0, 1]), np.array([weight, 1.0]))
        kernels.predict(np.array([0.0]))
        share = (weight + 0.0) / (weight + 1)
        expected = math.log(1 - share + kernel.FLOOR) - math.log(share + kernel.FLOOR)
        assert kernels.scores[kernel.ALL, 0] == pytest.approx(expected, abs=1e-3)


def test_only_the_last_records_are_remembered() -> None:
    labels, classes = hard(37)
    kernels = Kernels(remembered(window=10), 2, classes, standardize=False)
    x, _ = stream(0, 37, 2, 2)
    kernels.rows(x, labels)
    kept = kernels.own["store"].T
    assert sorted(kept.tolist()) == sorted(x[-10:].astype(np.float32).tolist())
    assert sorted(kernels.own["facts"][kernel.STAMP].tolist()) == list(range(28, 38))


@pytest.mark.parametrize("window", [1, 7, 19, 20, 21, 500])
@pytest.mark.parametrize("learns", [False, True])
def test_a_young_memory_forgets_once(window: int, learns: bool) -> None:
    """With the first few guesses of the scales, records lay where none will lie again."""
    labels, classes = hard(60)
    kernels = Kernels(remembered(window=window, learns_metric=learns), 2, classes)
    x, _ = stream(0, 60, 2, 2)
    for seen, (row, label) in enumerate(zip(x, labels, strict=True), 1):
        kernels.learn(row, int(label))
        own = kernels.own
        held, head = (int(own["running"][which]) for which in (kernel.HELD, kernel.HEAD))
        since = seen if seen < kernel.YOUNG else seen - kernel.YOUNG + 1
        assert (held, head) == (min(window, since), since % window)
        stamps = sorted(own["facts"][kernel.STAMP, :held].tolist())
        assert stamps == list(range(seen - held + 1, seen + 1))


def test_a_young_memory_may_have_nothing_left() -> None:
    """If the record that it forgets at is an easy one, which is not kept either."""
    kernels = Kernels(remembered(), 2, 2)
    x, _ = stream(0, kernel.YOUNG, 2, 2)
    assert kernel.YOUNG % kernel.EASY_ONE_IN != 0
    kernels.rows(x, np.ones(kernel.YOUNG, dtype=np.int64))
    assert kernels.own["running"][kernel.HELD] == 0
    kernels.predict(x[0])
    assert (kernels.scores == 0).all()
    kernels.learn(x[0], 1)
    assert kernels.own["running"][kernel.HELD] == 1


def test_of_records_that_are_easy_only_some_are_kept() -> None:
    """Two heaps far apart: once each has five records, one more in eight is remembered."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 400)
    x = np.where(labels == 1, 5.0, -5.0)[:, None] + 0.1 * rng.normal(size=(400, 2))
    kernels = Kernels(remembered(window=500), 2, 2, standardize=False)
    grown_up(kernels)
    kernels.rows(x, labels)
    held = kernels.own["running"][kernel.HELD]
    assert 400 / kernel.EASY_ONE_IN <= held <= 400 / kernel.EASY_ONE_IN + 2 * kernel.AGREEING
    stamps = kernels.own["facts"][kernel.STAMP, : int(held)]
    assert (stamps[2 * kernel.AGREEING + 3 :] % kernel.EASY_ONE_IN == 0).all()


def test_a_record_that_surprises_is_kept() -> None:
    rng = np.random.default_rng(0)
    kernels = Kernels(remembered(window=500), 2, 3, standardize=False)
    kernels.rows(rng.normal(size=(100, 2)), np.zeros(100, dtype=np.int64))
    before = kernels.own["running"][kernel.HELD]
    kernels.rows(rng.normal(size=(4, 2)), np.array([1, 1, 2, 1]))
    assert kernels.own["running"][kernel.HELD] == before + 4


def test_nobody_votes_in_an_empty_memory() -> None:
    kernels = Kernels(remembered(), 2, 3)
    kernels.predict(np.zeros(2))
    assert (kernels.scores == 0).all()


def test_a_remembered_record_is_recognised() -> None:
    """By the expert that asks the closest; whom the mixer believes is another matter."""
    labels, classes = hard(150)  # nothing but memory can know these
    kernels = Kernels(remembered(window=200), 3, classes, standardize=False)
    grown_up(kernels)
    x, _ = stream(1, 150, 3, 4)
    kernels.rows(x, labels)
    told = []
    for row in x:
        kernels.predict(row)
        told.append(int(kernels.scores[kernel.CLOSEST].argmax()))
    assert told == labels.tolist()


def test_the_metric_finds_the_features_that_matter() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(3_000, 10))
    labels = (x[:, 0] * x[:, 1] > 0).astype(np.int64)
    right = []
    for learns in (True, False):
        kernels = Kernels(remembered(window=1_000, learns_metric=learns), 10, 2)
        _, likeliest = kernels.rows(x, labels)
        right.append((likeliest == labels)[-1_500:].mean())
        scale = kernels.own["scale"]
        if learns:
            assert scale[:2].min() > 1.5 * scale[2:].max()
        else:
            assert (scale == 1).all()
    assert right[0] > right[1] + 0.05


def test_norms_do_not_drift_in_a_long_stream() -> None:
    kernels = Kernels(remembered(window=100), 5, 3)
    kernels.rows(*stream(2, 5_000, 5, 3))
    own = kernels.own
    norms = own["ruler"].astype(float) @ own["store"].astype(float) ** 2
    np.testing.assert_allclose(own["norms"], norms, rtol=1e-4)
