"""The arrays say what the single anchors say, and what the model would say there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from stream_llsvm import CommitteeClassifier, LCCClassifier, LLSVMClassifier, SAPLClassifier
from stream_llsvm.kernels.mixer import ALONE, AWAKE, POWER
from stream_llsvm.learners.anchored import AnchorClassifier
from stream_llsvm.learners.base import LocalClassifier
from stream_llsvm.model.anchor_table import answering, masses_of, positions_of, table_of
from stream_llsvm.model.explain import anchors_of, mixed
from tests.oracle_compare import stream

MODELS: dict[str, tuple[type[LocalClassifier], dict[str, Any]]] = {
    "sapl": (SAPLClassifier, {"n_anchors": 20}),
    "flat": (LCCClassifier, {"n_anchors": 20}),
    "one step": (SAPLClassifier, {"n_anchors": 20, "step_size": 1.0}),
    "paper": (SAPLClassifier, {"n_anchors": 20, "step_size": "paper", "l2": 1e-3}),
    "one anchor": (LLSVMClassifier, {"n_anchors": 1}),
    "committee": (CommitteeClassifier, {"members": ("anchors:1", "anchors:12", "memory")}),
}
WIDTH = 4


def learned(name: str, classes: int, n: int = 600) -> tuple[LocalClassifier, int]:
    kind, options = MODELS[name]
    model = kind(**options)
    x, labels = stream(0, n, WIDTH, classes, missing=0.03)
    model.learn_many(x, [f"class {c}" for c in labels])
    assert model._state is not None
    sizes = [member.n_anchors for member in model._state.members]
    return model, int(np.argmax(sizes))


@pytest.mark.parametrize("classes", [1, 2, 5])
@pytest.mark.parametrize("name", MODELS)
def test_places_and_masses_are_those_of_the_single_anchors(name: str, classes: int) -> None:
    model, member = learned(name, classes)
    memory = model._state
    assert memory is not None
    single = anchors_of(memory, model.features, model.classes, member)
    masses = masses_of(memory, member)
    np.testing.assert_allclose(masses, [one.mass for one in single])
    which, columns = np.arange(len(masses)), np.array([0, 3])
    expected = np.array([list(one.position.values()) for one in single])
    some = positions_of(memory, member, which, columns)
    np.testing.assert_allclose(some, expected[:, columns], rtol=1e-6)
    table = table_of(memory, member, which, WIDTH, 8)
    assert table.proba.shape == (len(masses), classes)
    np.testing.assert_allclose(table.proba.sum(axis=1), 1.0)


def own_score(model: LocalClassifier, member: int, x: Any) -> Any:
    """Return each class's score at a place, by the member's own mixer."""
    memory = model._state
    assert memory is not None
    model.predict_one(dict(enumerate(x.tolist())))
    views, own = memory.views(0), memory.experts_of(member)
    trust = views["mixer"][ALONE, own] / (np.sqrt(views["mixer"][POWER, own]) + 1e-6)
    strength = np.repeat(trust[:, None], memory.n_classes, axis=1)
    return mixed(memory, views["scores"][0, 0][own].astype(np.float64), strength)


@pytest.mark.parametrize("classes", [2, 5])
@pytest.mark.parametrize("kind", [SAPLClassifier, LCCClassifier, LLSVMClassifier])
@pytest.mark.parametrize("step_size", ["auto", 1.0])
def test_an_anchor_says_what_is_said_where_it_answers_alone(
    kind: type[AnchorClassifier], step_size: Any, classes: int
) -> None:
    model = kind(n_anchors=15, n_neighbors=1, step_size=step_size, standardize=False)
    x, labels = stream(0, 1_500, WIDTH, classes, missing=0.0)
    model.learn_many(x, labels)
    assert model._state is not None
    table = table_of(model._state, 0, np.arange(15), WIDTH, WIDTH)
    places = positions_of(model._state, 0, np.arange(15), np.arange(WIDTH))
    for j in range(15):
        scores = own_score(model, 0, places[j])
        proba = np.exp(scores - scores.max())
        np.testing.assert_allclose(table.proba[j], proba / proba.sum(), atol=1e-4)
        code = int(scores.argmax())
        for feature in range(WIDTH):
            # So short a way that it is still the nearest, and long enough for 4-byte floats.
            there = places[j] + 0.01 * np.eye(WIDTH)[feature]
            change = (own_score(model, 0, there)[code] - scores[code]) / 0.01
            slope = table.slopes[j][table.columns[j] == feature]
            assert change == pytest.approx(slope[0], rel=0.05, abs=0.02)


def test_a_flat_machine_has_no_slopes() -> None:
    model, member = learned("flat", 3)
    assert model._state is not None
    assert not table_of(model._state, member, np.array([0, 1]), WIDTH, 3).slopes.any()


def test_blocks_and_the_largest_are_the_same_as_all(monkeypatch: pytest.MonkeyPatch) -> None:
    model, member = learned("sapl", 5)
    memory = model._state
    assert memory is not None
    whole = table_of(memory, member, np.arange(20), WIDTH, WIDTH)
    sizes = np.abs(whole.slopes)
    assert (np.diff(sizes, axis=1) <= 0).all()
    monkeypatch.setattr("stream_llsvm.model.anchor_table._BLOCK", 3 * WIDTH * 5)
    blocks = table_of(memory, member, np.arange(20), WIDTH, 2)
    np.testing.assert_allclose(blocks.proba, whole.proba, rtol=1e-5)
    np.testing.assert_allclose(blocks.slopes, whole.slopes[:, :2], rtol=1e-5)
    np.testing.assert_array_equal(blocks.columns, whole.columns[:, :2])
    assert len(table_of(memory, member, np.arange(0), WIDTH, 2).proba) == 0


def test_those_that_answered_share_the_answer() -> None:
    model, member = learned("committee", 3)
    memory = model._state
    assert memory is not None
    masses = masses_of(memory, member)
    place = positions_of(memory, member, np.arange(len(masses)), np.arange(WIDTH))[5]
    model.predict_one(dict(enumerate(place.tolist())))
    near = answering(memory, member)
    assert near[0][0] == 5
    assert sum(share for _, share in near) == pytest.approx(1.0, abs=1e-5)
    memory.views(0)["members"][AWAKE, member] = 0
    assert answering(memory, member) == []


def test_members_without_anchors_have_none() -> None:
    model, _ = learned("committee", 3)
    memory = model._state
    assert memory is not None
    assert len(masses_of(memory, 2)) == 0
    assert answering(memory, 2) == []


@pytest.mark.parametrize("name", MODELS)
def test_squares_and_moves_tell_of_the_weights(name: str) -> None:
    model, member = learned(name, 2)
    memory = model._state
    assert memory is not None
    one, views = memory.members[member], memory.views(1 + member)
    assert one.square(views) > 0
    assert one.moves(views) > 0
    assert memory.non_finite() == 0
    views["biases"][0] = np.nan
    assert memory.non_finite() == views["biases"][0].size
