"""What another process asks of a run, by files that anybody may have written."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from stream_llsvm import Engine
from stream_llsvm.connectors import ListSource
from stream_llsvm.engine import checkpoints
from stream_llsvm.engine.checkpoints import CheckpointError, Checkpoints, read_checkpoint
from stream_llsvm.engine.requests import FOLDER, RequestError, Requests, ask, leave
from stream_llsvm.engine.watchers import Watcher
from tests.engine.test_engine import model, rows, source


def test_a_run_answers_and_the_files_are_gone(tmp_path: Path) -> None:
    told: list[str] = []

    class Waiting(ListSource):
        """Comes to its end when everybody has been answered."""

        @property
        def ended(self) -> bool:
            return super().ended and not thread.is_alive()

    def asking() -> None:
        told.append(ask(tmp_path, "checkpoint", "early", 60))
        for do, name in (("checkpoint", "early"), ("promote", "nobody"), ("checkpoint", "../x")):
            with pytest.raises(RequestError) as error:
                ask(tmp_path, do, name, 60)
            told.append(str(error.value))

    thread = threading.Thread(target=asking)
    kept = Checkpoints(tmp_path)
    engine = Engine(Waiting(rows(200), label="y"), model(), checkpoints=kept, max_batch=20)
    engine.run(100)
    thread.start()
    engine.run()
    thread.join()
    first, taken, nobody, odd = told
    assert first.startswith("checkpoint ") and " is kept as early, at record " in first
    assert taken.startswith(f"{tmp_path} has a checkpoint called early already") or (
        "is kept as early" in taken  # nothing came in between: it is the same one
    )
    assert nobody == "there is no challenger nobody: there are none"
    assert odd.startswith("a name is up to 64 letters")
    assert os.listdir(tmp_path / FOLDER) == []
    assert list(kept.names()) == ["early"]


@pytest.mark.parametrize(
    "written",
    [
        "", "{", "[]", '{"do": "promote"}', '{"do": "rm", "name": "x"}',
        '{"do": "promote", "name": 7}', '{"do": "promote", "name": "x", "more": 1}', "x" * 10_000,
        "\udcff",
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_answered_and_harms_nobody(tmp_path: Path, written: str) -> None:
    path = leave(tmp_path, "promote", "x")
    path.write_text(written, errors="surrogateescape")
    kept = Checkpoints(tmp_path)
    report = Engine(source(rows(50)), model(), checkpoints=kept).run()
    assert report["learned"] == 50
    (answer,) = (tmp_path / FOLDER).iterdir()
    told = json.loads(answer.read_text())
    assert not told["well"]
    assert told["text"].startswith("the request cannot be read: ")


def test_who_is_not_answered_takes_the_question_back(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="has not answered for 0 s"):
        ask(tmp_path, "promote", "x", 0)
    assert os.listdir(tmp_path / FOLDER) == []


def test_what_nobody_takes_away_goes_after_a_while(tmp_path: Path) -> None:
    path = leave(tmp_path, "promote", "x")
    old, new = path.with_suffix(".answer"), path.with_name("0" * 16 + ".answer")
    for each in (old, new):
        each.touch()
    os.utime(old, (0, 0))
    assert [request.name for request in Requests(tmp_path).pending()] == ["x"]
    assert sorted(os.listdir(tmp_path / FOLDER)) == sorted([path.name, new.name])


def test_a_named_checkpoint_stays(tmp_path: Path) -> None:
    kept = Checkpoints(tmp_path, keep=2)
    engine = Engine(source(rows(300)), model(), checkpoints=kept, max_batch=10)
    engine.run(50)
    number = engine.name_checkpoint("before")
    engine.run(10)
    engine.name_checkpoint("after")
    for _ in range(6):
        engine.run(20)
    kept.close()
    left = sorted(int(path.stem[-10:]) for path in tmp_path.glob("checkpoint-*.llsvm"))
    assert left == [number, number + 1, number + 6, number + 7]
    again = Checkpoints(tmp_path, keep=2)
    assert again.names() == {"after": number + 1, "before": number}
    assert again.number_of("before") == again.number_of(str(number)) == number
    assert again.number_of(f"checkpoint-{number:010}.llsvm") == number
    with pytest.raises(CheckpointError, match=r"there is no checkpoint x in .*before"):
        again.number_of("x")
    with pytest.raises(CheckpointError, match="already, number"):
        again.name(number + 7, "before")


def test_named_checkpoints_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoints, "MOST_NAMED", 2)
    engine = Engine(source(rows(100)), model(), checkpoints=Checkpoints(tmp_path))
    for name in ("a", "b"):
        engine.run(10)
        engine.name_checkpoint(name)
    engine.run(10)
    with pytest.raises(CheckpointError, match="2 named checkpoints, which are kept for good"):
        engine.name_checkpoint("c")
    (tmp_path / "name-a").unlink()
    engine.name_checkpoint("c")
    assert set(Checkpoints(tmp_path).names()) == {"b", "c"}


def test_the_name_is_given_to_a_checkpoint_that_is_still_being_written(tmp_path: Path) -> None:
    """Not to the one before it, which is the newest that is whole."""
    go_on = threading.Event()

    class Slow(Checkpoints):
        slow = 0

        def _write_now(self, number: int, *more: Any) -> None:
            if number == self.slow:
                go_on.wait(60)
            super()._write_now(number, *more)

    kept = Slow(tmp_path)
    engine = Engine(source(rows(200)), model(), checkpoints=kept)
    engine.run(100)
    kept.slow = kept.number + 1
    named: list[int] = []

    class Asker(Watcher):
        def on_turn(self, engine: Engine) -> None:
            if not named and engine.progress.counts["records"] == 200:
                engine.checkpoint()
                threading.Timer(0.2, go_on.set).start()
                named.append(engine.name_checkpoint("late"))

    engine.watchers.append(Asker())
    engine.run()
    assert named == [kept.slow]
    assert kept.names() == {"late": kept.slow}
    assert read_checkpoint(kept.path(kept.slow))["progress"]["counts"]["records"] == 200
