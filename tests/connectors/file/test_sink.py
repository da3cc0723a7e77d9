"""Files as sinks: whole lines, rotation, and going back to a checkpoint."""

from __future__ import annotations

import base64
import csv
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stream_llsvm.connectors import FileDeadLetters, FileSink
from stream_llsvm.connectors.base import DeadLetters, Place, Rejected, Result, Sink, SinkError
from stream_llsvm.connectors.file.line_writer import LineWriter
from stream_llsvm.connectors.predictions import FIELDS


def result(i: int) -> Result:
    return Result(Place("s", None, i), i, i % 2, 1, 0.75, {0: 0.25, 1: 0.75}, i / 8, "0.1.0", i)


def numbers(path: Path) -> list[int]:
    """Return what all files of a sink hold, the oldest first."""
    renamed = sorted(p for p in path.parent.iterdir() if p.name.startswith(path.name + "."))
    texts = [p.read_text() for p in [*renamed, path]]
    return [json.loads(line)["offset"] for text in texts for line in text.splitlines()]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "out.jsonl"


def test_results(path: Path) -> None:
    sink: Sink = FileSink(path)
    odd: list[Any] = [np.float32(0.5), np.int64(3), 10**30, ("a", 1), "\ud800", float("nan")]
    place, told = Place("t", 2, 9), (1.0, {"é": 1.0})
    sink.write([Result(place, one, None, one, *told, decided=("x", ("x",))) for one in odd])
    sink.flush()
    found = [json.loads(line) for line in path.read_text().splitlines()]
    assert found[0] == {
        "source": "t",
        "partition": 2,
        "offset": 9,
        "key": 0.5,
        "label": None,
        "prediction": 0.5,
        "probability": 1.0,
        "probabilities": {"é": 1.0},
        "decision": "x",
        "set": ["x"],
        "time": "1970-01-01T00:00:00.000Z",
        "model_version": "",
        "records_learned": None,
    }
    assert set(found[0]) == set(FIELDS)
    assert [one["prediction"] for one in found][1:4] == [3, 10**30, ["a", 1]]
    sink.close()
    sink.close()


def test_a_probability_of_every_kind_of_label(path: Path) -> None:
    sink = FileSink(path)
    proba: dict[Any, float] = {1: 0.6, "a": 0.1, ("x", 1): 0.2, 10**30: 0.1}
    sink.write([Result(Place("t", None, 9), None, None, 1, 0.6, proba)])
    sink.close()
    found = json.loads(path.read_text())["probabilities"]
    assert set(found) == {str(label) for label in proba}


def test_dead_letters(path: Path) -> None:
    letters: DeadLetters = FileDeadLetters(path)
    letters.write([Rejected(Place("f", None, 3), "not a number", "'a': 'x'", b"\xff\n\0")])
    letters.close()
    found = json.loads(path.read_text())
    assert base64.b64decode(found.pop("raw")) == b"\xff\n\0"
    assert found == {
        "source": "f",
        "partition": None,
        "offset": 3,
        "reason": "not a number",
        "detail": "'a': 'x'",
    }


def test_rotation_keeps_so_many(path: Path) -> None:
    sink = FileSink(path, max_bytes=1_000, keep=3)
    for i in range(50):
        sink.write([result(i)])
    sink.close()
    files = sorted(path.parent.iterdir())
    assert len(files) == 4
    assert all(file.stat().st_size <= 1_000 for file in files)
    kept = numbers(path)
    assert kept == list(range(kept[0], 50)) and len(kept) > 10


def test_a_line_longer_than_a_file_has_its_own(path: Path) -> None:
    lines = LineWriter(path, max_bytes=10)
    lines.write_lines([b"x" * 100, b"y", b"z" * 100])
    lines.close()
    assert [p.read_bytes()[:1] for p in sorted(path.parent.iterdir())] == [b"z", b"x", b"y"]


