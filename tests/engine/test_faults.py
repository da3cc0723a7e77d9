"""What streams and machines do: the run goes on, says what happened, and counts to the record."""

from __future__ import annotations

import errno
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from stream_llsvm import Engine
from stream_llsvm.connectors import FileDeadLetters, FileSink, FileSource, ListSource
from stream_llsvm.connectors.base import Position
from stream_llsvm.connectors.log.source import LogSource
from stream_llsvm.connectors.log.writer import LogWriter
from stream_llsvm.engine import checkpoints as module
from stream_llsvm.engine.checkpoints import Checkpoints
from stream_llsvm.engine.late_labels import Waiting
from stream_llsvm.engine.watchers import Watcher
from stream_llsvm.model.file import read, write
from tests.engine.test_engine import learned, model, rows, source
from tests.learners.support import everything, taught


def lines(path: Path, records: list[Any]) -> Path:
    path.write_text("".join(json.dumps(one) + "\n" for one in records))
    return path


def kinds(engine: Engine) -> list[str]:
    return [event["kind"] for event in engine.progress.events]


def test_a_schema_that_drifts(tmp_path: Path) -> None:
    """A feature appears, disappears, changes its type; a record is empty; labels are odd."""
    plain = [{k: row[k] for k in ("a", "b", "y")} for row in rows(300)]
    with_c = [{k: row[k] for k in ("a", "b", "c", "y")} for row in rows(300, seed=1)]
    without_b = [{k: row[k] for k in ("a", "c", "y")} for row in rows(300, seed=2)]
    empty: list[Any] = [{"y": 1}, {}, {"y": None, "a": None}]
    text = [{"a": "inf", "b": 1.0, "y": 0}, {"a": 0.5, "b": [[1]], "y": 0}]
    odd = [{"a": 1.0, "y": [1]}, {"a": 1.0, "y": {"is": 1}}]
    other = [{"a": 1.0, "y": y} for y in ("up", True, 2.5, 7)]
    good = plain + with_c + without_b + [empty[0]] + other
    path = lines(
        tmp_path / "s.jsonl",
        plain + text[:1] + with_c + odd + without_b + text[1:] + empty + other,
    )
    dead = tmp_path / "dead.jsonl"
    letters = FileDeadLetters(dead)
    source = FileSource(path, label="y", on_bad_field="reject")
    engine = Engine(source, model(), dead_letters=letters, max_batch=64)
    report = engine.run()
    letters.close()
    assert report["records"] == len(good) + 2 + len(text) + len(odd)
    assert report["learned"] == len(good)
    assert report["predicted"] == len(good) + 2
    assert report["rejected"] == {"infinite value": 1, "odd value": 1, "odd label": 2}
    assert report["bad_fields"] == {"a": 1, "b": 1}
    assert len(dead.read_text().splitlines()) == 4
    alone = model()
    taught(alone, [({k: v for k, v in r.items() if k != "y"}, r["y"]) for r in good])
    assert everything(engine.model) == everything(alone)
    assert set(report["classes"]) >= {"up", 2.5, 7}


def test_a_bad_field_costs_no_record_and_is_counted_over_restarts(tmp_path: Path) -> None:
    """A producer adds a field that says nothing, and writes n/a: all is learned and counted."""
    plain = [{k: row[k] for k in ("a", "b", "y")} for row in rows(200)]
    odd = [row | {"note": [[1]]} for row in plain[100:150]] + [row | {"b": "n/a"} for row in plain]
    path = lines(tmp_path / "s.jsonl", plain + odd)
    report: dict[str, Any] = {}
    for _ in range(3):
        checkpoints = Checkpoints(tmp_path / "kept")
        engine = Engine(FileSource(path, label="y"), model(), checkpoints=checkpoints)
        report = engine.run(max_records=230)
        checkpoints.close()
    assert report["learned"] == report["records"] == 450
    assert report["bad_fields"] == {"note": 50} and not report["rejected"]
    missing = [{k: v for k, v in r.items() if k not in ("y", "note")} for r in plain + odd]
    alone = model()
    wanted = [{k: None if v == "n/a" else v for k, v in x.items()} for x in missing]
    taught(alone, list(zip(wanted, [r["y"] for r in plain + odd], strict=True)))
    assert everything(engine.model) == everything(alone)


