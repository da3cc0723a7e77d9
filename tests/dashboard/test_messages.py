"""What frames hold, of runs of all kinds."""

from __future__ import annotations

import json
import math
import threading
import time
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from river import base, dummy, naive_bayes

from stream_llsvm import CommitteeClassifier, Decision, EngineError
from stream_llsvm.dashboard.look import Status
from stream_llsvm.dashboard.messages import decision_shown
from stream_llsvm.dashboard.model_copy import copy_of
from stream_llsvm.engine.checkpoints import Checkpoints
from stream_llsvm.engine.class_scores import ClassScores
from stream_llsvm.engine.decisions import Decisions
from stream_llsvm.engine.late_labels import Waiting
from stream_llsvm.limits import LABEL_BYTES
from stream_llsvm.model import notices as compiling
from tests.dashboard.live import Fed, Live, live, rows, stream, wait_for

STATUS = {
    "state", "since", "text", "model", "source", "records", "predicted", "learned", "rate", "lag",
    "rejected", "reasons", "started", "checkpoint", "drifts", "features", "classes",
    "late", "gave_up", "waited",
}  # fmt: skip
POINT = {
    "id", "time", "records", "learned", "rate", "windowed", "fading", "cumulative", "majority",
    "no_change",
    "kappa", "kappa_m", "kappa_t", "macro_f1", "log_loss", "estimated", "overconfidence",
    "by_class", "fields_moved", "most_drift", "predict_p50", "predict_p95",
    "predict_p99", "learn_p50", "learn_p95", "learn_p99", "lag", "rejected", "members", "steps",
    "g_mean", "roc_auc", "pr_auc", "cost", "coverage", "set_size", "held",
}  # fmt: skip
FRAME = {
    "id", "time", "status", "task", "point", "scores", "score_list", "window", "confusion", "lag",
    "estimated", "by_class", "sureness", "input", "cohorts", "decision",
    "labels", "keys", "rounds", "challengers", "events", "dead_letters", "fields", "model",
}  # fmt: skip
MODEL = {"mixture", "relevance", "health", "map", "whys"}


def check(frame: dict[str, Any]) -> None:
    """See that a frame has all its parts, only finite numbers, and no long texts."""
    assert set(frame) == FRAME
    assert set(frame["status"]) == STATUS
    assert set(frame["point"]) == POINT
    assert frame["model"] is None or set(frame["model"]) == MODEL
    confusion = frame["confusion"]
    n = len(confusion["classes"])
    assert n <= 41
    for table in (confusion["table"], confusion["cumulative"]):
        assert [len(row) for row in table] == [n] * n
    assert len(confusion["since"]) == n
    assert len(frame["events"]) <= 50
    walk({k: v for k, v in frame.items() if k != "model"})


def walk(value: Any) -> None:
    if isinstance(value, dict):
        for key, inner in value.items():
            walk(key)
            walk(inner)
    elif isinstance(value, list):
        for inner in value:
            walk(inner)
    elif isinstance(value, str):
        assert len(value) <= 500
    elif isinstance(value, float):
        assert math.isfinite(value)


def settled(run: Live, records: int) -> dict[str, Any]:
    """Return a frame after so many records, with the model if there is one to show."""
    frame = run.until(lambda frame: frame["status"]["records"] >= records)
    check(frame)
    return frame


def test_a_run_with_labels() -> None:
    with live(rows(500), CommitteeClassifier()) as run:
        settled(run, 500)
        frame = run.until(lambda f: f["model"] and f["model"]["whys"])
        check(frame)
        status = frame["status"]
        assert (status["model"], status["source"]) == ("CommitteeClassifier", "a list")
        assert (status["predicted"], status["learned"]) == (500, 500)
        assert (status["features"], status["classes"], status["lag"]) == (2, 2, None)
        assert status["checkpoint"] is None and frame["labels"] is None and frame["lag"] is None
        scores = run.engine.progress.scores.report()
        assert frame["scores"] == json.loads(json.dumps(scores))
        assert frame["point"]["windowed"] == scores["windowed"]["accuracy"]
        assert sum(frame["point"]["members"]) == pytest.approx(1)
        assert len(frame["point"]["members"]) == len(frame["model"]["mixture"])
        now, past = frame["model"]["mixture"], frame["point"]["steps"]
        assert [len(one["steps"]) for one in now] == [len(each) for each in past]
        weights = [member["weight"] for member in frame["model"]["mixture"]]
        assert frame["point"]["members"] == pytest.approx(weights, abs=0.2)
        assert sorted(frame["confusion"]["classes"]) == ["c0", "c1"]
        assert sum(map(sum, frame["confusion"]["table"])) == 499  # no answer to the first record
        assert frame["confusion"]["table"] == frame["confusion"]["cumulative"]