@pytest.mark.parametrize("size", [0, 5, 70_000, 200_000])
def test_a_line_cut_short_is_removed(path: Path, size: int) -> None:
    with FileSinkOf(path) as sink:
        sink.write([result(0), result(1)])
    whole = path.read_bytes()
    path.write_bytes(whole + b"x" * size)
    with FileSinkOf(path) as sink:
        assert sink.written == len(whole)
        sink.write([result(2)])
    assert numbers(path) == [0, 1, 2]


class FileSinkOf:
    """A sink that is closed in the end."""

    def __init__(self, path: Path, **options: Any) -> None:
        self.sink = FileSink(path, **options)

    def __enter__(self) -> FileSink:
        return self.sink

    def __exit__(self, *_: object) -> None:
        self.sink.close()


@settings(max_examples=30)  # every one waits for the disk
@given(
    steps=st.lists(st.integers(1, 9), min_size=1, max_size=8),
    back=st.integers(0, 7),
    reopen=st.booleans(),
)
def test_going_back_to_a_checkpoint(
    tmp_path_factory: pytest.TempPathFactory, steps: list[int], back: int, reopen: bool
) -> None:
    path = tmp_path_factory.mktemp("sink") / "out.jsonl"
    sink = FileSink(path, max_bytes=400, keep=100)
    checkpoints = [(0, 0)]
    n = 0
    for step in steps:
        sink.write([result(i) for i in range(n, n + step)])
        n += step
        checkpoints.append((n, sink.written))
    if reopen:
        sink.close()
        sink = FileSink(path, max_bytes=400, keep=100)
        assert sink.written == checkpoints[-1][1]
    n, written = checkpoints[back % len(checkpoints)]
    sink.truncate(written)
    sink.flush()
    assert sink.written == written and numbers(path) == list(range(n))
    sink.write([result(i) for i in range(n, n + 20)])
    sink.close()
    assert numbers(path) == list(range(n + 20))


def test_what_cannot_be_cut_back(path: Path) -> None:
    sink = FileSink(path, max_bytes=500, keep=1)
    sink.write([result(0)])
    first = sink.written
    sink.write([result(i) for i in range(1, 30)])
    with pytest.raises(ValueError, match="was in a file deleted since; keep more files"):
        sink.truncate(first)
    with pytest.raises(ValueError, match="cannot be cut to"):
        sink.truncate(sink.written + 1)
    sink.write([result(30)])  # and it still works
    sink.close()
    assert numbers(path)[-1] == 30
    with pytest.raises(ValueError, match="at least 1"):
        FileSink(path, keep=0)


def test_flushed_lines_survive_a_crash(path: Path) -> None:
    script = (
        "import os, sys\n"
        "from stream_llsvm.connectors.base import Place, Rejected\n"
        "from stream_llsvm.connectors.file.sink import FileDeadLetters\n"
        "letters = FileDeadLetters(sys.argv[1])\n"
        "letters.write([Rejected(Place('f', None, i), 'r', 'd', b'raw') for i in range(100)])\n"
        "letters.flush()\n"
        "letters.write([Rejected(Place('f', None, 100), 'r', 'd', b'x' * 100_000)])\n"
        "os._exit(1)\n"
    )
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2])}
    subprocess.run([sys.executable, "-c", script, str(path)], check=False, env=env)
    FileDeadLetters(path).close()
    assert numbers(path)[:100] == list(range(100))


WRITER = """
import sys
from stream_llsvm.connectors import FileSink
try:
    FileSink(sys.argv[1])
except ValueError as error:
    print(error)
"""


def refused_elsewhere(path: Path) -> str:
    """Return what another process is told that wants to write to the file."""
    command = [sys.executable, "-c", WRITER, str(path)]
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2])}
    return subprocess.run(command, capture_output=True, text=True, check=True, env=env).stdout


def test_two_processes_cannot_write_to_one_file(path: Path) -> None:
    sink = FileSink(path, max_bytes=500)
    said = refused_elsewhere(path)
    assert said == f"{path}: another run writes to it: stop that one, or name another file\n"
    sink.write([result(i) for i in range(20)])  # into a file of the same name, after a rename
    assert refused_elsewhere(path) == said
    sink.close()
    assert refused_elsewhere(path) == ""


