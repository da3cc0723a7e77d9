"""Machines: raw and averaged weights kept in two parts are what plain ones would be."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from stream_llsvm.members.anchors import machines
from stream_llsvm.members.anchors.state import ETA, PUSH
from tests.kernels.alone import alone
from tests.oracle_parts import Array

average = alone(machines.average)
descend = alone(machines.descend)
heights_of = alone(machines.heights_of)
inherit = alone(machines.inherit)
shrink = alone(machines.shrink)

NOTHING = np.zeros(0, dtype=np.int64)


class Both:
    """The two parts as the kernels keep them, beside plain raw and averaged weights."""

    def __init__(self, machines: int, rungs: int, columns: int, width: int) -> None:
        self.rungs, self.columns = rungs, columns
        half = rungs * columns
        self.raw_scale = np.ones(rungs)
        self.keep = np.ones((machines, rungs), dtype=np.float32)
        self.gain = np.ones(machines, dtype=np.float32)
        self.weights = np.zeros((machines, 2 * half, width), dtype=np.float32)
        self.biases = np.zeros((machines, 2 * half), dtype=np.float32)
        self.plain = np.zeros((machines, 2, half, width))
        self.plain_biases = np.zeros((machines, 2, half))

    def state(self, sums: Any = None) -> Any:
        """Return what kernels see of it."""
        return machines.Machines(
            columns=self.columns,
            rungs=self.rungs,
            averaged=True,
            raw_scale=self.raw_scale,
            keep=self.keep,
            gain=self.gain,
            weights=self.weights,
            biases=self.biases,
            sums=np.zeros((3, self.biases.shape[1]), dtype=np.float32) if sums is None else sums,
        )

    def step(self, a: int, share: float, etas: Array, push: Array, x: Array) -> None:
        sums = np.zeros((3, self.biases.shape[1]), dtype=np.float32)
        sums[PUSH, : push.size], sums[ETA, : etas.size] = push, etas
        descend(self.state(sums), a, np.float32(share), x.astype(np.float32), NOTHING, 1.5)
        steps = np.repeat(etas, self.columns) * push * share
        self.plain[a, 0] += np.outer(steps, x)
        self.plain_biases[a, 0] += 1.5 * steps  # a bias goes farther if it is told to

    def average(self, a: int, rate: float) -> None:
        average(self.state(), a, np.float32(rate))
        for part in (self.plain, self.plain_biases):
            part[a, 1] += rate * (part[a, 0] - part[a, 1])

    def shrink(self, r: int, factor: float) -> None:
        shrink(self.state(), r, factor)
        self.plain[:, 0, r * self.columns : (r + 1) * self.columns] *= factor

    def inherit(self, a: int, near: NDArray[np.int64], code: Array) -> None:
        inherit(self.state(), a, near, code.astype(np.float32))
        self.plain[a] = np.einsum("j,j...->...", code, self.plain[near])
        self.plain_biases[a] = np.einsum("j,j...->...", code, self.plain_biases[near])

    def compare(self, x: Array, near: NDArray[np.int64], code: Array, tolerance: float) -> None:
        """Through the scores, which is all that anybody sees."""
        wide = self.biases.shape[1]
        heights = np.zeros((len(near), wide), dtype=np.float32)
        out = np.zeros(wide, dtype=np.float32)
        codes, x4 = code.astype(np.float32), x.astype(np.float32)
        heights_of(self.state(), near, codes, x4, NOTHING, heights, out)
        expected = (self.plain[near] @ x + self.plain_biases[near]).reshape(len(near), -1)
        size = np.abs(expected).max(initial=1e-3)
        np.testing.assert_allclose(heights, expected, rtol=tolerance, atol=tolerance * size)
        np.testing.assert_allclose(out, code @ expected, rtol=tolerance, atol=tolerance * size)


@pytest.mark.parametrize(
    ("shrinking", "rate"),
    [(1.0, 0.02), (0.999, 0.02), (0.97, 0.02), (0.5, 0.02), (1.0, 0.9), (0.97, 1.0)],
    ids=["plain", "slow", "fast", "violent", "quick average", "average is raw"],
)
def test_two_parts_are_what_plain_weights_would_be(shrinking: float, rate: float) -> None:
    """Long enough for every scale to be folded many times, and for machines to lie idle."""
    rng = np.random.default_rng(0)
    m, rungs, columns, width = 4, 2, 3, 5
    both = Both(m, rungs, columns, width)
    for i in range(600):
        x, near = rng.normal(size=width), rng.permutation(m)[:2]
        if i % 200 < 150:
            near = near[near != 3]  # machine 3 sleeps most of the time
        for a in near:
            both.average(int(a), rate * float(rng.uniform(0.5, 1)))
            push, etas = rng.normal(size=rungs * columns), np.array([0.1, 0.5])
            both.step(int(a), float(rng.uniform()), etas, push, x)
        both.shrink(1, shrinking)
        both.compare(rng.normal(size=width), np.arange(m), np.array([0.4, 0.3, 0.2, 0.1]), 2e-3)


def test_the_average_stays_when_the_raw_weights_step_or_shrink() -> None:
    both = Both(1, 1, 1, 3)
    x = np.array([1.0, -2.0, 0.5])
    both.step(0, 1.0, np.array([0.3]), np.array([1.0]), x)
    both.average(0, 0.5)
    for _ in range(20):
        both.step(0, 1.0, np.array([0.3]), np.array([1.0]), x)
        both.shrink(0, 0.9)
    half = both.plain[0, 1].copy()
    np.testing.assert_allclose(half[0], 0.15 * x)
    both.compare(x, np.array([0]), np.array([1.0]), 1e-5)


def test_an_heir_scores_as_the_blend_it_comes_from() -> None:
    rng = np.random.default_rng(1)
    both = Both(3, 2, 1, 4)
    for a in (0, 1):
        for _ in range(5):
            both.average(a, 0.3)
            both.step(a, 1.0, np.array([0.2, 0.7]), rng.normal(size=2), rng.normal(size=4))
    both.shrink(1, 0.8)
    both.inherit(2, np.array([0, 1]), np.array([0.25, 0.75]))
    both.compare(rng.normal(size=4), np.arange(3), np.array([0.2, 0.2, 0.6]), 1e-5)
    both.average(2, 0.4)
    both.step(2, 1.0, np.array([0.2, 0.7]), rng.normal(size=2), rng.normal(size=4))
    both.compare(rng.normal(size=4), np.arange(3), np.array([0.2, 0.2, 0.6]), 1e-5)
