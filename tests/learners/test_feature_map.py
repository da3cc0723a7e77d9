"""Machines on phi(x), codes of x or of phi(x): LL section 3.2 with its equations (16) and (17)."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import sparse

from stream_llsvm import (
    FourierFeatures,
    HomogeneousKernelMap,
    LLSVMClassifier,
    ModelFileError,
    OnlineNystroem,
    PegasosClassifier,
    SAPLClassifier,
    load_model,
)
from stream_llsvm.feature_maps.space import MappedSpace
from stream_llsvm.learners.load import from_payload
from stream_llsvm.members.anchors import state as kernel
from stream_llsvm.reference import objective, problem_of
from tests.learners.support import everything
from tests.oracle_parts import codes_at

Array = NDArray[np.float64]
N = 300


def amounts(n: int, seed: int = 0, missing: float = 0.0) -> tuple[Array, NDArray[np.int64]]:
    """Return histograms whose classes are not linear in them, some values 0 or missing."""
    rng = np.random.default_rng(seed)
    X = rng.gamma(1.0, size=(n, 4)) * (rng.random((n, 4)) < 0.9)
    y = (np.minimum(X[:, 0], X[:, 1]) > 0.4).astype(np.int64) + (X[:, 2] > X[:, 3])
    X[rng.random(X.shape) < missing] = np.nan
    return X, y


def landmarks() -> OnlineNystroem:
    made = OnlineNystroem(n_landmarks=6, gamma=0.3)
    for row in amounts(40, seed=9)[0]:
        made.learn_one(dict(enumerate(row.tolist())))
    return made


MAPS: dict[str, Any] = {
    "homogeneous": lambda: HomogeneousKernelMap("intersection", order=1),
    "fourier": lambda: FourierFeatures(n_components=7, gamma=0.2, seed=3),
    "nystroem": landmarks,
}
BOTH = pytest.mark.parametrize("code_in", ["input", "feature"])
EACH = pytest.mark.parametrize("made", MAPS.values(), ids=MAPS)


def phi_of(map: Any, row: Array) -> Array:
    return np.array(map.map_one(dict(enumerate(row.tolist()))))


@BOTH
@EACH
@pytest.mark.parametrize("kind", [LLSVMClassifier, SAPLClassifier])
def test_the_equations_step_by_step(kind: Any, made: Any, code_in: str) -> None:
    """LL Algorithm 1 or SAPL Algorithm 1 on H(x) = gamma^T W phi(x) + gamma^T b, LL(16)."""
    lam, t0, skip, m, k = 2e-3, 200, 7, 5, 3
    model = kind(
        n_anchors=m, n_neighbors=k, step_size="paper", loss="hinge", multiclass="ovr",
        l2=lam, t0=t0, skip=skip, standardize=False, feature_map=made(), code_in=code_in,
    )  # fmt: skip
    X, labels = amounts(80)
    X += 0.01  # no two records alike: anchors are born one a record
    labels = (labels > 1).astype(np.int64)
    labels[:2] = 0, 1
    model.learn_many(X[:m], labels[:m])
    memory = model._state
    own = memory.views(1)
    own["settings"][kernel.CLUSTERING] = 0
    names = list(model.features)
    phi_names = [("phi", *one) for one in model.feature_map.made_of(range(4))]
    of_phi = [names.index(name) for name in phi_names]
    of_codes = [names.index(i) for i in range(4)] if code_in == "input" else of_phi
    for t in range(m, len(X)):
        facts = own["facts"].astype(float)
        v = (facts[0, :m, None] * own["positions"])[:, of_codes]
        w = own["raw_scale"][0] * own["weights"][:, 0, 0, 0, of_phi].astype(float)
        b = own["biases"][:, 0, 0, 0].astype(float)
        phi = phi_of(model.feature_map, X[t])
        u = X[t] if code_in == "input" else phi
        squared = ((v - u) ** 2).sum(axis=1)
        near = np.argsort(squared)[:k]
        gamma, pull = codes_at(
            0,
            squared[near],
            own["settings"][kernel.SHARPNESS],
            float(own["running"][kernel.SPREAD]),
        )
        heights = w[near] @ phi + b[near]
        blend = gamma @ heights  # LL(16)
        label = int(labels[t])
        y = 1 if label == model.classes[1] else -1
        model.learn_one(dict(enumerate(X[t].tolist())), label)
        assert float(memory.views(0)["scores"][0, 0, 0, 0]) == pytest.approx(
            blend, rel=1e-4, abs=1e-4
        )
        eta = 1 / (lam * (t + t0))
        if abs(1 - y * blend) < 1e-3:
            continue  # rounding decides who is pushed
        if y * blend < 1:  # a violated constraint of LL(17)
            if kind is SAPLClassifier:
                v[near] += eta * (pull * (heights - blend) * y)[:, None] * (u - v[near])
            w[near] += eta * y * gamma[:, None] * phi  # LL(11) on phi(x)
            b[near] += eta * y * gamma  # LL(12)
        due = t % skip == 0 if kind is SAPLClassifier else t % skip == skip - 1
        w *= 1 - skip / (t + t0) if due else 1
        facts = own["facts"].astype(float)
        told = facts[0, :m, None] * own["positions"]
        np.testing.assert_allclose(told[:, of_codes], v, atol=2e-4 * np.abs(v).max())
        raw = own["raw_scale"][0] * own["weights"][:, 0, 0, 0].astype(float)
        np.testing.assert_allclose(raw[:, of_phi], w, atol=2e-4 * max(1, np.abs(w).max()))
        np.testing.assert_allclose(own["biases"][:, 0, 0, 0], b, atol=2e-4 * max(1, abs(b).max()))
        if code_in == "input":
            assert not raw[:, of_codes].any() and not told[:, of_phi].any()


@BOTH
def test_a_step_descends_the_objective(code_in: str) -> None:
    """The step on W is -eta times the gradient of LL(17)'s loss, by finite differences."""
    lam, t0 = 1e-3, 10_000
    model = LLSVMClassifier(
        n_anchors=4, n_neighbors=3, step_size="paper", loss="hinge", multiclass="ovr", l2=lam,
        t0=t0, skip=9_999, feature_map=HomogeneousKernelMap(order=1), code_in=code_in,
    )  # fmt: skip
    X, y = amounts(200)
    y = (y > 0).astype(np.int64)
    model.learn_many(X, y)
    memory: Any = model._state
    checked = 0
    for i in range(30):
        problem = problem_of(model, X[i : i + 1])
        sign = np.array([1 if y[i] == model.classes[1] else -1])
        w, b = problem.weights[0], problem.biases[0]
        given = problem.X, sign, problem.codes
        gradient = np.zeros_like(w)
        for place in np.ndindex(*w.shape):
            step = np.zeros_like(w)
            step[place] = 1e-4
            gradient[place] = (objective(*given, w + step, b, 1e-12)
                               - objective(*given, w - step, b, 1e-12)) / 2e-4  # fmt: skip
        # Teach members only: scales and anchors, and so the codes, stay as they are.
        memory.views(1)["settings"][kernel.CLUSTERING] = 0
        memory.plan[0, [6, 8]] = 0
        t = memory.views(1)["running"][kernel.SEEN]
        model.learn_one(dict(enumerate(X[i].tolist())), int(y[i]))
        after = problem_of(model, X[i : i + 1]).weights[0]
        eta = 1 / (lam * (t + t0))
        np.testing.assert_allclose(after - w, -eta * gradient, atol=1e-4)
        checked += bool(gradient.any())
    assert checked > 5


