"""What is said of a model is what the model says, for every kind of model."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from river import dummy, linear_model

from stream_llsvm import CommitteeClassifier, FernsClassifier, LLSVMClassifier, SAPLClassifier
from stream_llsvm.dashboard.map import candidates
from stream_llsvm.dashboard.model_view import MemberChoice, ModelView
from stream_llsvm.dashboard.recent_records import Recent, violations
from stream_llsvm.learners.base import LocalClassifier
from stream_llsvm.model.explain import MemberReport
from tests.dashboard.support import Clock, Run, quadrants, sendable
from tests.learners.support import ALL_LEARNERS, small

PARTS = {"mixture", "relevance", "health", "map", "whys"}


def seen(model: Any, rows: Any, labels: Any, names: Any = None) -> Any:
    run = Run(model)
    run.learn(rows, labels, names)
    return sendable(ModelView(Clock()).look(run.copy, run.recent))


@pytest.mark.parametrize("kind", ALL_LEARNERS)
def test_every_learner_can_be_looked_at(kind: type[LocalClassifier]) -> None:
    run = Run(small(kind))
    assert ModelView().look(run.model, []) is None
    run.learn(*quadrants(400))
    view = ModelView()
    view.replay(*run.followed(*quadrants(20, 1)))
    frame = sendable(view.look(run.copy, run.recent))
    assert set(frame) == PARTS
    assert [one["name"] for one in frame["mixture"]] == [r.name for r in run.model.mixture]
    assert sum(one["weight"] for one in frame["mixture"]) == pytest.approx(1.0, abs=1e-3)
    has_anchors = bool(run.model.anchors)
    assert (frame["map"] is not None) == has_anchors
    assert frame["health"]["non_finite"] == 0
    assert frame["health"]["state_bytes"] == run.model._state.state.nbytes
    assert (frame["health"]["anchor_moves"] > 0) == has_anchors
    assert bool(frame["relevance"]) == bool(run.model.feature_relevance)
    assert 1 <= len(frame["whys"]) <= 8


@pytest.mark.parametrize("kind", ALL_LEARNERS)
@pytest.mark.parametrize("classes", [1, 2, 26])
def test_any_number_of_classes_and_features(kind: type[LocalClassifier], classes: int) -> None:
    rng = np.random.default_rng(0)
    for features in (1, 2, 5):
        labels = [f"class {c}" for c in rng.integers(0, classes, 200)]
        frame = seen(small(kind), rng.normal(size=(200, features)), labels)
        if frame["map"] is not None:
            planes = {1: "value", 2: "features"}
            assert frame["map"]["plane"] == planes.get(features, "projection")
            assert (frame["map"]["regions"] is not None) == (features == 2)
            assert all(len(one["share"]) == classes for one in frame["map"]["anchors"])


@pytest.mark.parametrize("model", [dummy.PriorClassifier(), linear_model.LogisticRegression()])
def test_other_models_of_rivers_have_empty_parts(model: Any) -> None:
    recent = [Recent(i, "a", {"x": 1.0}, True, i > 2, 0.9) for i in range(6)]
    frame = sendable(ModelView().look(model, recent))
    assert set(frame) == PARTS
    assert frame["map"] is None
    assert frame["mixture"] == frame["relevance"] == frame["whys"] == []
    assert frame["health"]["violations"] == 0.5
    assert frame["health"]["weight_norm"] is None


def test_relevance_is_the_highest_thirty() -> None:
    rows = np.random.default_rng(0).normal(size=(600, 40))
    frame = seen(CommitteeClassifier(members=("memory",)), rows, (rows[:, 7] > 0).tolist())
    assert len(frame["relevance"]) == 30
    assert frame["relevance"][0][0] == "7"
    values = [value for _, value in frame["relevance"]]
    assert values == sorted(values, reverse=True)


def test_names_and_labels_are_text_and_short() -> None:
    names = [("a", 1), "<script>alert(1)</script>" * 100]
    rows, labels = quadrants(200)
    odd = {"same": "\ud800 half a character", "other": "x" * 1_000}
    told = [odd[label] for label in labels]
    run, view = Run(SAPLClassifier(n_anchors=10)), ModelView(Clock())
    run.learn(rows, told, names)
    view.replay(*run.followed(rows, told))
    frame: Any = sendable(view.look(run.copy, run.recent))
    assert "('a', 1)" in frame["map"]["axes"]
    texts = [*frame["map"]["axes"], *frame["map"]["classes"], frame["whys"][0]["label"]]
    assert all(isinstance(text, str) and len(text) <= 200 for text in texts)


def test_violations_are_truths_that_were_given_too_little() -> None:
    fine = Recent(1, "a", {}, "yes", "yes", 0.74)
    unsure, wrong = fine._replace(sure=0.72), fine._replace(prediction="no", sure=0.99)
    unknown, unpredicted = fine._replace(label=None), fine._replace(prediction=None)
    assert violations([unknown, unpredicted]) is None
    assert violations([fine, unsure, wrong, fine, unknown]) == 0.5
    assert math.log(0.74 / 0.26) > 1 > math.log(0.72 / 0.28)


def test_the_weights_grow_and_their_norm_with_them() -> None:
    rows, labels = quadrants(1_000)
    run, view, clock = Run(SAPLClassifier()), None, Clock()
    norms = []
    view = ModelView(clock)
    for begin in (0, 500):
        run.learn(rows[begin : begin + 500], labels[begin : begin + 500])
        clock.now += 10
        frame: Any = view.look(run.copy, run.recent)
        norms.append(frame["health"]["weight_norm"])
    assert 0 < norms[0] < norms[1]


def test_looking_changes_nothing_and_ends_in_time() -> None:
    """A wide model with many classes: whatever it costs once, it costs seldom."""
    rng = np.random.default_rng(0)
    rows, labels = rng.normal(size=(300, 400)), [int(c) for c in rng.integers(0, 10, 300)]
    run = Run(LLSVMClassifier(n_anchors=300))
    run.learn(rows, labels)
    copy = run.copy
    assert copy._state is not None
    before = copy._state.state.tobytes()
    view = ModelView()
    view.replay(*run.followed(rows[:20], labels[:20]))
    for _ in range(5):
        frame: Any = view.look(copy, run.recent)
    assert copy._state.state.tobytes() == before
    assert len(frame["map"]["anchors"]) <= 300
    assert all(len(one["weights"]) == 8 for one in frame["map"]["anchors"])
    assert frame["whys"]
    assert all(len(why["contributions"]) == 12 for why in frame["whys"])


def reports(*weights: float) -> list[MemberReport]:
    return [MemberReport("-", True, (w, 0.0), 0.5, 0.5, 0.0) for w in weights]


def test_another_is_shown_only_when_it_is_ahead_for_a_while() -> None:
    run = Run(CommitteeClassifier(members=("anchors:1", "anchors:8", "anchors:20")))
    run.learn(*quadrants(30))
    memory, clock = run.model._state, Clock()
    assert candidates(memory) == [1, 2]
    choice = MemberChoice(clock)
    assert choice.choose(memory, reports(9.0, 1.0, 2.0)) == 2
    for _ in range(20):  # hardly ahead, for ever
        clock.now += 5
        assert choice.choose(memory, reports(9.0, 2.2, 2.0)) == 2
    for seconds, expected in ((0, 2), (6, 2), (6, 1), (1, 1)):
        clock.now += seconds
        assert choice.choose(memory, reports(9.0, 4.0, 2.0)) == expected
    # Ahead, and not, and ahead again: it begins to count anew.
    for seconds, weight, expected in ((0, 9.0, 1), (8, 1.0, 1), (8, 9.0, 1), (8, 9.0, 1)):
        clock.now += seconds
        assert choice.choose(memory, reports(0.0, 4.0, weight)) == expected
    clock.now += 8
    assert choice.choose(memory, reports(0.0, 4.0, 9.0)) == 2


def test_a_linear_machine_is_shown_if_there_are_no_others() -> None:
    run = Run(CommitteeClassifier(members=("anchors:1", "memory")))
    run.learn(*quadrants(30))
    assert MemberChoice(Clock()).choose(run.model._state, reports(1.0, 1.0)) == 0
    ferns = Run(FernsClassifier())
    ferns.learn(*quadrants(30))
    assert MemberChoice(Clock()).choose(ferns.model._state, reports(1.0)) is None