def test_what_the_answers_promise_before_their_labels() -> None:
    """Labels come for the first 200 of 400 records; all answers count in the estimate."""
    given = rows(400)
    for row in given[200:]:
        row["label"] = None
    with live(given, CommitteeClassifier(), window=100) as run:
        frame = settled(run, 400)
        scores = run.engine.progress.scores
        assert isinstance(scores, ClassScores)
        assert scores.estimate.n == 399  # no answer to the first record
        assert frame["estimated"] == scores.estimate.means()
        assert frame["point"]["estimated"] == frame["estimated"]["windowed"]
        assert frame["scores"]["windowed"]["estimated"] == frame["estimated"]["windowed"]
        seen = frame["sureness"]
        assert sum(seen["windowed"]["answers"]) == 100
        assert sum(seen["cumulative"]["answers"]) == 399
        assert sum(seen["windowed"]["labelled"]) == 100
        assert sum(seen["cumulative"]["labelled"]) == 199
        right = [
            n * share
            for n, share in zip(
                seen["windowed"]["labelled"], seen["windowed"]["right"], strict=True
            )
            if n
        ]
        accuracy = frame["scores"]["windowed"]["accuracy"]
        assert sum(right) == pytest.approx(100 * accuracy, rel=1e-3)
        told = {one["name"]: one for one in frame["by_class"]}
        assert set(told) == {"c0", "c1"}
        assert sum(one["support"] for one in told.values()) == 100
        for share in ("labels", "answers"):
            assert sum(one[share] for one in told.values()) == pytest.approx(1, abs=1e-3)
        report = run.engine.report()
        assert report["estimated"] == scores.estimate.means()
        assert {one["class"] for one in report["by_class"]} == {"c0", "c1"}


def test_when_a_class_was_first_seen() -> None:
    records = [*rows(100, classes=1), *rows(50, classes=1)]
    records[120]["label"] = "late"
    with live(records) as run:
        frame = settled(run, 150)
        assert frame["confusion"]["classes"] == ["c0", "late"]
        assert frame["confusion"]["since"] == [1, 121]


def test_a_run_without_any_label() -> None:
    records = [{"x": row["x"], "y": row["y"], "id": row["id"]} for row in rows(100)]
    with live(records) as run:
        frame = settled(run, 100)
        assert frame["scores"] == {}
        assert frame["point"]["windowed"] is None
        assert frame["point"]["predict_p50"] is not None and frame["point"]["learn_p50"] is None
        assert frame["model"] is None
        assert frame["confusion"]["classes"] == []
        assert frame["status"]["learned"] == 0


def test_a_run_of_one_class() -> None:
    with live(rows(100, classes=1), CommitteeClassifier()) as run:
        frame = settled(run, 100)
        assert frame["confusion"]["classes"] == ["c0"]
        assert frame["scores"]["windowed"]["kappa"] == 0


def test_sixty_classes_are_folded_into_forty_and_others() -> None:
    records = rows(3_000, classes=60)
    few = [f"c{i}" for i in range(20)]
    records = [row for i, row in enumerate(records) if row["label"] not in few or i % 10 == 0]
    with live(records) as run:
        frame = settled(run, len(records))
        confusion = frame["confusion"]
        assert (len(confusion["classes"]), confusion["others"]) == (41, 20)
        assert confusion["classes"][-1] == "(others)"
        assert not set(confusion["classes"]) & set(few)
        told = sum(map(sum, confusion["cumulative"]))
        scores = run.engine.progress.scores
        assert isinstance(scores, ClassScores)
        assert told == int(scores.confusion.sum())
        support = {row["label"]: 0 for row in records}
        for row in records:
            support[row["label"]] += 1
        for name, row in zip(confusion["classes"][:-1], confusion["cumulative"], strict=False):
            assert support[name] - sum(row) in (0, 1)
        assert frame["status"]["classes"] == 60


@pytest.mark.parametrize("model", [naive_bayes.GaussianNB(), dummy.NoChangeClassifier()])
def test_a_model_of_river_that_is_not_ours(model: Any) -> None:
    with live(rows(200), model) as run:
        frame = settled(run, 200)
        assert frame["status"]["model"] == type(model).__name__
        assert frame["point"]["members"] == []
        assert frame["model"] is None