@BOTH
@EACH
def test_rows_blocks_and_files_are_the_same(made: Any, code_in: str, tmp_path: Path) -> None:
    X, y = amounts(N, missing=0.1)
    one, block, read = (SAPLClassifier(8, 3, feature_map=made(), code_in=code_in) for _ in range(3))
    told = []
    for row, label in zip(X.tolist(), y.tolist(), strict=True):
        record = {i: v for i, v in reversed(list(enumerate(row)))}
        told.append(one.predict_one(record))
        one.learn_one(record, label)
    assert block.test_then_learn(X, y).tolist() == told
    for i in range(0, N, 97):
        read.learn_many(X[i : i + 97], y[i : i + 97])
        read.save(tmp_path / "model")
        read = load_model(tmp_path / "model")
    assert everything(one) == everything(block) == everything(read)
    again = pickle.loads(pickle.dumps(one))
    for model in (again, copy.deepcopy(one), read):
        assert model.predict_many(X).tolist() == one.predict_many(X).tolist()
        model.learn_many(X[:50], y[:50])
    one.learn_many(X[:50], y[:50])
    assert everything(one) == everything(again) == everything(read)


@BOTH
def test_sparse_matrices_are_records_that_name_little(code_in: str) -> None:
    rng = np.random.default_rng(0)
    X = rng.gamma(1.0, size=(60, 90)) * (rng.random((60, 90)) < 0.05)
    y = (X[:, :45].sum(axis=1) > X[:, 45:].sum(axis=1)).astype(int)
    rows, block = (
        LLSVMClassifier(5, 2, feature_map=HomogeneousKernelMap(order=1), code_in=code_in)
        for _ in range(2)
    )
    told = []
    for row, label in zip(X, y.tolist(), strict=True):
        record = {int(c): float(row[c]) for c in np.flatnonzero(row)}
        told.append(rows.predict_one(record))
        rows.learn_one(record, label)
    assert block.test_then_learn(sparse.csr_matrix(X), y).tolist() == told
    assert everything(rows) == everything(block)