def test_labels_that_all_come_before_their_records() -> None:
    data = rows(200)
    early = [{"id": r["id"], "y": r.pop("y")} for r in data]
    engine = Engine(source(data), model(), labels=source(early), max_batch=500)
    report = engine.run()
    assert report["learned"] == report["waiting"]["matched"] == 200
    assert report["waiting"]["records"] == report["waiting"]["labels"] == 0


def test_ids_that_come_twice() -> None:
    data = rows(100)
    again = [dict(r) for r in data[:10]]
    late = [{"id": r["id"], "y": r["y"]} for r in data]
    for row in data + again:
        del row["y"]
    some = late[:0]  # no label yet when the records come
    engine = Engine(source(data + again), model(), labels=source(some), max_batch=1_000)
    report = engine.run()
    assert report["waiting"]["duplicated"] == 10
    assert report["waiting"]["records"] == 100
    assert engine.late is not None
    engine.late.source = source(late + late[:5])
    report = engine.run()
    assert report["learned"] == report["waiting"]["matched"] == 100
    assert report["waiting"]["labels"] == 5  # the second time there is no record any more


def test_a_clock_that_jumps() -> None:
    """A moment a year ahead makes what waits expire, and keeps nothing for a year."""
    now = [1_000.0]
    late = ListSource([], "y", "id")
    engine = Engine(
        ListSource([], "y", "id"), model(), labels=late,
        waiting=Waiting(longest=60.0), clock=lambda: now[0],
    )  # fmt: skip
    for at in (1_000.0, 31_000_000.0, 1_010.0, 1_015.0, 1_100.0):
        now[0] = at
        engine.source = source([{"a": 1.0, "id": at}])
        engine.run()
    assert engine.late is not None
    # 1,000 expired at the jump, and the three after it 60 seconds after the clock was right again.
    assert engine.late.waiting.counts["expired"] == 4
    assert [guess.at for guess in engine.late.waiting.records.values()] == [1_100.0]


