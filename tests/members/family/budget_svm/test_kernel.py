"""The budget member beside the oracle, and what it does with its room."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from stream_llsvm.kernels.losses import CRAMMER_SINGER, HINGE, HUBERIZED_HINGE, LOGISTIC, OVR
from stream_llsvm.kernels.surprise import FAST, FORGOTTEN
from stream_llsvm.members.family.budget_svm import kernel
from stream_llsvm.members.family.budget_svm.maintenance import REMOVAL
from stream_llsvm.members.family.budget_svm.member import Budgeted
from stream_llsvm.model.state import columns_of
from tests.oracle_budget import BudgetOracle, by_weight
from tests.oracle_compare import Kernels, stream

WIDTH = 4
ANY: dict[str, dict[str, Any]] = {
    "merging": {},
    "removal": {"maintenance": REMOVAL},
    "one width": {"steps": (1.0,), "gamma": 0.2},
    "the paper's first steps": {"t0": 0.0, "l2": 1e-2},
    "Huberized hinge": {"loss": HUBERIZED_HINGE},
    "logistic, all classes in one": {"loss": LOGISTIC, "multiclass": CRAMMER_SINGER},
    "what is forgotten": {"t0": 2_000.0},
    "nothing is forgotten": {"forgets": False},
    "a single vector": {"most": 1},
    "two vectors": {"most": 2},
}


def budgeted(**options: Any) -> Budgeted:
    settings: dict[str, Any] = {"most": 12, "loss": HINGE, "multiclass": OVR, "l2": 1e-3}
    return Budgeted(**(settings | options))


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("options", ANY.values(), ids=ANY)
def test_the_member_is_the_oracle(options: dict[str, Any], classes: int) -> None:
    of = budgeted(**options)
    kernels = Kernels(of, WIDTH, classes)
    oracle = BudgetOracle(of, WIDTH, columns_of(classes))
    x, labels = stream(3, 250, WIDTH, classes)
    weights = np.random.default_rng(0).choice([0.5, 1.0, 2.0], len(x))
    forgotten = options.get("t0", 0.0) > 1_000
    made = compared = 0
    for i, (row, label, w) in enumerate(zip(x, labels, weights, strict=True)):
        if i == 150 and forgotten:
            kernels.own["clock"][FAST] = 1.0  # as if there had been many more errors than usual
        kernels.predict(row)
        own, z = kernels.own, kernels.memory.views(0)["z"][0, 0, :WIDTH].astype(float)
        oracle.take(own)
        expected = oracle.scores(z)
        size = np.abs(expected).max()
        np.testing.assert_allclose(kernels.scores, expected, rtol=1e-4, atol=1e-5 * (1 + size))
        before = own["running"][kernel.MADE]
        kernels.learn(row, int(label), float(w))
        oracle.learn(z, int(label), float(w))
        held = int(own["running"][kernel.HELD])
        assert held == len(oracle.vectors)
        np.testing.assert_allclose(own["clock"][FORGOTTEN], oracle.steps.forgotten, rtol=1e-6)
        assert own["running"][kernel.SPREAD] == pytest.approx(oracle.spread, rel=1e-4)
        merged = own["running"][kernel.MADE] > before
        made += merged
        # A search by ten cuts knows a place to a hundredth.
        loose: dict[str, Any] = (
            {"rtol": 1e-2, "atol": 4e-2} if merged else {"rtol": 1e-4, "atol": 1e-4}
        )
        # Where two partners, or two places, are as good as each other rounding may choose.
        if merged and not np.allclose(own["vectors"][:held], oracle.vectors, **loose):
            continue
        compared += merged
        np.testing.assert_allclose(own["vectors"][:held], oracle.vectors, **loose)
        np.testing.assert_allclose(own["coefficients"][:held], oracle.alpha, **loose)
        np.testing.assert_allclose(own["bias"], oracle.bias, rtol=1e-5, atol=1e-4)
        np.testing.assert_array_equal(own["stamps"][:held], oracle.stamps)
    assert made > 50 and compared > 0.9 * made
    assert (kernels.own["clock"][FORGOTTEN] > 10) == forgotten


def test_a_merge_changes_the_machines_as_little_as_it_can() -> None:
    """By the kernel of all pairs: less than leaving the vector out, and hardly above the best."""
    of = budgeted(most=10)
    kernels = Kernels(of, WIDTH, 2)
    oracle = BudgetOracle(of, WIDTH, 1)
    x, labels = stream(5, 400, WIDTH, 2)
    found = 0
    for row, label in zip(x, labels, strict=True):
        own = kernels.own
        kernels.predict(row)
        z = kernels.memory.views(0)["z"][0, 0, :WIDTH].astype(float)
        oracle.take(own)
        full = len(oracle.vectors) == of.most
        before = own["running"][kernel.MADE]
        gammas, vectors, alpha = oracle.gammas(z), oracle.vectors.copy(), oracle.alpha.copy()
        kernels.learn(row, int(label))
        if not full or own["running"][kernel.MADE] == before:
            continue
        size = (alpha**2).sum(axis=(1, 2))
        a = int(np.lexsort((oracle.stamps, size))[0])
        changed = np.flatnonzero((own["coefficients"] != alpha).any(axis=(1, 2)))
        others = [int(v) for v in changed if v != a]
        if not others:
            continue
        (b,) = others
        points = np.vstack([vectors[[a, b]], own["vectors"][b]])
        weights = np.concatenate([alpha[[a, b]], [-own["coefficients"][b].astype(float)]])
        squared = ((points[:, None] - points) ** 2).sum(axis=2)
        gram = np.exp(-squared[..., None] * gammas)
        cost = np.einsum("uec,uve,vec->", weights, gram, weights)
        best = oracle.cost(a, b, oracle.best_place(a, b, gammas), gammas)
        left_out = float((alpha[a] ** 2).sum())
        # Of several widths together the best place need not be the only good one.
        assert cost <= best + 2e-2 * left_out
        assert cost <= left_out * (1 + 1e-5)
        by_mean = oracle.cost(a, b, by_weight(size[a], size[b]), gammas)
        for v in range(of.most):
            if v != a:
                other = oracle.cost(a, v, by_weight(size[a], size[v]), gammas)
                assert by_mean <= other + 1e-3 * left_out
        found += 1
    assert found > 100


def test_with_room_for_all_it_is_pegasos_with_a_kernel() -> None:
    """w_t = 1 / (l2 t) sum of the pushes so far, nothing forgotten: the paper's figure 3."""
    of = budgeted(most=600, steps=(1.0,), gamma=0.3, t0=0.0, l2=1e-2, forgets=False)
    kernels = Kernels(of, WIDTH, 2, standardize=False)
    x, labels = stream(1, 500, WIDTH, 2)
    x = (x - x.mean(axis=0)) / x.std(axis=0)
    gram = np.exp(-0.3 * ((x[:, None] - x) ** 2).sum(axis=2)) + 1
    signs = np.where(labels == 1, 1.0, -1.0)
    alpha = np.zeros(len(x))
    for i, (row, label) in enumerate(zip(x, labels, strict=True)):
        score = gram[i] @ alpha / (of.l2 * max(1, i))
        kernels.learn(row, int(label))
        assert kernels.scores[0, 0] == pytest.approx(score, rel=1e-3, abs=1e-2)
        if i + 1 == kernel.YOUNG:
            alpha[:] = 0  # it begins anew, once scales are known roughly
        pushed = signs[i] * kernels.scores[0, 0] < 1
        alpha[i] = signs[i] * pushed
    assert 100 < np.count_nonzero(alpha) < 450


def test_the_usual_distance_stands_once_it_is_known() -> None:
    kernels = Kernels(budgeted(), WIDTH, 2)
    x, labels = stream(1, kernel.SETTLED + 500, WIDTH, 2)
    for i in range(kernel.SETTLED):
        kernels.learn(x[i], int(labels[i]))
    spread = float(kernels.own["running"][kernel.SPREAD])
    # Vectors lie where it is hard, which is not quite anywhere.
    assert spread == pytest.approx(2 * WIDTH, rel=0.35)
    kernels.rows(100 * x[kernel.SETTLED :], labels[kernel.SETTLED :])
    assert kernels.own["running"][kernel.SPREAD] == spread