def test_in_a_process_the_last_one_who_asks_may_write_unless_the_first_is_at_work(
    path: Path,
) -> None:
    first = FileSink(path)
    first.write([result(0)])
    second = FileSink(path)
    second.write([result(1)])
    with pytest.raises(SinkError, match="another run of this process took it over"):
        first.write([result(9)])
    second.ownership.busy = True
    with pytest.raises(ValueError, match="in use by a run of this process"):
        FileSink(path)
    second.ownership.busy = False
    second.close()
    assert numbers(path) == [0, 1]


def test_a_file_that_was_moved_away_is_asked_about_or_begun_anew(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with FileSinkOf(path) as sink:
        sink.write([result(0), result(1)])
        checkpoint = sink.written
    path.rename(path.with_name("archive"))
    with (
        FileSinkOf(path) as sink,
        pytest.raises(ValueError, match=r'restore the file, or .* \(on_lost = "new"'),
    ):
        sink.truncate(checkpoint)
    with FileSinkOf(path, on_lost="new") as sink:
        sink.truncate(checkpoint)
        assert sink.written == checkpoint
        sink.write([result(2)])
        second = sink.written
        sink.write([result(3)])
    assert "begun anew" in caplog.text
    assert numbers(path) == [2, 3]
    with FileSinkOf(path) as sink:  # which finds out where it stands without being told
        sink.truncate(second)
        sink.write([result(4)])
        with pytest.raises(ValueError, match="in a file deleted since"):
            sink.truncate(checkpoint - 1)
    assert numbers(path) == [2, 4]
    with pytest.raises(ValueError, match='"stop" or "new"'):
        FileSink(path, on_lost="perhaps")


def test_a_file_that_holds_something_else_is_not_begun_anew(path: Path) -> None:
    with FileSinkOf(path) as sink:
        sink.write([result(i) for i in range(9)])
        checkpoint = sink.written
    path.write_text('{"offset":0}\n')
    with FileSinkOf(path, on_lost="new") as sink, pytest.raises(ValueError, match="restore"):
        sink.truncate(checkpoint)
    assert path.read_text() == '{"offset":0}\n'


@pytest.mark.parametrize("max_bytes", [10**6, 400])
def test_csv_has_a_header_in_every_file(tmp_path: Path, max_bytes: int) -> None:
    path = tmp_path / "out.csv"
    with FileSinkOf(path, max_bytes=max_bytes, keep=100) as sink:
        begun = sink.written
        sink.write([result(0), result(1)])
        checkpoint = sink.written
        sink.write([result(i) for i in range(2, 9)])
    with FileSinkOf(path, max_bytes=max_bytes, keep=100) as sink:
        sink.truncate(checkpoint)
        odd = Result(Place("a,b", 0, 2), 'k"', None, "two\nlines", 0.5, {"x": 0.5}, 0.0, "1", 7)
        sink.write([odd])
    files = sorted(p for p in tmp_path.iterdir() if p.name.startswith("out.csv."))
    rows = []
    for file in [*files, path]:
        with file.open(newline="") as lines:
            rows += list(csv.DictReader(lines))
    assert [row["offset"] for row in rows] == ["0", "1", "2"]
    assert tuple(rows[0]) == FIELDS
    assert (rows[1]["prediction"], rows[1]["probability"]) == ("1", "0.75")
    assert rows[1]["probabilities"] == '{"0":0.25,"1":0.75}'
    assert (rows[2]["source"], rows[2]["key"], rows[2]["label"]) == ("a,b", 'k"', "")
    assert rows[2]["prediction"] == "two\\nlines"
    with FileSinkOf(path, max_bytes=max_bytes, keep=100) as sink:
        sink.truncate(begun)
    assert path.read_text() == ",".join(FIELDS) + "\n"


@pytest.mark.parametrize("name", ["out.parquet", "out.jsonl.gz"])
def test_a_name_that_promises_another_format_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match=r"predictions are JSON Lines or CSV"):
        FileSink(tmp_path / name)
    assert not list(tmp_path.iterdir())
