"""The engine: every record predicted, then learned, once, whatever stops it."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from river import tree

from stream_llsvm import Engine, EngineError, LLSVMClassifier, LLSVMRegressor
from stream_llsvm.connectors import ListSource
from stream_llsvm.connectors.base import (
    Batch,
    Place,
    Position,
    Rejected,
    Result,
    SinkAwayError,
)
from stream_llsvm.engine.checkpoints import Checkpoints
from stream_llsvm.engine.class_scores import ClassScores
from stream_llsvm.engine.late_labels import Waiting
from stream_llsvm.engine.watchers import Watcher
from tests.learners.support import everything, taught

Rows = list[dict[str, Any]]


def rows(n: int, seed: int = 0) -> Rows:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 3))
    y = (x[:, 0] * x[:, 1] > 0).astype(int) + (x[:, 2] > 1)
    names = ("a", "b", "c", "y", "id")
    parts = zip(*x.T.tolist(), y.tolist(), range(n), strict=True)
    return [dict(zip(names, row, strict=True)) for row in parts]


def model() -> LLSVMClassifier:
    return LLSVMClassifier(n_anchors=12, n_neighbors=4)


def learned(of: Rows) -> LLSVMClassifier:
    """Return a model that has learned the rows without any engine."""
    fresh = model()
    taught(fresh, [({k: r[k] for k in "abc"}, r["y"]) for r in of])
    return fresh


def source(of: Rows, **options: Any) -> ListSource:
    return ListSource(of, **({"label": "y", "key": "id"} | options))


class Kept:
    """A sink that is a list."""

    def __init__(self) -> None:
        self.results: list[Result] = []
        self.rejected: list[Rejected] = []

    def write(self, results: Sequence[Any]) -> None:
        for each in results:
            (self.rejected if isinstance(each, Rejected) else self.results).append(each)

    def flush(self) -> None:
        pass

    def close(self) -> None:
        pass


class FetchBuffer(ListSource):
    """Labels that come when so many results have been written."""

    def __init__(self, records: Rows, sink: Kept, most: int) -> None:
        super().__init__(records, label="y", key="id")
        self._sink, self._most = sink, most

    def poll(self, max_records: int, timeout: float) -> Batch | None:
        ready = len(self._sink.results) >= self._most
        return super().poll(max_records, timeout) if ready else None


class Columns(ListSource):
    """The same records, as columns."""

    def poll(self, max_records: int, timeout: float) -> Batch | None:
        batch = super().poll(max_records, timeout)
        if batch is not None:
            assert batch.records is not None
            batch.names = ("a", "b", "c")
            batch.values = np.array([[r[k] for k in "abc"] for r in batch.records])
            batch.records = None
        return batch


@pytest.mark.parametrize("kind", [ListSource, Columns])
@pytest.mark.parametrize("size", [1, 37, 1_000])
def test_the_model_has_learned_what_it_would_have_alone(kind: type[ListSource], size: int) -> None:
    data = rows(300)
    engine = Engine(kind(data, label="y", key="id"), model(), max_batch=size)
    report = engine.run()
    assert everything(engine.model) == everything(learned(data))
    assert report["records"] == report["learned"] == report["predicted"] == 300


def test_each_record_is_predicted_before_it_is_learned() -> None:
    data, sink, alone = rows(200), Kept(), model()
    Engine(Columns(data, label="y"), model(), sink=sink, max_batch=64).run()
    for row, result in zip(data, sink.results, strict=True):
        x = {k: row[k] for k in "abc"}
        assert result.prediction == alone.predict_one(x)
        assert result.label == row["y"]
        alone.learn_one(x, row["y"])


@pytest.mark.parametrize("stops", [[50], [10, 10, 10], [299]])
def test_a_stopped_run_goes_on_as_if_it_had_not_stopped(tmp_path: Path, stops: list[int]) -> None:
    data = rows(300)
    for stop in [*stops, None]:
        kept = Checkpoints(tmp_path)
        engine = Engine(source(data), model(), checkpoints=kept, max_batch=10)
        report = engine.run(stop)
        kept.close()
    assert everything(engine.model) == everything(learned(data))
    assert report["learned"] == 300
    whole = Engine(source(data), model()).run()
    assert report["scores"]["cumulative"] == pytest.approx(whole["scores"]["cumulative"])


def test_an_engine_that_is_run_again_goes_on_with_the_next_record() -> None:
    data = rows(300)
    engine = Engine(source(data), model(), max_batch=10)
    for most in (10, 20, 30, None):
        engine.run(most)
    assert engine.report()["learned"] == 300
    assert everything(engine.model) == everything(learned(data))


def test_a_run_takes_as_many_records_as_it_is_told_to_and_reads_no_others() -> None:
    read = source(rows(300))
    engine = Engine(read, model(), max_batch=40)
    assert engine.run(100)["records"] == 100
    assert read.position == engine.position == {"records": 100}
    assert engine.run(0)["records"] == 100
    assert engine.run()["learned"] == 300


def test_records_without_a_label_are_only_predicted() -> None:
    data = rows(100)
    for row in data[::2]:
        del row["y"]
    sink = Kept()
    engine = Engine(source(data), model(), sink=sink)
    report = engine.run()
    assert (report["predicted"], report["learned"]) == (100, 50)
    assert everything(engine.model) == everything(learned(data[1::2]))
    assert len(sink.results) == 100


def test_labels_that_come_later_are_joined_by_key() -> None:
    data = rows(120)
    late = [{"id": r["id"], "y": r.pop("y")} for r in data[:80]]
    late += [{"id": "nobody's", "y": 1}]
    engine = Engine(source(data), model(), labels=source(late), max_batch=7, waiting=Waiting(500))
    report = engine.run()
    assert report["learned"] == 120
    assert report["waiting"]["records"] == 0


def test_records_that_came_before_any_label_are_counted_apart_and_in_no_score() -> None:
    """What has learned nothing answers nothing: that is neither right nor wrong."""
    data = rows(300)
    late = [{"id": r["id"], "y": r["y"]} for r in data[:100]]
    ahead = [{k: v for k, v in r.items() if k != "y"} for r in data[:100]]
    sink = Kept()
    engine = Engine(
        source(ahead + data[100:]), model(), labels=FetchBuffer(late, sink, 100), sink=sink,
        waiting=Waiting(500), max_batch=50,
    )  # fmt: skip
    report = engine.run()
    nothing = [r.key for r in sink.results if r.prediction is None]
    assert nothing == list(range(100))
    assert (report["learned"], report["unscored"]) == (300, 100)
    hits = sum(r.prediction == r.label for r in sink.results[100:])
    for view in ("cumulative", "windowed"):
        assert report["scores"][view]["accuracy"] == pytest.approx(hits / 200)
        assert report["scores"][view]["log_loss"] < 5
    scores = engine.progress.scores
    assert isinstance(scores, ClassScores)
    assert scores.confusion.sum() == 200
    assert report["drifts"] == 0


def test_only_the_first_record_of_a_stream_is_not_scored() -> None:
    report = Engine(source(rows(50)), model(), max_batch=7).run()
    assert (report["learned"], report["unscored"]) == (50, 1)


def test_rejected_records_are_counted_and_kept() -> None:
    class Poisoned(ListSource):
        def poll(self, max_records: int, timeout: float) -> Batch | None:
            batch = super().poll(max_records, timeout)
            if batch is not None:
                batch.rejected = [Rejected(Place("t", 0, 7), "not JSON", "...", b"{")]
            return batch

    letters = Kept()
    engine = Engine(Poisoned(rows(100), "y"), model(), dead_letters=letters, max_batch=10)
    report = engine.run()
    assert report["rejected"] == {"not JSON": 10}
    assert len(letters.rejected) == 10
    assert report["records"] == 110


def test_a_run_that_is_mostly_wrong_stops_and_shows_why() -> None:
    data: Rows = [{"a": b"text", "y": 1} for _ in range(200)]
    with pytest.raises(EngineError, match=r"100 of 100 records.*a list:1: refused.*b'text'"):
        Engine(source(data), model(), max_batch=100).run()


def test_a_record_that_the_model_refuses_costs_only_itself() -> None:
    data = rows(200)
    data[50]["a"] = b"text"
    engine = Engine(source(data, key=None), model(), max_batch=200)
    report = engine.run()
    assert report["rejected"] == {"refused by the model": 1}
    assert report["learned"] == 199


def test_any_classifier_of_river_runs_but_is_not_checkpointed(tmp_path: Path) -> None:
    data = rows(200)
    engine = Engine(Columns(data, label="y"), tree.HoeffdingTreeClassifier())
    assert engine.run()["learned"] == 200
    with pytest.raises(EngineError, match="no file format"):
        Engine(source(data), tree.HoeffdingTreeClassifier(), checkpoints=Checkpoints(tmp_path))


def test_drift_becomes_an_event() -> None:
    data = rows(1_500)
    turned = [row | {"y": 2 - row["y"]} for row in rows(1_500, seed=1)]
    engine = Engine(source(data + turned), model())
    assert engine.run()["drifts"] >= 1
    events = [e for e in engine.progress.events if e["kind"] == "drift"]
    assert 1_500 < events[0]["record"] < 2_000


def test_a_run_that_was_interrupted_leaves_out_nothing_of_what_was_read_ahead() -> None:
    class Impatient(Kept):
        def write(self, results: Sequence[Any]) -> None:
            super().write(results)
            if len(self.results) == 40:
                raise KeyboardInterrupt

    sink = Impatient()
    engine = Engine(source(rows(300)), model(), sink=sink, max_batch=20)
    with pytest.raises(KeyboardInterrupt):
        engine.run()
    engine.run()
    # The batch that was interrupted may have been learned, or not: it comes again.
    assert [r.key for r in sink.results] == [*range(40), *range(20, 300)]


def test_what_goes_wrong_in_a_source_is_raised_by_the_run() -> None:
    class Broken(ListSource):
        def poll(self, max_records: int, timeout: float) -> Batch | None:
            raise OSError("the cable is out")

    with pytest.raises(OSError, match="cable"):
        Engine(Broken([], "y"), model()).run()


@pytest.mark.parametrize("given", [("data.csv",), (ListSource([], "y"), "sapl")])
def test_what_is_no_source_or_no_model_is_told_at_once(given: tuple[Any, ...]) -> None:
    with pytest.raises(TypeError, match=repr(given[-1])):
        Engine(*given)
    with pytest.raises(TypeError, match=r"such as SAPLClassifier\(\)"):
        Engine(ListSource([], "y"), type(model()))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="no probabilities: a LLSVMRegressor learns numbers"):
        Engine(ListSource([], "y"), LLSVMRegressor(), probabilities="all")


def test_stop_ends_a_run_that_would_wait_for_ever() -> None:
    class Endless(ListSource):
        @property
        def ended(self) -> bool:
            return False

        def seek(self, position: Position) -> None:
            raise AssertionError

    engine = Engine(Endless(rows(50), "y"), model())
    run = threading.Thread(target=engine.run)
    run.start()
    engine.stop()
    run.join(timeout=60)
    assert not run.is_alive()


def test_no_checkpoint_is_written_while_nothing_comes_in(tmp_path: Path) -> None:
    """Those that are kept are states to go back to, and not copies of one."""

    class Paused(Watcher):
        turns = 0

        def on_turn(self, engine: Engine) -> None:
            self.turns += engine.progress.counts["records"] == 30
            if self.turns == 5:
                engine.stop()

    class Endless(ListSource):
        @property
        def ended(self) -> bool:
            return False

    data, kept = rows(30), Checkpoints(tmp_path)
    engine = Engine(
        Endless(data, "y"), model(), checkpoints=kept, every=0.0, max_batch=10,
        watchers=[Paused()],
    )  # fmt: skip
    engine.run()
    kept.close()
    again = Checkpoints(tmp_path)
    found = [one.contents["progress"]["counts"]["records"] for one in again.newest_first()]
    assert found[0] == 30 and found == sorted(set(found), reverse=True), "two are the same"
    before = again.number
    Engine(source(data, key=None), model(), checkpoints=again).run()
    assert again.number == before, "a run in which nothing came wrote another"
    again.close()


class Committed(Kept):
    """Shows results with a commit, and keeps the position; it outlives the runs."""

    transactional = True

    def __init__(self) -> None:
        super().__init__()
        self.shown: list[Result] = []
        self.offsets: Position = {}
        self.broken = False

    def commit(self, position: Position | None) -> None:
        if self.broken:
            raise ConnectionError("killed before the commit")
        self.shown += self.results
        self.results, self.offsets = [], position or {}

    def committed_offsets(self) -> Position:
        self.results = []  # what was never committed is gone
        return self.offsets


def test_with_transactions_each_result_is_shown_once(tmp_path: Path) -> None:
    data, sink = rows(300), Committed()
    for run in range(6):
        kept = Checkpoints(tmp_path)
        engine = Engine(source(data), model(), sink=sink, checkpoints=kept, max_batch=10)
        sink.broken = run % 2 == 1  # the checkpoint is written, the commit is not
        with contextlib.suppress(ConnectionError):
            engine.run(100)
        kept.close()
    assert [r.place.number for r in sink.shown] == list(range(1, 301))
    assert everything(engine.model) == everything(learned(data))


class Flaky(Committed):
    """Is away now and then, before a commit is through or behind it, and for a while."""

    def __init__(self) -> None:
        super().__init__()
        self.commits = self.asked = 0

    def commit(self, position: Position | None) -> None:
        self.commits += 1
        if self.commits % 3 == 2:
            super().commit(position)
        if self.commits % 3:
            raise SinkAwayError("no broker answers")
        super().commit(position)

    def write(self, results: Sequence[Result]) -> None:
        if self.commits == 4 and len(self.results) > 20:
            raise SinkAwayError("no broker answers")
        super().write(results)

    def committed_offsets(self) -> Position:
        self.asked += 1
        if self.asked % 3 == 1 and self.commits:
            raise SinkAwayError("no broker answers yet")
        return super().committed_offsets()


def test_a_run_outlives_a_transactional_sink_that_is_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It goes back to what was committed, and each result is shown once, by the same model."""
    monkeypatch.setattr("stream_llsvm.engine.outage._AGAIN", 0.001)
    data, sink = rows(300), Flaky()
    kept = Checkpoints(tmp_path)
    engine = Engine(source(data), model(), sink=sink, checkpoints=kept, max_batch=10, every=0.0)
    report = engine.run(200)
    assert report["records"] == 200
    engine.run()
    assert [r.place.number for r in sink.shown] == list(range(1, 301))
    assert everything(engine.model) == everything(learned(data))
    assert engine.progress.counts["learned"] == 300
    events = [one["kind"] for one in engine.progress.events]
    assert "recovering" in events and events.count("recovering") == events.count("reconnected")
    assert sink.commits > 30


def test_commits_without_their_checkpoint_stop_the_run(tmp_path: Path) -> None:
    sink = Committed()
    sink.offsets = {"records": 50}
    with pytest.raises(EngineError, match="no checkpoint in"):
        Engine(source(rows(9)), model(), sink=sink, checkpoints=Checkpoints(tmp_path))
