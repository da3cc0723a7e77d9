"""Explanations on the page are those of the model that answered, each made once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stream_llsvm import CommitteeClassifier, Engine, LocalSVMClassifier, SAPLClassifier
from stream_llsvm.connectors import ListSource
from stream_llsvm.connectors.base import Batch, Place
from stream_llsvm.dashboard.explanations import Explanations, explained
from stream_llsvm.dashboard.model_copy import restored
from stream_llsvm.dashboard.model_view import ModelView
from stream_llsvm.dashboard.monitor import Monitor
from stream_llsvm.dashboard.recent_records import Recent, Taken
from stream_llsvm.engine.late_labels import Waiting
from stream_llsvm.engine.learner import Answers
from stream_llsvm.learners.pipeline import payload_of
from tests.dashboard.support import Run, quadrants, sendable

MODELS: dict[str, Any] = {
    "sapl": lambda: SAPLClassifier(n_anchors=12),
    "committee": lambda: CommitteeClassifier(members=("anchors:12", "additive", "memory:60")),
    "local": lambda: LocalSVMClassifier(window=80),
}


def member_0(model: Any) -> int:
    return 0


def check_sum(why: Any) -> None:
    """All parts that are shown add up to the score, and the score is for the answer."""
    parts = why["bias"] + why["memory"] + why["rest"] + sum(v for _, v in why["contributions"])
    size = max(abs(v) for v in (why["bias"], why["memory"], why["score"], 1e-3))
    assert parts == pytest.approx(why["score"], abs=1e-3 * size)
    assert sum(why["members"].values()) == pytest.approx(why["score"], abs=1e-3 * size)


def test_a_why_is_the_models_explanation() -> None:
    run = Run(CommitteeClassifier(members=("anchors:12", "additive", "memory", "ferns:8")))
    run.learn(*quadrants(500), names=["a", "b"])
    one, copy = run.recent[-1], run.copy
    why: Any = sendable(explained(copy, one, 0))
    expected = copy.explain_one(one.x, one.prediction)
    assert (why["record"], why["place"]) == (500, "rows:500")
    assert (why["label"], why["truth"]) == (one.prediction, one.label)
    assert why["score"] == pytest.approx(expected.score, rel=1e-3)
    assert dict(why["contributions"]) == pytest.approx(expected.contributions, rel=1e-3)
    assert dict(why["values"]) == pytest.approx(one.x, rel=1e-3)
    assert why["members"] == pytest.approx(expected.members, rel=1e-3)
    assert len(why["voters"]) == len(expected.voters) == 20
    assert sum(anchor["share"] for anchor in why["anchors"]) == pytest.approx(1, abs=1e-3)
    check_sum(why)


def test_what_is_not_listed_is_in_the_rest() -> None:
    run = Run(SAPLClassifier(n_anchors=12))
    run.learn(*quadrants(300, 0, 60))
    why: Any = explained(run.copy, run.recent[-1], 0)
    assert len(why["contributions"]) == len(why["values"]) == 12
    assert [name for name, _ in why["contributions"]] == [name for name, _ in why["values"]]
    assert why["rest"] != 0
    check_sum(why)
    sizes = [abs(v) for _, v in why["contributions"]]
    assert sizes == sorted(sizes, reverse=True)


def test_an_answer_is_explained_by_the_model_that_gave_it() -> None:
    """Not by the one that has learned the record since: that is often of another mind."""
    run, whys = Run(MODELS["committee"]()), Explanations()
    run.learn(*quadrants(80))
    copy, taken = run.followed(*quadrants(50, 1))
    whys.replay(copy, taken, member_0)
    seen = whys.look(0)
    assert {why["label"] == why["truth"] for why in seen} == {True, False}
    later = run.copy
    changed = 0
    for why in seen:
        one = next(one for one in run.recent if one.record == why["record"])
        assert why["label"] == one.prediction
        # Of two classes the one that was answered has a score above 0.
        assert why["score"] > 0
        check_sum(why)
        assert all(voter["distance"] > 0 for voter in why["voters"])
        changed += later.explain_one(one.x, one.prediction).score < 0
    assert changed > 0, "none of them would be explained against the answer by now"


@pytest.mark.parametrize("batch", [1, 7, 1_000])
@pytest.mark.parametrize("name", MODELS)
@given(seed=st.integers(0, 10_000), gaps=st.booleans(), classes=st.integers(2, 4))
@settings(max_examples=5, deadline=None)
def test_every_explanation_adds_up_to_the_score_that_was_given(
    name: str, batch: int, seed: int, gaps: bool, classes: int
) -> None:
    """Whatever comes when: its top class is the answer, and no voter is younger than the record."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(150, 3))
    labels = [f"c{c}" for c in rng.integers(0, classes, 150)]
    records = [
        {f"x{i}": v for i, v in enumerate(row) if not (gaps and rng.random() < 0.2)}
        | ({"y": label} if rng.random() < 0.8 else {})
        for row, label in zip(rows.tolist(), labels, strict=True)
    ]
    given_scores: dict[int, Any] = {}
    watcher = Watcher()
    engine = Engine(
        ListSource(records, label="y"),
        MODELS[name](),
        max_batch=batch,
        max_rejected_ratio=1.0,
        watchers=[watcher],
    )
    twin = MODELS[name]()
    for number, record in enumerate(records, 1):
        x = {k: v for k, v in record.items() if k != "y"}
        given_scores[number] = twin.decision_function_one(x), twin.predict_proba_one(x)
        if "y" in record:
            twin.learn_one(x, record["y"])
    engine.run()
    assert watcher.whys
    for why in watcher.whys:
        scores, proba = given_scores[why["record"]]
        assert why["label"] == max(proba, key=proba.__getitem__)
        assert why["score"] == pytest.approx(scores[why["label"]], rel=1e-3, abs=1e-5)
        assert why["sure"] == pytest.approx(proba[why["label"]], rel=1e-3)
        check_sum(why)
        before = sum("y" in record for record in records[: why["record"] - 1])
        assert all(0 <= voter["age"] < max(1, before) for voter in why["voters"])