HOSTILE = ["<script>alert(1)</script>", "\"'\\\n\t\0", "😀" * 400, "\u202e\u2028", "x" * 5_000, ""]


def test_names_that_are_meant_to_hurt_are_only_text() -> None:
    records = [
        {name: row["x"] + i for i, name in enumerate(HOSTILE) if name}
        | {"label": HOSTILE[row["id"] % len(HOSTILE)], "id": row["id"]}
        for row in rows(200)
    ]
    with live(records, CommitteeClassifier()) as run:
        run.engine.progress.note("drift", HOSTILE[0] + "y" * 9_000)
        frame = settled(run, 200)
        labels = [name[:200] for name in HOSTILE if len(name.encode()) <= LABEL_BYTES]
        assert frame["confusion"]["classes"] == labels
        assert frame["events"][0]["text"].startswith("<script>")
        answer = run.get("/api/snapshot")
        assert answer.headers["content-type"] == "application/json"
        features = run.engine.model.features
        assert set(features) == {name for name in HOSTILE if name}


def test_labels_of_any_kind_are_told_apart() -> None:
    kinds: list[Any] = [1, "1", True, (1, 2), 2.5, "\ud800"]
    records = [row | {"label": kinds[row["id"] % len(kinds)]} for row in rows(120)]
    with live(records) as run:
        frame = settled(run, 120)
        assert frame["confusion"]["classes"] == ["1", "1 (2)", "(1, 2)", "2.5", "?"]


def test_what_fields_were_taken_for() -> None:
    records = rows(300)
    for i, one in enumerate(records):
        one |= {"city": f"city {i % 7}", "at": "2026-01-31T12:00", "odd": "a" if i % 10 else 1.5}
        if i % 4 == 0:
            one["y"] = None
    with live(records) as run:
        told = settled(run, 300)["fields"]
    assert told["known"] == 5
    fields = {one["name"]: one for one in told["fields"]}
    kinds = {name: one["kind"] for name, one in fields.items()}
    assert kinds == {"x": "number", "y": "number", "city": "name", "at": "time", "odd": "name"}
    assert fields["y"]["missing"] == 0.25
    assert (fields["city"]["distinct"], fields["city"]["example"]) == (7, "city 0")
    assert not any(one["about"] for one in told["fields"])
    assert fields["odd"]["share"] == {"number": 0.1, "name": 0.9}
    assert fields["x"]["distinct"] is None and fields["x"]["missing"] == 0


def test_of_many_fields_the_first_are_told() -> None:
    records = [
        {**{f"f{j}": float(i + j) for j in range(100)}, **one} for i, one in enumerate(rows(60))
    ]
    with live(records) as run:
        frame = settled(run, 60)
    assert frame["fields"]["known"] == 102
    assert len(frame["fields"]["fields"]) == 60


def test_labels_that_come_later() -> None:
    records = rows(100)
    late = [{"id": r["id"], "label": r["label"]} for r in records[:60]] + [{"id": "no", "label": 1}]
    source = Fed([{k: r[k] for k in ("x", "y", "id")} for r in records], key="id")
    labels = Fed(late[:40], key="id")
    with live(source=source, labels=labels, waiting=Waiting(1_000)) as run:
        settled(run, 100)
        labels.feed(late[40:])
        frame = run.until(lambda frame: frame["labels"]["matched"] == 60)
        check(frame)
        told = frame["labels"]
        assert (told["waiting"], told["expired"], told["duplicated"]) == (40, 0, 0)
        assert len(told["delays"]["upto"]) == len(told["delays"]["counts"])
        assert sum(told["delays"]["counts"]) == 60
        assert told["delays"]["upto"][-1] is None
        assert frame["status"]["learned"] == 60
        assert frame["point"]["learn_p50"] is not None


def test_rejected_records_are_shown_with_their_place() -> None:
    records = rows(100)
    records[3]["x"] = b"not a number"
    with live(records, max_batch=50) as run:
        frame = settled(run, 100)
        assert frame["status"]["rejected"] == 1
        assert frame["status"]["reasons"] == {"refused by the model": 1}
        (letter,) = frame["dead_letters"]
        assert letter["place"] == "a list:4"
        assert "not a number" in letter["detail"]


