"""Explanations: contributions that add up to the score, whatever the model and the record."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from stream_llsvm import LCCClassifier, LLSVMClassifier, SAPLClassifier
from stream_llsvm.kernels.mixer import POWER
from stream_llsvm.kernels.mixer import Z_CLIP as SCORE_CLIP
from stream_llsvm.kernels.scaling import CENTRE, INVERSE, Z_MOST, Z_STRAIGHT
from stream_llsvm.learners.base import LocalClassifier
from stream_llsvm.model.explain import Explanation
from tests.oracle_compare import stream

MODELS: dict[str, tuple[type[LocalClassifier], dict[str, Any]]] = {
    "sapl": (SAPLClassifier, {}),
    "llsvm, inverse distance": (LLSVMClassifier, {"coding": "inverse_distance"}),
    "one against the rest": (SAPLClassifier, {"multiclass": "ovr", "loss": "hinge"}),
    "one step": (SAPLClassifier, {"step_size": 1.0}),
    "paper": (SAPLClassifier, {"step_size": "paper", "l2": 1e-3}),
    "flat": (LCCClassifier, {}),
    "unscaled": (SAPLClassifier, {"standardize": False}),
    "one anchor": (LLSVMClassifier, {"n_anchors": 1}),
}
WIDTH = 5


def _learned(name: str, classes: int, n: int = 300) -> tuple[LocalClassifier, Any]:
    kind, options = MODELS[name]
    model = kind(**options)
    x, labels = stream(0, n, WIDTH, classes, missing=0.03)
    model.learn_many(x, [f"class {c}" for c in labels])
    return model, x


def _record(row: Any) -> dict[Any, float]:
    return dict(enumerate(row.tolist()))


def _check_sum(explained: Explanation, score: float) -> None:
    parts = [explained.bias, *explained.contributions.values()]
    size = sum(map(abs, parts)) + abs(score)
    assert sum(parts) == pytest.approx(score, abs=1e-4 * size)
    assert explained.score == pytest.approx(score, abs=1e-6 * size)


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("name", MODELS)
def test_contributions_add_up_to_every_classs_score(name: str, classes: int) -> None:
    model, x = _learned(name, classes)
    for row in x[:40]:
        scores = model.decision_function_one(_record(row))
        for label, score in scores.items():
            _check_sum(model.explain_one(_record(row), label), score)


@pytest.mark.parametrize("classes", [1, 2, 3])
def test_the_predicted_label_is_explained_unless_another_is_asked_for(classes: int) -> None:
    model, x = _learned("sapl", classes)
    for row in x[:10]:
        explained = model.explain_one(_record(row))
        assert explained.label == model.predict_one(_record(row))
        _check_sum(explained, model.decision_function_one(_record(row))[explained.label])


@pytest.mark.parametrize("classes", [2, 4])
def test_clipped_experts_are_explained_by_what_they_count(classes: int) -> None:
    model, x = _learned("sapl", classes)
    assert model._state is not None
    # Experts that used to give tiny scores: almost every one is now clipped.
    model._state.views(0)["mixer"][POWER] *= 1e-6
    for row in x[:20]:
        for label, score in model.decision_function_one(_record(row)).items():
            _check_sum(model.explain_one(_record(row), label), score)
        assert np.abs(model._state.views(0)["normal"]).max() == SCORE_CLIP


@pytest.mark.parametrize("kind", [SAPLClassifier, LCCClassifier])
def test_a_sparse_record_is_explained_by_the_features_that_it_names(
    kind: type[LocalClassifier],
) -> None:
    rng = np.random.default_rng(1)
    model = kind()
    records = []
    for _ in range(150):
        words = rng.choice(300, size=12, replace=False)
        records.append(({f"w{i}": float(rng.integers(1, 4)) for i in words}, int(words.min() % 3)))
        model.learn_one(*records[-1])
    assert len(model.features) > 250
    for record, _ in records[-20:]:
        for label, score in model.decision_function_one(record).items():
            explained = model.explain_one(record, label)
            told = set() if kind is LCCClassifier else set(record)
            assert set(explained.contributions) == set(explained.weights) == told
            _check_sum(explained, score)


def test_a_missing_value_contributes_nothing_and_an_unknown_feature_is_left_out() -> None:
    model, x = _learned("sapl", 3)
    record = {0: None, 1: float("nan"), 2: x[0, 2], "never seen": 1.0}
    explained = model.explain_one(record)
    assert set(explained.contributions) == {0, 1, 2}
    assert explained.contributions[0] == explained.contributions[1] == 0
    _check_sum(explained, model.decision_function_one(record)[explained.label])


def test_a_record_of_nothing_is_all_bias() -> None:
    model, _ = _learned("sapl", 3)
    explained = model.explain_one({})
    assert explained.contributions == explained.weights == {}
    assert explained.bias == pytest.approx(explained.score, rel=1e-4)


@pytest.mark.parametrize("name", ["paper", "unscaled paper"])
@pytest.mark.parametrize("classes", [2, 3])
def test_the_weights_are_the_anchors_own_blended_by_the_codes(name: str, classes: int) -> None:
    """w(x) = sum_j gamma_j W_j, LL(6); the anchors speak the user's units, and so must this."""
    model = SAPLClassifier(step_size="paper", l2=1e-3, standardize=name == "paper")
    x, labels = stream(2, 1_500, WIDTH, classes)  # features no longer young
    model.learn_many(x, labels)
    memory = model._state
    assert memory is not None
    for row in x[:20]:
        explained = model.explain_one(_record(row))
        own, normal = memory.views(1), memory.views(0)["normal"]
        near, gamma = own["near"][: own["found"][0]], own["shares"][2]
        assert np.abs(normal).max() < SCORE_CLIP
        anchors = [model.anchors[j] for j in near]
        z = np.abs(memory.views(0)["z"][0, 0, :WIDTH])
        steep = np.clip((Z_MOST - z) / (Z_MOST - Z_STRAIGHT), 0, 1) ** 2
        for i in range(WIDTH):
            blended = sum(
                g * a.weights[explained.label][i] for g, a in zip(gamma, anchors, strict=False)
            )
            expected = blended * (steep[i] if name == "paper" else 1.0)
            assert explained.weights[i] == pytest.approx(expected, rel=1e-3, abs=1e-5)