@pytest.mark.parametrize("damage", ["truncated", "flipped"])
def test_a_damaged_checkpoint_is_replayed_from_the_one_before(tmp_path: Path, damage: str) -> None:
    data = lines(tmp_path / "s.jsonl", [{k: r[k] for k in "abcy"} for r in rows(300)])
    folder, out = tmp_path / "kept", tmp_path / "out.jsonl"

    def run(records: int | None) -> Engine:
        kept, sink = Checkpoints(folder), FileSink(out)
        engine = Engine(
            FileSource(data, label="y"), model(), sink=sink, checkpoints=kept, max_batch=10
        )
        engine.run(records)
        sink.close()
        kept.close()
        return engine

    run(100)
    run(100)
    last = max(folder.glob("checkpoint-*"))
    content = bytearray(last.read_bytes())
    if damage == "flipped":
        content[len(content) // 2] ^= 4
    last.write_bytes(content if damage == "flipped" else content[:-100])
    engine = run(None)
    told = next(e for e in engine.progress.events if e["kind"] == "checkpoint unreadable")
    assert last.name in told["text"] and "done again" in told["text"]
    assert everything(engine.model) == everything(learned(rows(300)))
    numbers = [json.loads(line)["offset"] for line in out.read_text().splitlines()]
    assert numbers == list(range(1, 301))


FULL = """
import resource, sys
from stream_llsvm import Engine, LLSVMClassifier
from stream_llsvm.connectors import FileSource
from stream_llsvm.engine.checkpoints import Checkpoints

data, folder = sys.argv[1:]
kept = Checkpoints(folder)
before = kept.number
engine = Engine(
    FileSource(data, label="y"), LLSVMClassifier(), checkpoints=kept, every=0.0, max_batch=10
)
engine.run(100)
good = kept.number
unlimited = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, unlimited[1]))  # no file may be longer
engine.run(100)
kinds = [event["kind"] for event in engine.progress.events]
assert engine.progress.counts["learned"] == 200
assert kept.failures > 1 and kinds.count("checkpoint failed") == kept.failures, kinds
assert kept.path(good).exists() and not list(kept.folder.glob(".model-*"))
if sys.stdin.read() == "more":
    resource.setrlimit(resource.RLIMIT_FSIZE, unlimited)
    engine.run()
print(good, kept.number)
"""


@pytest.mark.parametrize("then", ["", "more"])
def test_no_room_for_checkpoints(tmp_path: Path, then: str) -> None:
    """The run goes on and says so; the last good checkpoint is good, the next has room again."""
    data = lines(tmp_path / "s.jsonl", [{k: r[k] for k in "abcy"} for r in rows(300)])
    folder = tmp_path / "kept"
    command = [sys.executable, "-c", FULL, str(data), str(folder)]
    done = subprocess.run(command, input=then, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    good, last = map(int, done.stdout.split())
    kept = Checkpoints(folder)
    found = next(kept.newest_first())
    kept.close()
    assert found.number == (last if then else good)
    assert found.contents["progress"]["counts"]["learned"] == (300 if then else 100)


class Finish(Watcher):
    """Lets each checkpoint be on disk, or have failed, before the next turn."""

    def on_turn(self, engine: Engine) -> None:
        assert engine.checkpoints is not None
        engine.checkpoints.finish()


class Shown(ListSource):
    """Notes what it is told to display, and what the newest checkpoint on disk holds just then."""

    def __init__(self, records: list[dict[str, Any]], folder: Path) -> None:
        super().__init__(records, label="y")
        self.folder, self.shown = folder, list[tuple[Position, object]]()

    def display(self, position: Position) -> None:
        newest = max(self.folder.glob("checkpoint-*.llsvm"))
        self.shown.append((position, read(newest)["position"]))


def test_nothing_is_said_of_a_checkpoint_that_is_not_on_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every other one fails: it is not noted and not displayed, and the next one is tried."""
    tried: list[bool] = []

    def at_times(path: Path, *given: Any, **how: Any) -> None:
        tried.append(len(tried) % 2 == 0)
        if not tried[-1]:
            raise OSError(errno.ENOSPC, "No space left on device")
        write(path, *given, **how)

    monkeypatch.setattr(module, "write", at_times)
    kept = Checkpoints(tmp_path)
    stream = Shown([{k: r[k] for k in "abcy"} for r in rows(200)], tmp_path)
    engine = Engine(
        stream, model(), checkpoints=kept, every=0.0, max_batch=10, watchers=[Finish()]
    )  # fmt: skip
    engine.run()
    kept.close()
    good = [number for number, well in enumerate(tried, 1) if well]
    assert len(good) > 5 and engine.lost is None
    noted = [event["text"] for event in engine.progress.events if event["kind"] == "checkpoint"]
    assert noted == [f"number {number}" for number in good[1:]]  # the first is of the beginning
    assert [shown for shown, _ in stream.shown] == [held for _, held in stream.shown]
    assert len(stream.shown) == len(noted) and stream.shown[-1][0] == stream.position


KILLED = """
import os, resource, sys
from stream_llsvm import Engine, LLSVMClassifier
from stream_llsvm.connectors.log.source import LogSource
from stream_llsvm.connectors.log.writer import LogWriter
from stream_llsvm.engine.checkpoints import Checkpoints
from tests.engine.test_faults import Finish

log = LogWriter(sys.argv[1], segment_bytes=500, keep_bytes=500, checkpoints=5)
log.append([(0, b'{"a": %d, "y": %d}' % (i % 7, i % 7 > 3)) for i in range(50)])
engine = Engine(
    LogSource(sys.argv[1], label="y"), LLSVMClassifier(), checkpoints=Checkpoints(sys.argv[2]),
    every=0.0, max_batch=5, watchers=[Finish()],
)
engine.run(30)
longest = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
resource.setrlimit(resource.RLIMIT_FSIZE, (2_000, longest))  # enough for a file of the log
for _ in range(20):
    for i in range(10):
        log.append([(0, b'{"a": %d, "y": %d}' % (i % 7, i % 7 > 3))])
    log.sync()
    engine.run(10)
assert engine.lost is not None
os.kill(os.getpid(), 9)
"""


def test_a_log_is_not_cut_behind_checkpoints_that_fail(tmp_path: Path) -> None:
    """What was acknowledged after the last good checkpoint is learned by the next process."""
    log, folder = tmp_path / "log", tmp_path / "kept"
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(log), str(folder)],
        capture_output=True, text=True, check=False, cwd=Path(__file__).parents[2],
    )  # fmt: skip
    assert done.returncode == -9, done.stderr
    writer, kept = LogWriter(log), Checkpoints(folder)
    engine = Engine(LogSource(log, label="y"), model(), checkpoints=kept)
    writer.close()
    assert engine.run()["learned"] == 250
    kept.close()
