"""Challengers: they learn what they would alone, never harm the champion, and take its place."""

from __future__ import annotations

import random
import re
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from river import base, dummy, linear_model, stats

from stream_llsvm import (
    CommitteeClassifier,
    Engine,
    EngineError,
    KeyedClassifier,
    LLSVMClassifier,
    LLSVMRegressor,
    PegasosClassifier,
    PegasosRegressor,
    SAPLClassifier,
)
from stream_llsvm.connectors import ListSource
from stream_llsvm.engine.challengers import checked_name, kept_of
from stream_llsvm.engine.checkpoints import Checkpoints, read_checkpoint
from stream_llsvm.engine.requests import RequestError
from stream_llsvm.engine.resume import contents_of
from stream_llsvm.learners.load import from_payload
from stream_llsvm.model.file import ModelFileError
from tests.engine.test_engine import Columns, FetchBuffer, Kept, model, rows, source
from tests.learners.support import everything, taught


def sapl() -> SAPLClassifier:
    return SAPLClassifier(n_anchors=12, n_neighbors=4)


def without_label(of: list[dict[str, Any]]) -> list[tuple[dict[str, Any], Any]]:
    return [({k: r[k] for k in "abc"}, r["y"]) for r in of]


class Broken(base.Classifier):
    """Fails at its seventieth record, as no model should."""

    def __init__(self) -> None:
        self.seen = 0

    def learn_one(self, x: dict[Any, Any], y: Any) -> None:
        self.seen += 1
        if self.seen == 70:
            raise ZeroDivisionError("nothing to divide by")

    def predict_proba_one(self, x: dict[Any, Any], **kwargs: Any) -> dict[Any, float]:
        return {0: 1.0}


@pytest.mark.parametrize("kind", [ListSource, Columns])
@pytest.mark.parametrize("size", [1, 37, 1_000])
def test_each_learns_what_it_would_alone(kind: type[ListSource], size: int) -> None:
    data = rows(300)
    engine = Engine(
        kind(data, label="y", key="id"), model(), challengers={"sapl": sapl()}, max_batch=size
    )
    report = engine.run()
    alone = Engine(kind(data, label="y", key="id"), model(), max_batch=size)
    alone.run()
    assert everything(engine.model) == everything(alone.model)
    fresh = sapl()
    taught(fresh, without_label(data))
    assert everything(engine.models["sapl"]) == everything(fresh)
    (one,) = report["challengers"]
    by_itself = Engine(kind(data, label="y", key="id"), sapl(), max_batch=size).run()
    assert one["scores"] == by_itself["scores"]
    assert (one["learned"], one["compared"], one["verdict"]) == (300, 299, "undecided")


def test_who_is_better_is_told_once_and_where_the_difference_lies() -> None:
    data = rows(3_000)
    engine = Engine(Columns(data, label="y"), PegasosClassifier(), challengers={"sapl": sapl()})
    (one,) = engine.run()["challengers"]
    wrong = 1 - engine.progress.scores.report()["cumulative"]["accuracy"]
    own = 1 - one["scores"]["cumulative"]["accuracy"]
    assert one["verdict"] == "better"
    assert one["difference"] == pytest.approx(own - wrong, abs=1e-9)
    assert one["low"] < one["difference"] < one["high"] < 0
    told = [event["text"] for event in engine.progress.events if event["kind"] == "verdict"]
    assert len(told) == 1
    assert re.fullmatch(
        r"sapl errs less than original \(by 0\.\d{4}, between 0\.\d{4} and 0\.\d{4}, over [\d,]+ "
        r"records\)",
        told[0],
    )


def test_one_that_fails_is_dropped_and_the_champion_goes_on(tmp_path: Path) -> None:
    data = rows(300)
    challengers = {"broken": Broken(), "sapl": sapl()}
    engine = Engine(source(data), model(), challengers=challengers, max_batch=50)
    report = engine.run()
    alone = Engine(source(data), model(), max_batch=50)
    alone.run()
    assert everything(engine.model) == everything(alone.model)
    assert report["dropped"] == {"broken": "ZeroDivisionError: nothing to divide by"}
    assert [one["name"] for one in report["challengers"]] == ["sapl"]
    (event,) = [e for e in engine.progress.events if e["kind"] == "challenger dropped"]
    assert "broken failed" in event["text"]