def test_a_single_machines_contributions_are_weights_times_the_way_from_the_mean() -> None:
    model, x = _learned("one anchor", 2, n=2_000)
    assert model._state is not None
    statistics = model._state.views(0)["statistics"]
    for row in x[-20:]:
        explained = model.explain_one(_record(row))
        for i, weight in explained.weights.items():
            z = (row[i] - statistics[i, CENTRE]) * statistics[i, INVERSE]
            if abs(z) < Z_STRAIGHT:
                way = row[i] - statistics[i, CENTRE]
                assert explained.contributions[i] == pytest.approx(weight * way, rel=1e-3, abs=1e-6)
            elif np.isfinite(z):
                # Far out the same contribution has less of a slope.
                assert abs(weight * (row[i] - statistics[i, CENTRE])) <= abs(
                    explained.contributions[i]
                )


# ---- anchors


@pytest.mark.parametrize("classes", [2, 3])
def test_anchors_are_told_in_the_users_units(classes: int) -> None:
    model = LLSVMClassifier(step_size="paper", l2=1e-3, n_neighbors=1, n_anchors=4)
    x, labels = stream(3, 1_500, WIDTH, classes)
    model.learn_many(x, labels)
    anchors = model.anchors
    assert len(anchors) == 4
    assert sum(a.mass for a in anchors) == pytest.approx(len(x) - 1, rel=1e-3)
    for row in x[:50]:
        if np.abs(row - x.mean(axis=0)).max() > (1.5 * x.std(axis=0)).min():
            continue  # away from clipping
        scores = model.decision_function_one(_record(row))
        memory = model._state
        assert memory is not None
        anchor = anchors[memory.views(1)["near"][0]]
        for label, score in scores.items():
            weights = anchor.weights[label]
            own = anchor.bias[label] + sum(weights[i] * row[i] for i in range(WIDTH))
            assert own == pytest.approx(score, rel=1e-3, abs=1e-3)


def test_anchors_lie_among_the_records() -> None:
    model, x = _learned("sapl", 2)
    low, high = np.nanmin(x, axis=0), np.nanmax(x, axis=0)
    room = high - low
    for anchor in model.anchors:
        position = np.array([anchor.position[i] for i in range(WIDTH)])
        assert (position > low - room).all()
        assert (position < high + room).all()


def test_a_model_that_has_learned_nothing_has_nothing_to_show() -> None:
    model = SAPLClassifier()
    assert model.anchors == []
    with pytest.raises(ValueError, match="nothing has been learned"):
        model.explain_one({"a": 1.0})
    model.learn_one({"a": 1.0}, "x")
    with pytest.raises(ValueError, match="has not been seen"):
        model.explain_one({"a": 1.0}, "y")
