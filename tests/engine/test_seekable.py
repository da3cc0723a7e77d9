"""A source that cannot go back: a stop loses nothing that was read, and a crash is warned of."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from stream_llsvm import Engine
from stream_llsvm.connectors import FileSource
from stream_llsvm.connectors.base import Batch, Position, seekable
from stream_llsvm.engine.checkpoints import Checkpoints
from stream_llsvm.engine.learner import Answers
from stream_llsvm.engine.watchers import Watcher
from tests.engine.test_engine import learned, model, rows, source
from tests.learners.support import everything


class Pipe:
    """Records that come once, whoever reads them."""

    seekable = False

    def __init__(self, of: list[dict[str, Any]]) -> None:
        self._list = source(of)
        self.name = "the pipe"
        self.polled = 0

    def poll(self, max_records: int, timeout: float) -> Batch | None:
        batch = self._list.poll(max_records, timeout)
        self.polled += 0 if batch is None else len(batch)
        return batch

    @property
    def ended(self) -> bool:
        return self._list.ended

    @property
    def position(self) -> Position:
        return self._list.position

    def seek(self, position: Position) -> None:
        raise AssertionError("it cannot")

    def close(self) -> None:
        pass


class Stop(Watcher):
    """Stops the run, or lets it die, at the first batch behind so many records."""

    def __init__(self, at: int, *, die: bool = False) -> None:
        self.at, self.die = at, die

    def on_batch(self, engine: Engine, batch: Batch, answers: Answers, seconds: float) -> None:
        if engine.progress.counts["predicted"] + len(batch) < self.at:
            return
        if self.die:
            raise RuntimeError("a power cut")
        engine.stop()


def run(pipe: Pipe, folder: Path, *watchers: Watcher) -> Engine:
    checkpoints = Checkpoints(folder)
    engine = Engine(
        pipe, model(), checkpoints=checkpoints, every=3600.0, max_batch=20, watchers=watchers
    )
    try:
        engine.run()
    finally:
        checkpoints.close()
    return engine


def test_what_was_read_ahead_is_learned_when_it_is_stopped(tmp_path: Path) -> None:
    data = rows(400)
    pipe = Pipe(data)
    first = run(pipe, tmp_path, Stop(100))
    assert 100 <= first.progress.counts["learned"] == pipe.polled < 400
    last = run(pipe, tmp_path)
    assert last.progress.counts["learned"] == 400
    assert everything(last.model) == everything(learned(data))


def test_a_crash_costs_what_came_after_the_checkpoint(tmp_path: Path) -> None:
    data = rows(400)
    pipe = Pipe(data)
    kept = run(pipe, tmp_path, Stop(100)).progress.counts["learned"]
    with pytest.raises(RuntimeError, match="power cut"):
        run(pipe, tmp_path, Stop(kept + 100, die=True))
    lost = pipe.polled
    last = run(pipe, tmp_path)
    assert last.progress.counts["learned"] == kept + 400 - lost < 400
    assert everything(last.model) == everything(learned(data[:kept] + data[lost:]))


def test_it_is_said_what_that_means(tmp_path: Path) -> None:
    engine = run(Pipe(rows(50)), tmp_path / "pipe")
    (event,) = [one for one in engine.progress.events if one["kind"] == "at most once"]
    assert event["text"].startswith("the pipe cannot be read again from a position: ")
    with_seek = Engine(source(rows(50)), model(), checkpoints=Checkpoints(tmp_path / "list"))
    assert not [one for one in with_seek.progress.events if one["kind"] == "at most once"]


def test_standard_input_says_so() -> None:
    piped = FileSource("-", "csv", label="y")
    assert not seekable(piped) and piped.name == "standard input"
    assert seekable(FileSource("a.csv", label="y"))