@BOTH
@EACH
def test_explanations_add_up_and_are_the_users(made: Any, code_in: str) -> None:
    X, y = amounts(N, missing=0.1)
    model = SAPLClassifier(8, 3, feature_map=made(), code_in=code_in)
    model.learn_many(X, y)
    for row in X[:40]:
        x = dict(enumerate(row.tolist()))
        told = model.explain_one(x)
        assert list(told.contributions) == [0, 1, 2, 3] == list(told.weights)
        total = told.bias + sum(told.contributions.values())
        assert total == pytest.approx(told.score, abs=1e-5)
        assert told.score == pytest.approx(model.decision_function_one(x)[told.label], abs=1e-9)


@EACH
def test_weights_are_slopes(made: Any) -> None:
    """One anchor, whose share is always 1: the score changes as phi does, and no code with it."""
    X, y = amounts(N)
    model = LLSVMClassifier(1, 1, feature_map=made(), standardize=False)
    model.learn_many(X, y)
    assert model._state is not None
    normal = model._state.views(0)["normal"]
    checked = 0
    for row in X[:40] + 0.05:
        x = dict(enumerate(row.tolist()))
        label = model.predict_one(x)
        told = model.explain_one(x, label)
        for i in range(4):
            sides = [model.decision_function_one(x | {i: x[i] + s})[label] for s in (2e-3, -2e-3)]
            if (np.abs(normal) >= 4).any():
                continue  # the mixer clips
            slope = (sides[0] - sides[1]) / 4e-3
            assert slope == pytest.approx(told.weights[i], abs=3e-2 * max(1, abs(slope)))
            checked += abs(slope) > 1e-2
    assert checked > 20


def test_a_map_makes_it_more_than_linear() -> None:
    """One anchor and the map is a kernel machine; the paper's locally additive SVM has more."""
    X, y = amounts(4_000)
    right = {}
    for name, options in {
        "linear": {},
        "additive": {"feature_map": HomogeneousKernelMap("intersection")},
    }.items():
        model = LLSVMClassifier(1, 1, **options)  # type: ignore[arg-type]
        right[name] = float((model.test_then_learn(X, y) == y)[500:].mean())
    assert right["additive"] > right["linear"] + 0.01


def test_codes_of_phi_are_those_of_a_pipeline() -> None:
    """With ``code_in="feature"`` it is LL-SVM behind the transformer."""
    X, y = amounts(N)
    map = FourierFeatures(n_components=7, gamma=0.2)
    inside = LLSVMClassifier(8, 3, feature_map=map, code_in="feature")
    behind = LLSVMClassifier(8, 3)
    phi = np.array([list(map.transform_one(dict(enumerate(row.tolist()))).values()) for row in X])
    assert inside.test_then_learn(X, y).tolist() == behind.test_then_learn(phi, y).tolist()