def test_checkpoints_and_how_a_run_was_continued(tmp_path: Any) -> None:
    with live(rows(100), checkpoints=Checkpoints(tmp_path), every=0.1) as run:
        frame = run.until(lambda frame: frame["status"]["checkpoint"])
        check(frame)
        made = frame["status"]["checkpoint"]
        assert set(made) == {"number", "time", "record", "failed"}
        assert made["failed"] is False and abs(frame["time"] - made["time"]) < 30
        run.finish()
        assert run.engine.checkpoints is not None
        run.engine.checkpoints.close()
    with live(rows(120), checkpoints=Checkpoints(tmp_path)) as run:
        frame = settled(run, 120)
        assert frame["status"]["checkpoint"]["record"] == 100
        (event,) = (e for e in frame["events"] if e["kind"] == "continued")
        assert "100 records" in event["text"]
        assert frame["confusion"]["since"][0] == 1
        assert run.engine.checkpoints is not None
        run.finish()
        run.engine.checkpoints.close()


def test_a_checkpoint_that_fails_is_shown(tmp_path: Any) -> None:
    folder = tmp_path / "kept"
    checkpoints = Checkpoints(folder)
    with live(rows(100), checkpoints=checkpoints, every=0.1) as run:
        run.until(lambda frame: (frame["status"]["checkpoint"] or {}).get("record") == 100)
        gone = tmp_path / "gone"
        folder.rename(gone)
        run.source.feed(rows(1))
        run.until(lambda frame: frame["status"]["checkpoint"]["failed"])
        gone.rename(folder)
        run.until(lambda frame: not frame["status"]["checkpoint"]["failed"])
        run.finish()
        checkpoints.close()


def test_how_far_behind_the_source_is() -> None:
    source = Fed(rows(50))
    source.behind = {"wind": {"0": 7, "1": 5}}
    with live(source=source) as run:
        frame = run.until(lambda frame: frame["lag"])
        assert frame["lag"] == {"wind[0]": 7, "wind[1]": 5}
        assert frame["status"]["lag"] == frame["point"]["lag"] == 12


def test_what_state_a_run_is_in() -> None:
    source = Fed(rows(50))
    with live(source=source) as run:
        run.until(lambda frame: frame["status"]["state"] == "running")
        frame = run.until(lambda frame: frame["status"]["state"] == "waiting")
        since = frame["status"]["since"]
        assert run.until(lambda f: f["id"] > frame["id"])["status"]["since"] == since
        source.trouble = "no broker answers; trying again"
        frame = run.until(lambda frame: frame["status"]["state"] == "recovering")
        assert frame["status"]["text"] == source.trouble
        source.trouble = ""
        source.feed(rows(10, seed=1))
        frame = run.until(lambda frame: frame["status"]["state"] == "running")
        assert frame["status"]["since"] > since
        kinds = [event["kind"] for event in frame["events"]]
        assert kinds.count("recovering") == kinds.count("reconnected") == 1
        assert run.get("/healthz").json()["ok"] is True
        run.finish()
        frame = run.until(lambda frame: frame["status"]["state"] == "stopped")
        assert frame["status"]["records"] == 60
        assert run.get("/healthz").json()["state"] == "stopped"


def test_a_run_that_fails_says_of_what() -> None:
    source = Fed(rows(50))
    with live(source=source) as run:
        settled(run, 50)
        source.failure = EngineError("the cable\nis out")
        wait_for(lambda: not run.thread.is_alive())
        frame = run.until(lambda frame: frame["status"]["state"] == "failed")
        assert frame["status"]["text"] == "the cable is out"
        answer = run.get("/healthz")
        assert (answer.status_code, answer.json()["ok"]) == (503, False)
        assert isinstance(run.error, EngineError)


