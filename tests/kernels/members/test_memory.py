"""The memory: finding the nearest, counting their votes, and forgetting."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_llsvm.kernels.members import memory as kernel
from stream_llsvm.kernels.members.memory import GROUPS, smallest, subtract_products, vote
from tests.oracle_compare import NOTHING, Kernels, remembered, stream
from tests.oracle_parts import Array


def _smallest(distance: Array, k: int) -> tuple[list[int], list[float]]:
    near, nearest = np.full(k, -7), np.zeros(k, dtype=np.float32)
    least = np.zeros(GROUPS, dtype=np.float32)
    smallest(distance.astype(np.float32), least, near, nearest)
    return near.tolist(), nearest.tolist()


@given(
    seed=st.integers(0, 10_000),
    n=st.one_of(st.integers(1, 40), st.integers(GROUPS * 2 - 2, GROUPS * 2 + 2), st.just(500)),
    k=st.integers(1, kernel.NEAREST),
    values=st.sampled_from([1, 3, 10**6]),
)
def test_the_smallest_are_what_sorting_finds(seed: int, n: int, k: int, values: int) -> None:
    """Also among many equal ones, where each place is named once."""
    distance = np.random.default_rng(seed).integers(0, values, n) / 8.0
    k = min(k, n)
    near, nearest = _smallest(distance, k)
    assert nearest == np.sort(distance)[:k].astype(np.float32).tolist()
    assert len(set(near)) == k
    assert distance[near].astype(np.float32).tolist() == nearest


def test_the_smallest_may_all_lie_in_one_group() -> None:
    n = GROUPS * 5 + 3
    distance = np.full(n, 100.0)
    places = np.arange(5, n, GROUPS)
    distance[places] = np.arange(len(places))
    near, _ = _smallest(distance, len(places))
    assert near == places.tolist()


@pytest.mark.parametrize("form", ["dense", "sparse"])
@pytest.mark.parametrize("n", range(10))
def test_products_are_numpys_four_at_a_time_or_not(n: int, form: str) -> None:
    rng = np.random.default_rng(n)
    store = rng.normal(size=(12, 50)).astype(np.float32)
    factors = rng.normal(size=n).astype(np.float32)
    at = np.sort(rng.permutation(12)[:n]) if form == "sparse" else NOTHING
    rows = at if form == "sparse" else np.arange(n)
    distance = np.full(50, 20, dtype=np.float32)
    subtract_products(store, factors, at, distance)
    expected = np.maximum(0, 20 - factors.astype(float) @ store[rows].reshape(n, 50))
    np.testing.assert_allclose(distance, expected, rtol=1e-4, atol=1e-4)


def _votes(labels: list[int], distances: list[float], classes: int, columns: int) -> Array:
    k = len(labels)
    facts = np.zeros((3, k))
    facts[kernel.LABEL], facts[kernel.WORTH] = labels, 1
    out = np.zeros((len(kernel.VOTERS), columns), dtype=np.float32)
    tally = np.zeros((len(kernel.VOTERS), classes))
    squared = np.square(np.array(distances)).astype(np.float32)
    vote(np.arange(k), squared, facts, tally, out)
    return out.astype(float)


def test_an_expert_asks_as_many_as_it_is_said_to() -> None:
    """The nearest is of class 2; of the nearest five it is the only one."""
    labels = [2, 0, 0, 0, 0] + [1] * 15
    told = _votes(labels, [0.5] + [1.0] * 19, 3, 3)
    assert told.argmax(axis=1).tolist() == [2, 0, 1]


def test_scores_are_log_shares_of_votes_by_nearness() -> None:
    told = _votes([0, 1, 1, 0, 2], [0.5, 1.0, 2.0, 2.0, 4.0], 4, 4)[-1]
    votes = np.array([2 + 0.5, 1 + 0.5, 0.25, 0])
    expected = np.log(votes / votes.sum() + kernel.FLOOR)
    np.testing.assert_allclose(told, expected, rtol=2e-3)
    assert told[3] == pytest.approx(kernel.NOBODY)


def test_two_classes_share_a_score() -> None:
    told = _votes([1, 0, 1], [1.0, 1.0, 2.0], 2, 1)[1, 0]
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
        assert kernels.scores[1, 0] == pytest.approx(expected, abs=1e-3)


def test_only_the_last_records_are_remembered() -> None:
    kernels = Kernels(remembered(window=10), 2, 2, standardize=False)
    x, labels = stream(0, 37, 2, 2)
    kernels.rows(x, labels)
    kept = kernels.own["store"].T
    assert sorted(kept.tolist()) == sorted(x[-10:].astype(np.float32).tolist())
    assert sorted(kernels.own["facts"][kernel.STAMP].tolist()) == list(range(28, 38))


def test_nobody_votes_in_an_empty_memory() -> None:
    kernels = Kernels(remembered(), 2, 3)
    kernels.predict(np.zeros(2))
    assert (kernels.scores == 0).all()


def test_a_remembered_record_is_recognised() -> None:
    """By the expert that asks the nearest only; whom the mixer believes is another matter."""
    kernels = Kernels(remembered(window=200), 3, 4, standardize=False)
    x, _ = stream(1, 150, 3, 4)
    labels = np.random.default_rng(0).integers(0, 4, 150)  # nothing but memory can know these
    kernels.rows(x, labels)
    told = []
    for row in x:
        kernels.predict(row)
        told.append(int(kernels.scores[0].argmax()))
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
