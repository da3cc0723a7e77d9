"""The Pegasos member beside a slow, obvious one."""

from __future__ import annotations

import numpy as np
import pytest

from stream_llsvm.kernels.losses import LOSSES_OF_PEGASOS
from stream_llsvm.kernels.surprise import FORGOTTEN
from stream_llsvm.members.family.pegasos import steps
from stream_llsvm.members.family.pegasos.member import Pegasos
from tests.oracle_compare import Kernels
from tests.oracle_parts import Array
from tests.oracle_pegasos import pegasos

WIDTH = 4


def machine(kernels: Kernels, c: int) -> Array:
    """Return a machine's weights, its bias behind them."""
    own = kernels.own
    return np.asarray(own["scale"][c] * np.append(own["weights"][c], own["bias"][c]))


@pytest.mark.parametrize("loss", LOSSES_OF_PEGASOS)
@pytest.mark.parametrize("batch_size", [1, 7])
@pytest.mark.parametrize("projection", [True, False])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("forgets", [False, True])
def test_it_is_the_oracles(
    loss: str, batch_size: int, projection: bool, classes: int, forgets: bool
) -> None:
    of = Pegasos(
        l2=0.05,
        t0=2_000 if forgets else 3,
        forgets=forgets,
        loss=LOSSES_OF_PEGASOS[loss],
        batch_size=batch_size,
        projection=projection,
    )
    rng = np.random.default_rng(0)
    x = rng.normal(size=(400, WIDTH)).astype(np.float32).astype(float)
    labels = np.argmax(x @ rng.normal(size=(WIDTH, classes)) + rng.normal(size=classes), axis=1)
    if forgets:  # from here on nothing can be known
        labels[200:] = rng.integers(0, classes, 200)
    w = rng.integers(1, 3, 400).astype(float)
    kernels, scores = Kernels(of, WIDTH, classes, standardize=False), []
    for row, label, weight in zip(x, labels, w, strict=True):
        kernels.learn(row, int(label), float(weight))
        scores.append(kernels.scores[0])
    all_scores = np.array(scores)
    likeliest = all_scores.argmax(axis=1) if classes > 2 else all_scores[:, 0] > 0
    for c in range(1 if classes == 2 else classes):
        signs = np.where(labels == (1 if classes == 2 else c), 1.0, -1.0)
        weights, wanted, forgotten = pegasos(of, loss, x, signs, w, wrong=likeliest != labels)
        assert kernels.own["clock"][FORGOTTEN] == pytest.approx(forgotten)
        assert (forgotten > 0) == forgets
        np.testing.assert_allclose(all_scores[:, c], wanted, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(machine(kernels, c), weights, rtol=1e-6, atol=1e-8)
        assert kernels.own["norm"][c] == pytest.approx(float(weights @ weights), rel=1e-5)


@pytest.mark.parametrize("batch_size", [1, 16])
def test_two_machines_say_what_one_said_when_a_class_appears(batch_size: int) -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=(203, WIDTH))
    kernels = Kernels(Pegasos(batch_size=batch_size), WIDTH, 2)
    kernels.rows(x, (x[:, 0] > 0).astype(np.int64))
    one, held = machine(kernels, 0), kernels.own["slope"][0].copy()
    kernels.grow(WIDTH + 2, 4)
    for sign, c in ((-1, 0), (1, 1)):
        np.testing.assert_array_equal(machine(kernels, c)[[0, 1, 2, 3, -1]], sign * one)
        np.testing.assert_array_equal(kernels.own["slope"][c, :WIDTH], sign * held)
    assert held.any() == (batch_size > 1)
    for c in (2, 3):  # nobody has seen them: they are no record's class
        assert machine(kernels, c).tolist() == [0] * (WIDTH + 2) + [-1]
        assert kernels.own["norm"][c] == 1
    assert kernels.own["head"][steps.HELD] == 203 % batch_size