def test_one_that_was_dropped_stays_so(tmp_path: Path) -> None:
    for _ in range(2):
        kept = Checkpoints(tmp_path)
        challengers = {"broken": Broken()}
        engine = Engine(
            source(rows(300)), model(), challengers=challengers, checkpoints=kept, trust_pickle=True
        )
        engine.run(150)
        kept.close()
        assert list(engine.report()["dropped"]) == ["broken"]
        assert list(engine.models) == ["original"]


def test_late_labels_and_weights_teach_challengers_too() -> None:
    data = rows(400)
    for i, row in enumerate(data):
        row["w"] = (1.0, 0.0, 2.0)[i % 3]
    sink = Kept()
    unlabelled = [{k: v for k, v in row.items() if k != "y"} for row in data]
    labels = FetchBuffer([{"id": r["id"], "y": r["y"]} for r in data], sink, 400)
    engine = Engine(
        source(unlabelled, weight="w"),
        model(),
        challengers={"sapl": sapl()},
        sink=sink,
        labels=labels,
        max_batch=50,
    )
    (one,) = engine.run()["challengers"]
    fresh = sapl()
    for row in data:
        fresh.predict_proba_one({k: row[k] for k in "abc"})
    for row in data:
        fresh.learn_one({k: row[k] for k in "abc"}, row["y"], w=row["w"])
    assert everything(engine.models["sapl"]) == everything(fresh)
    assert one["learned"] == engine.progress.counts["learned"] == 267
    assert engine.progress.counts["weightless"] == 133


def test_numbers_are_compared_by_what_labels_spread_by() -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=(2_000, 2))
    data = [{"a": a, "b": b, "y": 1e6 * (2 * a - b)} for a, b in x.tolist()]
    mean = dummy.StatisticRegressor(stats.Mean())
    engine = Engine(
        ListSource(data, label="y"), LLSVMRegressor(), challengers={"mean": mean},
    )  # fmt: skip
    (one,) = engine.run()["challengers"]
    assert one["verdict"] == "worse"
    assert 0.2 < one["difference"] < 0.8


def test_a_challenger_by_key_refuses_what_has_none() -> None:
    data = rows(200)
    for i, row in enumerate(data):
        if i % 4:
            row["who"] = f"w{i % 5}"
    keyed = KeyedClassifier(sapl(), key="who")
    engine = Engine(ListSource(data, label="y"), model(), challengers={"keyed": keyed})
    report = engine.run()
    (one,) = report["challengers"]
    assert report["learned"] == 200 and report["rejected"] == {}
    assert (one["learned"], one["refused"]) == (150, 50)
    engine.promote("keyed")
    assert engine.model is keyed