def test_a_loop_that_does_not_turn_is_not_well(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stream_llsvm.dashboard.health.SILENT", 0.0)
    with live(rows(50)) as run:
        wait_for(lambda: run.page.monitor.look is not None)
        answer = run.get("/healthz")
        assert answer.status_code == 503
        assert answer.json()["silent_for"] >= 0


def test_the_whole_run_in_columns() -> None:
    with live(rows(50)) as run:
        settled(run, 50)
        wait_for(lambda: len(run.page.builder.history.points()) > 4)
        told = run.get("/api/history").json()
        assert set(told["points"]) == POINT
        assert len({len(column) for column in told["points"].values()}) == 1
        ids = told["points"]["id"]
        assert ids == sorted(set(ids))
        run.engine.progress.note("drift", "made up")
        wait_for(lambda: run.get("/api/history").json()["events"])


def test_a_snapshot_before_the_run_begins_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    from stream_llsvm import Engine, LLSVMClassifier
    from stream_llsvm.dashboard.server import Dashboard

    monkeypatch.setattr("stream_llsvm.dashboard.app._WAIT", 0.2)
    engine = Engine(Fed(), LLSVMClassifier())
    with Dashboard(engine, port=0) as page:
        run = Live(Fed(), page, engine)
        assert run.get("/api/snapshot").status_code == 409
        assert run.get("/metrics").text == ""
        assert run.get("/healthz").json()["state"] == "starting"
        assert run.get("/api/history").json() == {"points": {}, "events": []}
        run.client.close()


def test_a_run_that_compiles_says_so_and_is_well(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stream_llsvm.model.notices._told", False)
    monkeypatch.setattr("stream_llsvm.model.notices.is_ready", lambda kernel: False)
    with live() as run, stream(run.page.address) as events:
        events.until(lambda frame: frame["status"]["state"] == "waiting")
        run.source.feed(rows(50))
        frame = events.until(lambda frame: frame["status"]["state"] == "compiling")
        check(frame)
        assert "The kernels are being compiled" in frame["status"]["text"]
        frame = events.until(lambda frame: frame["status"]["records"] == 50)
        assert frame["status"]["state"] == "running"
        assert frame["status"]["text"] == ""
    assert not compiling.listening


@pytest.mark.parametrize(("state", "silent", "well"), [
    ("running", 9.0, True), ("running", 11.0, False),
    ("compiling", 11.0, True), ("compiling", 301.0, False),
    ("stopped", 1e6, True), ("failed", 0.0, False),
])  # fmt: skip
def test_compiling_may_take_longer(
    state: str, silent: float, well: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    with live() as run:
        wait_for(lambda: run.page.monitor.look)
        run.finish()
        monitor = run.page.monitor
        assert monitor.look is not None
        monitor.look = replace(monitor.look, status=Status(state, 0.0))
        monkeypatch.setattr(type(monitor), "silent_for", silent)
        answer = run.get("/healthz")
        assert answer.status_code == (200 if well else 503)
        assert answer.json()["ok"] is well


def test_a_model_that_is_slow_to_copy_holds_up_no_other_number(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    copied = []

    def slowly(model: Any) -> Any:
        copied.append(time.monotonic())
        end = time.thread_time() + 0.2
        while time.thread_time() < end:
            pass
        return copy_of(model)

    monkeypatch.setattr("stream_llsvm.dashboard.monitor.copy_of", slowly)
    with live(rows(50)) as run, stream(run.page.address) as events:
        events.until(lambda frame: frame["model"])
        seen: list[float] = []
        while len(seen) < 8:
            run.source.feed(rows(20))
            seen.append(events.until(lambda frame: True)["time"])
        assert max(b - a for a, b in pairwise(seen)) < 5.0
        # The next copy is due twenty seconds later.
        assert all(b - a > 15 for a, b in pairwise(copied))


def test_there_is_something_to_show_before_the_first_batch_is_through() -> None:
    slow = threading.Event()

    class Slow(base.Classifier):
        def learn_one(self, x: Any, y: Any) -> None:
            pass

        def predict_proba_one(self, x: Any, **kwargs: Any) -> Any:
            slow.wait(60)
            return {"c0": 1.0}

    try:
        with live(rows(10), Slow()) as run:
            frame = run.snapshot()
            check(frame)
            assert frame["status"]["state"] == "starting"
            slow.set()
            settled(run, 10)
    finally:
        slow.set()


def test_of_a_decision_about_many_labels_some_are_told() -> None:
    costs = {f"c{i}": {f"c{j}": 1.0 for j in range(30)} for i in range(30)}
    decision = Decision(costs=costs, hold={"label": 7, "recall": 0.8})
    told = decision_shown(Decisions(decision, {f"c{i}": 2.0 for i in range(30)}).in_force())
    assert told is not None
    assert [len(told["costs"]), len(told["costs"]["c0"]), len(told["class_weight"])] == [20] * 3
    assert told["hold"] == {"label": "7", "recall": 0.8}
    assert (told["threshold"], told["coverage"]) == (0.5, None)
    assert decision_shown(Decisions().in_force()) is None