def test_a_warm_start_puts_anchors_where_codes_are() -> None:
    X, y = amounts(N)
    model = LLSVMClassifier(6, 3, feature_map=HomogeneousKernelMap(order=1))
    model.warm_start(X, y, epochs=3)
    assert isinstance(model._features, MappedSpace) and model._state is not None
    own = model._state.views(1)
    assert not own["positions"][:, model._features.mapped].any()
    assert own["positions"][:, ~model._features.mapped].any()
    weights = own["weights"][:6]
    assert not weights[..., ~model._features.mapped].any() and weights.any()


def test_models_of_one_beginning_can_be_merged() -> None:
    X, y = amounts(N)
    model = SAPLClassifier(6, 3, feature_map=FourierFeatures(n_components=5))
    model.learn_many(X[:100], y[:100])
    other = copy.deepcopy(model)
    model.learn_many(X[100:200], y[100:200])
    other.learn_many(X[200:], y[200:])
    merged = model.merge([other])
    assert (merged.predict_many(X) == y).mean() > 0.5
    stranger = SAPLClassifier(6, 3, feature_map=FourierFeatures(n_components=5, seed=1))
    with pytest.raises(ValueError, match="same options"):
        model.merge([stranger])


def test_a_map_is_taken_as_it_is() -> None:
    X, y = amounts(N)
    map = landmarks()
    model = LLSVMClassifier(5, 2, feature_map=map)
    model.learn_many(X, y)
    before = model.predict_many(X).tolist()
    for row in amounts(200, seed=5)[0]:
        map.learn_one(dict(enumerate(row.tolist())))
    assert model.predict_many(X).tolist() == before


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"feature_map": "chi2"}, "feature_map must be None or one of HomogeneousKernelMap"),
        ({"feature_map": PegasosClassifier()}, "feature_map must be None or one of"),
        ({"feature_map": {"map": "Evil"}}, "a feature map is one of"),
        ({"feature_map": FourierFeatures(), "code_in": "both"}, "code_in must be one of 'input'"),
    ],
)
def test_bad_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        LLSVMClassifier(**options)


def test_a_map_without_landmarks_is_told_to_learn_first() -> None:
    model = LLSVMClassifier(feature_map=OnlineNystroem())
    with pytest.raises(ValueError, match="has no landmarks yet"):
        model.learn_one({"a": 1.0}, 0)
    assert model.classes == ()


@pytest.mark.parametrize(
    "bad",
    [{}, {"map": 3}, {"map": "FourierFeatures", "n_components": -1}, {"n_components": 3}, 7,
     {"map": "OnlineNystroem", "landmarks": [[float("nan")]], "features": ("a",)},
     {"map": "OnlineNystroem", "landmarks": [[1.0, 2.0]], "features": ("a",)},
     {"map": "OnlineNystroem", "landmarks": "x", "features": None}],
)  # fmt: skip
def test_a_file_with_another_map_is_refused(bad: Any) -> None:
    model = LLSVMClassifier(4, 2, feature_map=FourierFeatures(n_components=5))
    model.learn_one({"a": 1.0}, 0)
    payload: dict[str, Any] = dict(model._payload())
    assert from_payload(payload).features == model.features
    payload["params"] = payload["params"] | {"feature_map": bad}
    with pytest.raises(ModelFileError):
        from_payload(payload)


@BOTH
def test_bad_values_are_refused_by_name(code_in: str) -> None:
    model = LLSVMClassifier(feature_map=HomogeneousKernelMap(), code_in=code_in)
    model.learn_one({"a": 1.0}, 0)
    for value in (b"x", float("inf")):
        with pytest.raises(ValueError, match="a"):
            model.learn_one({"a": value}, 1)
    with pytest.raises(TypeError, match="a record is a mapping"):
        model.predict_one([1.0])  # type: ignore[arg-type]
    assert model.classes == (0,)
