"""The metric: its step is the gradient of the soft vote's log loss, by finite differences."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from stream_llsvm.kernels import metric
from stream_llsvm.kernels.metric import FADE, FARTHEST, LARGEST, LEAST, MOST, RATE, SMALLEST
from tests.kernels.alone import alone

learn_metric = alone(metric.learn_metric)
neighbour_gradient = alone(metric.neighbour_gradient)

Array = NDArray[Any]


class Vote:
    """A record among its neighbours, and a metric."""

    def __init__(self, seed: int, k: int = 12, width: int = 6, spread: float = 1.0) -> None:
        rng = np.random.default_rng(seed)
        self.scale = rng.uniform(0.5, 1.5, width).astype(np.float32)
        self.effort = np.zeros(width)
        self.x = rng.normal(size=width).astype(np.float32)
        self.store = (spread * rng.normal(size=(width, k + 5))).astype(np.float32)
        self.same = (rng.random(k) < 0.5).astype(np.int64)
        self.beta = 0.2
        d = self.squared(self.scale)
        self.near = np.argsort(d)[:k]

    def squared(self, scale: Array) -> Array:
        """Return d(x, v) to every record of the store."""
        apart = self.x[:, None].astype(float) - self.store
        return np.asarray(scale.astype(float) ** 2 @ apart**2)

    def log_p(self, scale: Array) -> float:
        """Return the log of the label's share of the soft vote."""
        votes = np.exp(-self.beta * self.squared(scale)[self.near])
        return math.log(votes[self.same == 1].sum() / votes.sum())

    def gradient(self) -> Array:
        """Return d log p / d a by finite differences."""
        found = np.zeros(len(self.scale))
        for i in range(len(found)):
            step = np.where(np.arange(len(found)) == i, 1e-5, 0)
            scale = self.scale.astype(float)
            found[i] = (self.log_p(scale + step) - self.log_p(scale - step)) / 2e-5
        return found

    def learn(self, importance: float = 1.0) -> tuple[Array, Array] | None:
        """Take the step; returns the metric before and after, unless nothing is to be learned."""
        lessons = np.zeros(len(self.near))
        nearest = self.squared(self.scale)[self.near].astype(np.float32)
        if not neighbour_gradient(nearest, self.same, self.beta, lessons):
            return None
        before = self.scale.copy()
        learn_metric(
            self.scale, self.effort, self.x, self.store, self.near, lessons, self.beta, importance
        )
        return before, self.scale


@pytest.mark.parametrize("seed", range(8))
def test_the_step_follows_the_soft_votes_gradient(seed: int) -> None:
    """With nothing behind it, the effort is the squared gradient: up to one factor for all."""
    vote = Vote(seed)
    apart = vote.x[:, None] - vote.store[:, vote.near]
    assert vote.beta * (apart**2).max() < FARTHEST, "what is farther counts as this far"
    expected = vote.gradient()
    told = vote.learn()
    assert told is not None
    gradient = np.sqrt(vote.effort) * np.sign(expected)
    factor = float(gradient @ expected / (expected @ expected))
    assert factor > 0
    np.testing.assert_allclose(gradient, factor * expected, rtol=1e-3, atol=1e-5)
    # The direction, up to the root mean square's being brought back to 1.
    stepped = told[0] + RATE * gradient / np.sqrt(vote.effort + 1e-6)
    stepped = np.clip(stepped, SMALLEST, LARGEST)
    np.testing.assert_allclose(told[1], stepped / np.sqrt((stepped**2).mean()), rtol=1e-4)


@pytest.mark.parametrize("seed", range(8))
def test_a_step_makes_the_label_likelier(seed: int) -> None:
    """Measured at the metric's own size, since only proportions are learned."""
    vote = Vote(seed)
    vote.scale /= np.sqrt((vote.scale**2).mean())
    vote.effort[:] = 1e4  # a step too short to go too far
    before = vote.log_p(vote.scale)
    told = vote.learn()
    assert told is not None
    # Bringing the size back to 1 takes its part of the gradient away.
    slope = vote.gradient()
    along = slope - (slope @ told[0]) * told[0] / (told[0] @ told[0])
    if np.abs(along).max() > 0.05:
        assert vote.log_p(vote.scale) > before - 1e-7


def test_past_gradients_fade_and_shorten_the_step() -> None:
    fresh, tired = Vote(1), Vote(1)
    tired.effort[:] = 100.0
    for vote in (fresh, tired):
        assert vote.learn() is not None
    np.testing.assert_allclose(tired.effort, FADE * 100 + fresh.effort, rtol=1e-6)
    start = Vote(1).scale
    start /= np.sqrt((start**2).mean())
    moved = [np.abs(vote.scale - start).max() for vote in (fresh, tired)]
    assert moved[1] < moved[0] / 10


def test_a_record_of_no_weight_changes_no_proportion() -> None:
    vote = Vote(2)
    told = vote.learn(importance=0.0)
    assert told is not None
    np.testing.assert_allclose(told[1] / told[1][0], told[0] / told[0][0], rtol=1e-6)


@pytest.mark.parametrize("kinds", ["all", "none", "one far away"])
def test_neighbours_of_one_kind_have_nothing_to_teach(kinds: str) -> None:
    vote = Vote(3)
    vote.same[:] = 1 if kinds == "all" else 0
    if kinds == "one far away":
        vote.same[-1] = 1
        vote.beta = 1e3
        shares = np.exp(-vote.beta * np.ptp(vote.squared(vote.scale)[vote.near]))
        assert shares < LEAST < MOST
    before = vote.scale.copy(), vote.effort.copy()
    assert vote.learn() is None
    assert np.array_equal(vote.scale, before[0]) and np.array_equal(vote.effort, before[1])


def test_a_feature_that_tells_kinds_apart_gains() -> None:
    """Neighbours of the label agree with the record in the first feature only."""
    rng = np.random.default_rng(0)
    vote = Vote(0, k=20, width=4)
    vote.scale[:] = 1
    for _ in range(300):
        vote.x[:] = rng.normal(size=4)
        vote.same[:] = np.arange(20) % 2
        vote.store[:] = rng.normal(size=vote.store.shape)
        vote.near = np.arange(20)
        vote.store[0, :20] = vote.x[0] + np.where(vote.same == 1, 0.1, 1.0) * rng.normal(size=20)
        d = vote.squared(vote.scale)
        order = np.argsort(d[:20])
        vote.near, vote.same = order, vote.same[order]
        vote.learn()
    assert vote.scale[0] == vote.scale.max() > 1.5


@settings(max_examples=60)
@given(
    seed=st.integers(0, 10_000),
    spread=st.sampled_from([0.0, 1e-6, 1.0, 1e3, 1e6]),
    beta=st.sampled_from([1e-9, 1.0, 1e4]),
    importance=st.sampled_from([0.0, 1e-6, 1.0]),
)
def test_the_metric_stays_finite_and_of_size_one(
    seed: int, spread: float, beta: float, importance: float
) -> None:
    vote = Vote(seed, spread=spread)
    vote.beta = beta
    for _ in range(3):
        if vote.learn(importance) is not None:
            assert np.isfinite(vote.scale).all() and (vote.scale > 0).all()
            assert np.sqrt((vote.scale**2).mean()) == pytest.approx(1, rel=1e-5)
        assert np.isfinite(vote.effort).all()
