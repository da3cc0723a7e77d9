"""The LDKL member beside the oracle, its explanations, and what only a tree of gates can learn."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

from stream_llsvm import LDKLClassifier, PegasosClassifier
from stream_llsvm.kernels.losses import CRAMMER_SINGER, HINGE, HUBERIZED_HINGE, LOGISTIC, OVR
from stream_llsvm.kernels.scaling import ABSENT
from stream_llsvm.members.family.ldkl import kernel
from stream_llsvm.members.family.ldkl.member import Ldkl
from stream_llsvm.model.state import columns_of
from tests.oracle_compare import Kernels, stream
from tests.oracle_ldkl import STATE, LdklOracle

WIDTH = 5
ANY: dict[str, dict[str, Any]] = {
    "usual": {},
    "one gate": {"depth": 1},
    "deep": {"depth": 5},
    "sharp": {"sharpness": 4.0},
    "one step": {"steps": (2.0,), "averaged": False},
    "hinge, one against the rest": {"loss": HINGE, "multiclass": OVR},
    "Huberized hinge": {"loss": HUBERIZED_HINGE},
}


def ldkl(**options: Any) -> Ldkl:
    usual: dict[str, Any] = {
        "loss": LOGISTIC, "multiclass": CRAMMER_SINGER, "averaged": True, "depth": 2, "seed": 3,
    }  # fmt: skip
    return Ldkl(**(usual | options))


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("options", ANY.values(), ids=ANY)
def test_the_member_is_the_oracle(options: dict[str, Any], classes: int) -> None:
    """The oracle finds the slopes of gates and bends by differences: these are right, too."""
    of = ldkl(**options)
    kernels, oracle = Kernels(of, WIDTH, classes), LdklOracle(of, WIDTH, columns_of(classes))
    x, labels = stream(3, 200, WIDTH, classes)
    weights = np.random.default_rng(0).choice([0.5, 1.0, 2.0], len(x))
    begun = kernels.own["gates"].copy(), kernels.own["bends"].copy()
    for row, label, w in zip(x, labels, weights, strict=True):
        kernels.predict(row)
        z = kernels.memory.views(0)["z"][0, 0, :WIDTH].astype(float)
        oracle.take(kernels.own)
        np.testing.assert_allclose(kernels.scores, oracle.scores(z), rtol=1e-3, atol=1e-3)
        kernels.learn(row, int(label), float(w))
        oracle.learn(z, int(label), float(w))
        for name in STATE:
            told, expected = kernels.own[name], oracle.own[name]
            size = 1 + np.abs(expected).max()
            np.testing.assert_allclose(told, expected, rtol=2e-3, atol=2e-3 * size, err_msg=name)
        assert kernels.own["running"][kernel.SEEN] == oracle.seen
        assert kernels.own["running"][kernel.SPREAD] == pytest.approx(oracle.spread, rel=1e-4)
    for before, name in zip(begun, ("gates", "bends"), strict=True):
        assert np.abs(kernels.own[name] - before).max() > 0.05, f"{name} are learned"


@pytest.mark.parametrize("classes", [2, 3])
def test_parts_are_the_scores_and_their_slopes(classes: int) -> None:
    of = ldkl()
    kernels = Kernels(of, WIDTH, classes, standardize=False)
    x, labels = stream(1, 300, WIDTH, classes)
    kernels.rows(x, labels)
    h = 1e-3
    for row in x[:20]:
        kernels.predict(row)
        parts = of.parts(kernels.own, row)
        np.testing.assert_allclose(
            parts.of_features.sum(axis=2) + parts.rest, kernels.scores, rtol=1e-3, atol=1e-3
        )
        for i in range(WIDTH):
            ends = []
            for sign in (1, -1):
                moved = row.copy()
                moved[i] += sign * h
                told = of.parts(kernels.own, moved)
                ends.append(told.of_features.sum(axis=2) + told.rest)
            slope = (ends[0] - ends[1]) / (2 * h)
            np.testing.assert_allclose(parts.slopes[:, :, i], slope, rtol=1e-3, atol=1e-4)


def test_sparse_rows_are_dense_ones_with_zeros() -> None:
    x, labels = stream(2, 200, WIDTH, 3)
    x[np.random.default_rng(0).random(x.shape) < 0.5] = ABSENT
    dense, sparse = (Kernels(ldkl(), WIDTH, 3, standardize=False) for _ in range(2))
    for row, label in zip(x, labels, strict=True):
        dense.learn(np.where(row == ABSENT, 0.0, row), int(label), 1.0)
        sparse.sparse(row, int(label))
    for name in ("gates", "bends", "biases"):
        np.testing.assert_allclose(dense.own[name], sparse.own[name], rtol=1e-3, atol=1e-3)


def test_it_learns_what_no_line_tells_apart() -> None:
    x = np.random.default_rng(0).uniform(-1, 1, size=(6_000, 2))
    y = (x[:, 0] > 0) != (x[:, 1] > 0)
    accuracies = [
        np.mean(model.test_then_learn(x, y)[3_000:] == y[3_000:])
        for model in (LDKLClassifier(), PegasosClassifier())
    ]
    assert accuracies[0] > 0.93 and accuracies[1] < 0.65


def test_two_trees_have_no_mean() -> None:
    models = [LDKLClassifier() for _ in range(2)]
    for i, model in enumerate(models):
        model.learn_many(np.eye(3) + i, [0, 1, 0])
    with pytest.raises(ValueError, match="'ldkl:3' cannot be merged: merge models without it"):
        models[0].merge(models[1:])


def test_trees_that_parted_from_one_are_merged_since_then() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(9_000, 2)) * [1, 5] + [0, 3]
    y = (x[:, 0] > 0) != (x[:, 1] > 3)
    base = LDKLClassifier()
    base.learn_many(x[:1_500], y[:1_500])
    parts = [copy.deepcopy(base) for _ in range(3)]
    for i, part in enumerate(parts):
        some = slice(1_500 + 1_500 * i, 3_000 + 1_500 * i)
        part.learn_many(x[some], y[some])

    def loss(model: LDKLClassifier) -> float:
        proba = model.predict_proba_many(x[6_000:])
        codes = np.array([model.classes.index(label) for label in y[6_000:].tolist()])
        return float(-np.log(proba[np.arange(3_000), codes]).mean())

    merged = parts[0].merge(parts[1:], since=base)
    assert merged._state is not None and merged._state.sound()
    assert loss(merged) < np.mean([loss(part) for part in parts]) < loss(base)
    views = merged._state.views(1)
    assert views["running"][0] == 6_000
    own = [part._state.views(1) for part in parts if part._state is not None]
    assert base._state is not None
    before = base._state.views(1)["mass"]
    total = before + sum(view["mass"] - before for view in own)
    np.testing.assert_allclose(views["mass"], total, rtol=1e-4)
    with pytest.raises(ValueError, match="'ldkl:3' cannot be merged"):
        parts[0].merge(parts[1:])