class Watcher(Monitor):
    """A monitor that is watched, copies the model at every turn, and explains what comes next."""

    def __init__(self) -> None:
        super().__init__()
        self.watchers, self.view, self.whys = 1, ModelView(), list[Any]()

    def on_turn(self, engine: Engine) -> None:
        """Look at every turn."""
        self._next_look = self._next_copy = 0.0
        super().on_turn(engine)
        self._explain()

    def on_end(self, engine: Engine, error: BaseException | None) -> None:
        """Look for the last time."""
        super().on_end(engine, error)
        self._explain()

    def _explain(self) -> None:
        assert self.look is not None
        assert self.look.details is not None
        answered = self.look.details.answered
        if answered is not None:
            self.view.replay(restored(answered.copied.model), answered.taken)
            self.whys += [why for why in self.view._whys.look(0) if why not in self.whys]


def test_labels_that_come_later_are_learned_before_the_copy_or_end_the_sequel() -> None:
    rows, labels = quadrants(120, 3)
    records = [{"a": a, "b": b, "id": i} for i, (a, b) in enumerate(rows.tolist())]
    late = [{"id": i, "y": label} for i, label in enumerate(labels)]
    watcher = Watcher()
    engine = Engine(
        ListSource(records, label="none", key="id"),
        MODELS["committee"](),
        labels=ListSource(late, label="y", key="id"),
        waiting=Waiting(),
        max_batch=10,
        watchers=[watcher],
    )
    engine.run()
    assert engine.progress.counts["learned"] == 120
    assert len(watcher.whys) > 8
    for why in watcher.whys:
        assert why["score"] > 0
        check_sum(why)


def test_another_model_explains_nothing() -> None:
    run, whys = Run(MODELS["sapl"]()), Explanations()
    run.learn(*quadrants(80))
    _, taken = run.followed(*quadrants(20, 1))
    other = Run(MODELS["sapl"]())
    other.learn(*quadrants(80, 2))
    whys.replay(other.copy, taken, member_0)
    assert whys.look(0) == []


