"""The bank's kernel beside the oracle, and its steps beside slopes that were measured."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from stream_llsvm.kernels import bank as kernels
from stream_llsvm.model.bank import Bank
from stream_llsvm.model.rows import Rows
from stream_llsvm.records.rows import Row, as_sparse, dense
from tests.kernels.alone import alone
from tests.oracle_bank import BankOracle, soft
from tests.oracle_parts import Array

N, FEATURES, KEYS = 600, 4, 9
learn_trust, learn_key = alone(kernels.learn_trust_in_key), alone(kernels.learn_key)


def stream(classes: int) -> tuple[Array, Array, np.ndarray, np.ndarray, list[str]]:
    rng = np.random.default_rng(classes)
    x = rng.normal(size=(N, FEATURES))
    proba = rng.dirichlet(np.ones(classes), N)
    labels = np.where(rng.random(N) < 0.2, -1, rng.integers(0, classes, N))
    keys = [f"k{i}" for i in rng.zipf(1.5, N) % KEYS]
    return x, proba, labels, rng.uniform(0.5, 2.0, N), keys


def taken(
    bank: Bank, row: Row, rows: tuple[Any, ...], keys: list[str], *, scaled: bool = False
) -> Array:
    labels, weights, proba = rows
    told = proba.copy(), np.zeros(len(keys), dtype=np.int64)
    flat = row._replace(values=row.values.reshape(-1))
    bank.take(Rows(*flat, labels, weights, *told), keys, standardize=scaled)
    assert (told[1] == told[0].argmax(axis=1)).all()
    corrected: Array = told[0]
    return corrected


@pytest.mark.parametrize("classes", [2, 3, 5])
def test_it_does_as_the_oracle(classes: int) -> None:
    x, proba, labels, weights, keys = stream(classes)
    bank, oracle = Bank(None, 64), BankOracle(FEATURES, classes)
    bank.grow(FEATURES, classes)
    told = taken(bank, dense(x), (labels, weights, proba), keys)
    for q in range(N):
        label = None if labels[q] < 0 else int(labels[q])
        expected = oracle.take(keys[q], x[q], proba[q], label, float(weights[q]))
        np.testing.assert_allclose(told[q], expected, atol=2e-6)
    np.testing.assert_allclose(bank.trust[:2], oracle.trust, rtol=1e-5)
    assert set(bank.places) == set(oracle.keys)
    for key, place in bank.places.items():
        machines = slice(1, 2) if classes == 2 else slice(None)
        np.testing.assert_allclose(
            bank.matrix[place, :, 0], oracle.keys[key].w[machines], atol=1e-5
        )
        np.testing.assert_allclose(
            bank.matrix[place, :, 1], oracle.keys[key].h[machines], rtol=1e-5
        )
        assert bank.counts()[place] == oracle.keys[key].n


def test_sparse_rows_and_single_ones_say_the_same_to_the_bit() -> None:
    x, proba, labels, weights, keys = stream(3)
    x[np.random.default_rng(0).random(x.shape) < 0.3] = -np.inf  # not named
    x[0] = 1.0
    ways: list[tuple[bytes, bytes]] = []
    for way in ("dense", "sparse", "single"):
        bank = Bank(None, 64)
        bank.grow(FEATURES, 3)
        if way == "single":
            told = np.concatenate([
                taken(bank, dense(x[q : q + 1]), (labels[q : q + 1], weights[q : q + 1],
                      proba[q : q + 1]), keys[q : q + 1], scaled=True)
                for q in range(N)
            ])  # fmt: skip
        else:
            row = dense(x) if way == "dense" else as_sparse(dense(x))
            told = taken(bank, row, (labels, weights, proba), keys, scaled=True)
        ways.append((told.tobytes(), bank.matrix[: len(bank.keys)].tobytes()))
    assert ways[0] == ways[1] == ways[2]


@pytest.mark.parametrize("classes", [2, 4])
def test_steps_of_trust_follow_the_slope(classes: int) -> None:
    rng = np.random.default_rng(1)
    parts, label, small = rng.normal(size=(2, classes)), 1, 1e-6
    trust = np.zeros((kernels.TRUST_ROWS, kernels.AGES))
    trust[:2, 3] = 0.7, 1.3

    def gain(t: Array) -> float:
        return float(np.log(soft(t @ parts)[label]))

    before = trust[:2, 3].copy()
    slopes = [
        (gain(before + small * e) - gain(before - small * e)) / (2 * small) for e in np.eye(2)
    ]
    learn_trust(trust, 3, *parts, soft(before @ parts), label, 1.0)
    np.testing.assert_allclose(trust[2:, 3], np.square(slopes), rtol=1e-5)
    steps = kernels.RATE * np.array(slopes) / np.sqrt(kernels.FIRST_EFFORT + np.square(slopes))
    np.testing.assert_allclose(trust[:2, 3] - before, steps, rtol=1e-5)
    assert (np.delete(trust, 3, axis=1) == 0).all()


@pytest.mark.parametrize("classes", [2, 4])
def test_a_keys_first_step_follows_slope_and_curvature(classes: int) -> None:
    """Of the log likelihood by each weight, measured: the first by two, the second by three."""
    rng = np.random.default_rng(2)
    z, told, label, small = rng.normal(size=3), 0.3 * rng.normal(size=classes), 1, 1e-4
    machines = [1] if classes == 2 else list(range(classes))

    def gain(c: int, moved: float) -> float:
        return float(np.log(soft(told + moved * (np.arange(classes) == c))[label]))

    row = np.zeros(2 * len(machines) * 4, dtype=np.float32)
    chance = soft(told)
    learn_key(row, 4, z, np.arange(3), chance, label, 1.0, 1.0)
    x = np.r_[1.0, z]
    prior = np.r_[0.5, [0.1] * 3]
    for at, c in enumerate(machines):
        slope = (gain(c, small) - gain(c, -small)) / (2 * small)
        bend = -(gain(c, small) - 2 * gain(c, 0.0) + gain(c, -small)) / small**2
        w, h = row.reshape(-1, 2, 4)[at]
        np.testing.assert_allclose(h, bend * x**2, rtol=1e-4)
        np.testing.assert_allclose(w, slope * x / (1 / prior + bend * x**2), rtol=1e-4)


def test_a_new_key_is_answered_as_the_model_does() -> None:
    _, proba, _, _, _ = stream(3)
    bank = Bank(None, 64)
    bank.grow(FEATURES, 3)
    told = taken(bank, dense(np.ones((N, 4))), (np.full(N, -1), np.ones(N), proba), ["new"] * N)
    floored = np.maximum(proba, 1e-4)
    np.testing.assert_allclose(told, floored / floored.sum(axis=1, keepdims=True), rtol=1e-9)
    assert len(bank) == 0


def test_ages_are_powers_of_two() -> None:
    age_of = alone(kernels.age_of)
    assert [age_of(n) for n in (0, 1, 2, 3, 4, 7, 8, 1_023, 1_024, 65_535)] == [
        0, 1, 2, 2, 3, 3, 4, 10, 11, 11,
    ]  # fmt: skip


def test_a_class_that_nobody_knew_teaches_no_key() -> None:
    bank = Bank(None, 64)
    bank.grow(1, 2)
    proba = np.array([[1.0, 0.0]])
    taken(bank, dense(np.ones((1, 1))), (np.array([1]), np.ones(1), proba), ["a"])
    assert (bank.matrix == 0).all() and bank.counts().tolist() == [1]
    assert [age.right for age in bank.ages] == [0] * kernels.AGES