@pytest.mark.parametrize(
    ("challengers", "error", "said"),
    [
        ({"original": sapl()}, ValueError, "two models called 'original'"),
        ({"../x": sapl()}, ValueError, "up to 64 letters"),
        ({"x": PegasosRegressor()}, ValueError, "all learn classes, or all numbers"),
        ({"x": object()}, TypeError, "neither"),
    ],
)
def test_what_cannot_be_a_challenger(challengers: Any, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        Engine(source(rows(1)), model(), challengers=challengers)


def test_a_model_cannot_be_its_own_challenger() -> None:
    one = model()
    with pytest.raises(ValueError, match="make a copy"):
        Engine(source(rows(1)), one, challengers={"x": one})


def test_checkpoints_must_be_able_to_hold_challengers(tmp_path: Path) -> None:
    river = {"river": linear_model.LogisticRegression()}
    with pytest.raises(EngineError, match="the challenger river"):
        Engine(source(rows(1)), model(), challengers=river, checkpoints=Checkpoints(tmp_path))


def test_a_promotion_changes_who_answers_and_both_learn_on(tmp_path: Path) -> None:
    data, sink = rows(400), Kept()
    engine = Engine(source(data), model(), challengers={"sapl": sapl()}, sink=sink, max_batch=64)
    engine.run(200)
    engine.promote("sapl")
    report = engine.run()
    alone = {"original": model(), "sapl": sapl()}
    for i, (x, y) in enumerate(without_label(data)):
        told = {name: one.predict_one(x) for name, one in alone.items()}
        assert sink.results[i].prediction == told["original" if i < 200 else "sapl"]
        for one in alone.values():
            one.learn_one(x, y)
    for name, one in alone.items():
        assert everything(engine.models[name]) == everything(one)
    assert report["champion"] == "sapl"
    assert [one["name"] for one in report["challengers"]] == ["original"]
    assert report["challengers"][0]["compared"] == 200


def test_anybody_may_ask_while_it_runs() -> None:
    asked: list[Any] = []

    class Asking(ListSource):
        def poll(self, max_records: int, timeout: float) -> Any:
            batch = super().poll(max_records, timeout)
            if not asked:
                asked.extend([engine.ask("promote", "sapl"), engine.ask("promote", "nobody")])
            return batch

    engine = Engine(
        Asking(rows(400), label="y"), model(), challengers={"sapl": sapl()}, max_batch=20
    )
    thread = threading.Thread(target=engine.run)
    thread.start()
    thread.join()
    assert asked[0].result(10).startswith("sapl is the champion at record ")
    with pytest.raises(RequestError, match="no challenger nobody: there are original"):
        asked[1].result(10)
    assert engine.ask("promote", "sapl").result(1) == "sapl is the champion already"
    with pytest.raises(RequestError, match="no folder"):
        engine.ask("checkpoint", "x").result(1)


def test_a_run_goes_on_with_all_models(tmp_path: Path) -> None:
    data = rows(300)
    quiet = Engine(source(data), model(), challengers={"sapl": sapl()}, max_batch=10)
    quiet.run(120)
    quiet.promote("sapl")
    quiet.run()
    for stop in (50, 70, 0, 60, 120):
        kept = Checkpoints(tmp_path)
        engine = Engine(
            source(data), model(), challengers={"sapl": sapl()}, checkpoints=kept, max_batch=10
        )
        if stop == 0:
            engine.promote("sapl")
        else:
            engine.run(stop)
        kept.close()
    for name in ("original", "sapl"):
        assert everything(engine.models[name]) == everything(quiet.models[name])
    mine, other = engine.challengers.payload(), quiet.challengers.payload()
    for each in (mine, other):
        each["all"]["original"]["progress"].pop("seconds")
        each["all"]["original"].pop("model")
    np.testing.assert_equal(mine, other)
    assert engine.report()["champion"] == "sapl"


def test_who_is_wanted_may_change_between_runs(tmp_path: Path) -> None:
    data = rows(300)

    def going(n: int, **how: Any) -> Engine:
        kept = Checkpoints(tmp_path)
        engine = Engine(source(data), model(), checkpoints=kept, **how)
        engine.run(n)
        kept.close()
        return engine

    going(100, challengers={"sapl": sapl(), "pegasos": PegasosClassifier()})
    assert list(going(50).models) == ["original", "sapl", "pegasos"]
    engine = going(50, challengers={"pegasos": PegasosClassifier(), "second": sapl()})
    assert list(engine.models) == ["original", "pegasos", "second"]
    kinds = {event["kind"] for event in engine.progress.events}
    assert {"challenger left out", "challenger"} <= kinds
    learned = [one["learned"] for one in engine.report()["challengers"]]
    assert learned == [200, 50]
    assert list(going(10, challengers={}).models) == ["original"]


def test_a_model_by_key_that_was_promoted_goes_on(tmp_path: Path) -> None:
    data = [row | {"c": i % 3} for i, row in enumerate(rows(300))]

    def going(key: str | None, n: int, champion: Any = None) -> Engine:
        kept = Checkpoints(tmp_path)
        beside = None if key is None else {"keyed": KeyedClassifier(model(), key=key)}
        try:
            engine = Engine(source(data), champion or model(), challengers=beside, checkpoints=kept)
            engine.run(n)
            if "keyed" in engine.challengers:
                engine.promote("keyed")
        finally:
            kept.close()
        return engine

    going("c", 100)
    for key in ("c", None):
        engine = going(key, 50)
        assert engine.report()["champion"] == "keyed"
        assert isinstance(engine.model, KeyedClassifier)
    assert engine.progress.counts["records"] == 200
    for key, champion in (("a", None), ("c", KeyedClassifier(model(), key="c"))):
        with pytest.raises(EngineError, match="a model for each 'c'"):
            going(key, 10, champion)


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("kept")
    checkpoints = Checkpoints(folder)
    engine = Engine(
        source(rows(60)), model(), challengers={"sapl": sapl()}, checkpoints=checkpoints
    )
    engine.run()
    checkpoints.close()
    return read_checkpoint(max(folder.glob("checkpoint-*")))


@pytest.mark.parametrize(
    "change",
    [
        {"champion": 7}, {"champion": "sapl"}, {"champion": "../x"}, {"all": []}, {"dropped": []},
        {"promoted": -1}, {"all": {"x": 1}}, {"all": {"x": {}}}, {"dropped": {"x": 1}},
    ],
)  # fmt: skip
def test_what_no_run_has_written_is_refused(kept: dict[str, Any], change: dict[str, Any]) -> None:
    contents_of(kept)
    with pytest.raises(ModelFileError):
        contents_of(kept | {"challengers": kept["challengers"] | change})
    beside = kept["challengers"]["all"]["sapl"]
    for name in beside:
        with pytest.raises(ModelFileError):
            broken = {"all": {"sapl": {**beside, name: None}}}
            contents_of(kept | {"challengers": kept["challengers"] | broken})


def test_a_checkpoint_of_before_there_were_any_is_read(kept: dict[str, Any]) -> None:
    older = {name: value for name, value in kept.items() if name != "challengers"}
    assert contents_of(older).challengers == kept_of(None, "classification", from_payload)
    with pytest.raises(ValueError, match="letters"):
        checked_name("")


KILLED = """
import sys
from pathlib import Path
from stream_llsvm import Engine, LLSVMClassifier, SAPLClassifier, KeyedClassifier
from stream_llsvm.connectors import FileSink, FileSource
from stream_llsvm.engine.checkpoints import Checkpoints

data, folder, half = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
print("begun", flush=True)
engine = Engine(
    FileSource([data], label="y"),
    LLSVMClassifier(n_anchors=10, n_neighbors=3),
    challengers={
        "sapl": SAPLClassifier(n_anchors=10, n_neighbors=3),
        "keyed": KeyedClassifier(LLSVMClassifier(n_anchors=8, n_neighbors=3), key="c"),
    },
    sink=FileSink(folder / "out.jsonl"),
    checkpoints=Checkpoints(folder / "checkpoints"),
    every=0.05,
    detector=None,
    clock=lambda: 0.0,
)
for name, until in (("sapl", half), ("keyed", half + half // 2)):
    left = until - engine.progress.counts["records"]
    if left > 0:
        engine.run(left)
    if left >= 0 and engine.challengers.champion != name:
        engine.promote(name)
engine.run()
for name, model in engine.models.items():
    model.save(folder / f"{name}.llsvm")
tests = [(one.name, one.compared, one.difference) for one in engine.challengers.rivals()]
print(engine.progress.counts["records"], engine.challengers.champion, tests)
"""


def test_kill_9_leaves_all_models_and_promotions_as_they_would_be(tmp_path: Path) -> None:
    n, kills = 60_000, 15
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, 3)).round(1)
    y = (x[:, 0] * x[:, 1] > 0).astype(int)
    data = tmp_path / "stream.csv"
    lines = [f"{a},{b},{c},{k}" for (a, b, c), k in zip(x.tolist(), y.tolist(), strict=True)]
    data.write_text("a,b,c,y\n" + "\n".join(lines) + "\n")

    def begin(folder: Path) -> subprocess.Popen[str]:
        folder.mkdir(exist_ok=True)
        command = [sys.executable, "-c", KILLED, str(data), str(folder), str(n // 2)]
        run = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert run.stdout is not None
        assert run.stdout.readline() == "begun\n"
        return run

    undisturbed = begin(tmp_path / "quiet").communicate()[0]
    assert undisturbed.startswith(f"{n} keyed [('original', ")
    # Killed by how much is written, not by the clock: a fast machine is not done too soon.
    chance, written = random.Random(0), (tmp_path / "quiet" / "out.jsonl").stat().st_size
    out = tmp_path / "killed" / "out.jsonl"
    for kill in range(kills):
        run, until = begin(tmp_path / "killed"), written * (kill + chance.random()) / (kills + 1)
        while run.poll() is None and (not out.exists() or out.stat().st_size < until):
            time.sleep(0.001)
        assert run.poll() is None, "the stream was over too soon"
        run.kill()
        run.communicate()
    assert begin(tmp_path / "killed").communicate()[0] == undisturbed
    for name in ("original.llsvm", "sapl.llsvm", "keyed.llsvm", "out.jsonl"):
        mine, other = (tmp_path / which / name for which in ("killed", "quiet"))
        assert mine.read_bytes() == other.read_bytes(), name


def test_a_committee_beside_another_costs_what_it_would_alone() -> None:
    """Records are decoded once, and a challenger is asked and taught nothing twice."""
    data = rows(500)
    beside = CommitteeClassifier(members=("anchors:8", "prior"))
    engine = Engine(Columns(data, label="y"), LLSVMClassifier(), challengers={"committee": beside})
    (one,) = engine.run()["challengers"]
    assert one["learned"] == 500
    assert one["microseconds"] > 0