def test_right_and_wrong_answers_are_shown_and_the_newest_come_first() -> None:
    run, whys = Run(MODELS["sapl"]()), Explanations()
    run.learn(*quadrants(300))
    for seed in range(1, 12):
        copy, taken = run.followed(*quadrants(40, seed))
        whys.replay(copy, taken, member_0)
    seen = whys.look(0)
    records = [why["record"] for why in seen]
    assert len(set(records)) == 8
    assert records == sorted(records, reverse=True)
    assert records[0] > 300 + 10 * 40, "one of the last sequel's"
    wrong = sum(why["label"] != why["truth"] for why in seen)
    assert 4 <= wrong <= 7
    assert any(why["anchors"] for why in seen)
    # Beside the map of another member the answers stay; the anchors that gave them do not.
    other = whys.look(None)
    assert [why["record"] for why in other] == records
    assert not any(why["anchors"] for why in other)


def test_each_is_explained_once() -> None:
    run, whys = Run(MODELS["sapl"]()), Explanations()
    run.learn(*quadrants(100))
    copy, taken = run.followed(*quadrants(6, 1))
    again = restored(payload_of(copy))
    whys.replay(copy, taken, member_0)
    first = whys.look(0)
    whys.replay(again, taken, member_0)
    assert all(any(why is old for old in first) for why in whys.look(0)[: len(first)])
    assert len({why["record"] for why in whys.look(0)}) == len(whys.look(0)) <= 6


def test_what_was_refused_or_not_answered_is_left_out() -> None:
    run, whys = Run(MODELS["sapl"]()), Explanations()
    run.learn(*quadrants(50))
    copy, taken = run.followed(*quadrants(6, 1))
    batch, answers, before = taken[0]
    odd_x: list[Any] = [{0: b"text"}, {0: 10**400}]
    batch.records = [*odd_x, *(batch.records or [])]
    batch.labels[:0], batch.places = ["same", "same"], [*batch.places[:2], *batch.places]
    told = Answers(
        [None, None, None, *answers.labels[1:]],
        np.concatenate([[0.0, 0.0], answers.sure]),
        np.zeros(8),
        {0: "no number", 1: "too large"},
    )
    whys.replay(copy, [Taken(batch, told, before)], member_0)
    assert {why["record"] for why in whys.look(0)} == set(range(54, 59))


def test_a_record_that_is_shown_is_kept_whole() -> None:
    run, whys = Run(MODELS["sapl"]()), Explanations()
    run.learn(*quadrants(100, 0, 60))
    copy, taken = run.followed(*quadrants(10, 1, 60))
    whys.replay(copy, taken, member_0)
    for why in whys.look(0):
        kept = whys.record(why["record"])
        assert kept is not None
        one: Recent = next(one for one in run.recent if one.record == why["record"])
        assert kept.one.x == one.x and len(one.x) == 60
    assert whys.record(1) is None


def test_records_with_names_are_explained_by_field() -> None:
    model, whys = SAPLClassifier(n_anchors=12), Explanations()
    records: list[dict[str, Any]] = [
        {"country": "DE" if i % 2 else "SE", "amount": float(i % 7), "ts": "2026-11-19T12:00:00"}
        for i in range(60)
    ]
    labels = ["same" if x["country"] == "DE" else "other" for x in records]
    for x, label in zip(records[:50], labels[:50], strict=True):
        model.learn_one(x, label)
    copy = restored(payload_of(model))
    told, sure = [], []
    for x, label in zip(records[50:], labels[50:], strict=True):
        proba = model.predict_proba_one(x)
        told.append(max(proba, key=lambda one: proba[one]))
        sure.append(max(proba.values()))
        model.learn_one(x, label)
    batch = Batch(
        list(labels[50:]), [Place("a", None, i) for i in range(10)], {}, records=records[50:]
    )
    whys.replay(copy, [Taken(batch, Answers(told, np.array(sure), np.zeros(10), {}), 50)], member_0)
    assert whys.look(0)
    for why in whys.look(0):
        sent: Any = sendable(why)
        assert {name for name, _ in sent["contributions"]} == {"country", "amount", "ts"}
        assert dict(sent["values"])["country"] in ("DE", "SE")
        check_sum(sent)
