"""Checkpoints that a file may hold but no run has written: refused in words, or harmless."""

from __future__ import annotations

import copy
import json
import math
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stream_llsvm import Engine, LLSVMClassifier, LLSVMRegressor, ModelFileError
from stream_llsvm.connectors import FileDeadLetters, FileSink, FileSource
from stream_llsvm.engine import CheckpointError, Checkpoints, EngineError, Waiting
from stream_llsvm.engine.class_scores import ClassScores
from stream_llsvm.engine.resume import contents_of
from stream_llsvm.engine.tally import COUNTED
from stream_llsvm.model import file as model_file
from tests.cli.support import run as command
from tests.engine.test_engine import Rows, rows
from tests.packed import ATOMS, VALUES

NUMBERS = "numbers are learned"  # a file where they are
NAME = "checkpoint-0000000001.llsvm"
REFUSED = (CheckpointError, EngineError, ModelFileError)


def lines(path: Path, records: Rows) -> Path:
    path.write_text("".join(json.dumps(one) + "\n" for one in records))
    return path


def engine(folder: Path, stack: ExitStack) -> Engine:
    """Return an engine with all that a checkpoint can hold: late labels, outputs, a detector."""
    source = stack.enter_context(closing(FileSource(folder / "records.jsonl", label="y", key="id")))
    labels = stack.enter_context(closing(FileSource(folder / "labels.jsonl", label="y", key="id")))
    return Engine(
        source,
        LLSVMRegressor(n_anchors=4, n_neighbors=2)
        if (folder / NUMBERS).exists()
        else LLSVMClassifier(n_anchors=4, n_neighbors=2),
        slices=["a"],
        sink=stack.enter_context(closing(FileSink(folder / "out.jsonl"))),
        dead_letters=stack.enter_context(closing(FileDeadLetters(folder / "dead.jsonl"))),
        labels=labels,
        waiting=Waiting(most=20),
        checkpoints=stack.enter_context(closing(Checkpoints(folder / "kept", keep=2))),
        max_batch=50,
        window=60,
    )


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a run that has 100 of 150 records behind it."""
    return begun(tmp_path_factory.mktemp("whole"))


@pytest.fixture(scope="module", params=["classes", "numbers"])
def either(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the same of a run that learns classes, or numbers."""
    folder = tmp_path_factory.mktemp("either")
    return begun(folder) if request.param == "classes" else begun_with_numbers(folder / "own")


def begun_with_numbers(folder: Path) -> Path:
    folder.mkdir()
    (folder / NUMBERS).touch()
    return begun(folder)


def begun(folder: Path) -> Path:
    data: Rows = rows(150)
    for row in data[::3]:
        del row["y"]
    data[7]["a"] = [1]
    data[9]["b"] = "red"
    lines(folder / "records.jsonl", data)
    late = [{"id": i, "y": i % 3} for i in range(0, 150, 6)]
    lines(folder / "labels.jsonl", [*late, {"id": "nobody's", "y": 1}])
    with ExitStack() as stack:
        engine(folder, stack).run(100)
    last = max((folder / "kept").glob("checkpoint-*"))
    payload = model_file.read(last)
    for path in (folder / "kept").iterdir():
        path.unlink()
    model_file.write(folder / "kept" / NAME, payload)
    return folder


def outcome(kept: Path, folder: Path, data: bytes) -> str:
    """Let a run go on from a checkpoint of these bytes; return why it does not, if so."""
    if folder.exists():
        shutil.rmtree(folder)
    shutil.copytree(kept, folder)
    path = folder / "kept" / NAME
    path.write_bytes(data)
    with ExitStack() as stack:
        try:
            run = engine(folder, stack)
        except REFUSED as error:
            return str(error)
        report = run.run()
    json.dumps(report, allow_nan=False, default=str)
    newest = max((folder / "kept").glob("checkpoint-*"))
    contents_of(model_file.read(newest))
    return ""


def moved(payload: dict[str, Any], kept: Path, folder: Path) -> dict[str, Any]:
    """Return the payload with the paths of the copied folder."""
    found = copy.deepcopy(payload)
    for position in (found["position"], found["late"]["position"]):
        position["path"] = position["path"].replace(str(kept), str(folder))
    return found


@pytest.fixture
def payload(kept: Path, tmp_path: Path) -> dict[str, Any]:
    return moved(model_file.read(kept / "kept" / NAME), kept, tmp_path / "run")


def test_what_was_not_changed_goes_on(kept: Path, payload: dict[str, Any], tmp_path: Path) -> None:
    assert outcome(kept, tmp_path / "run", model_file.dumps(payload)) == ""


Change = Callable[[Any], Any]


def put(value: Any) -> Change:
    return lambda _: value


def at(where: Any, value: Any) -> Change:
    def change(array: Any) -> Any:
        array = array.copy()
        array[where] = value
        return array

    return change


SCORES = ("progress", "scores")
WAITING = ("late", "waiting")
HOSTILE: dict[str, tuple[tuple[Any, ...], Change]] = {
    "columns that are a list": (("columns",), put(["a"])),
    "columns of which kinds are a list": (("columns",), put({"fields": ["a"]})),
    "columns of a kind that is no text": (("columns",), put({"fields": {"a": 1}})),
    "columns with an array": (("columns",), put({"ignore": np.zeros(3)})),
    "scores of one kind more": ((*SCORES, "sums"), put(np.zeros(COUNTED + 1))),
    "scores of one kind less": ((*SCORES, "sums"), put(np.zeros(COUNTED - 1))),
    "hits of one kind less": ((*SCORES, "recent_hits"), lambda hits: hits[:-1]),
    "fading of one kind less": ((*SCORES, "fading"), lambda sums: sums[:-1]),
    "a smaller confusion": ((*SCORES, "confusion"), lambda table: table[:1, :1]),
    "a confusion that is not square": ((*SCORES, "confusion"), lambda table: table[:, :1]),
    "a confusion of floats": ((*SCORES, "confusion"), lambda table: table.astype(float)),
    "a confusion of other bytes": ((*SCORES, "confusion"), lambda table: table.astype(">i8")),
    "less than no records of a class": ((*SCORES, "confusion"), at((0, 0), -1)),
    "counts of fewer classes": ((*SCORES, "counts"), lambda counts: counts[:-1]),
    "a window without a record": ((*SCORES, "window"), put(0)),
    "a window of another size": ((*SCORES, "window"), put(10**9)),
    "a shorter ring": ((*SCORES, "recent"), lambda recent: recent[:, :-1]),
    "a ring of one row": ((*SCORES, "recent"), lambda recent: recent[0]),
    "a class beyond all in the ring": ((*SCORES, "recent"), at((1, 3), 10**6)),
    "a class below 0 in the ring": ((*SCORES, "recent"), at((0, 3), -1)),
    "nan in the hits": ((*SCORES, "recent_hits"), at((3, 0), math.nan)),
    "infinity in the sums": ((*SCORES, "sums"), at(0, math.inf)),
    "more hits than records": ((*SCORES, "sums"), at(0, 1e9)),
    "a last class beyond all": ((*SCORES, "last"), put(99)),
    "a last class far below 0": ((*SCORES, "last"), put(-(2**62))),
    "records below 0": ((*SCORES, "n"), put(-1)),
    "records beyond counting": ((*SCORES, "n"), put(2**70)),
    "nothing has faded": ((*SCORES, "faded"), put(0.0)),
    "a fading of nan": ((*SCORES, "faded"), put(math.nan)),
    "answers beyond all classes": ((*SCORES, "estimate", "codes"), at(0, 10**6)),
    "answers of more classes": ((*SCORES, "estimate", "counts"), lambda n: np.pad(n, (0, 9))),
    "answers surer than sure": ((*SCORES, "estimate", "sure"), at(0, 1.5)),
    "more answers than were counted": ((*SCORES, "estimate", "n"), put(10**6)),
    "answers of another window": ((*SCORES, "estimate", "window"), put(59)),
    "bins of answers below 0": ((*SCORES, "estimate", "bins"), at(0, -1)),
    "a promise of nan": ((*SCORES, "estimate", "sums"), at(0, math.nan)),
    "reliability of fewer bins": ((*SCORES, "reliability"), lambda r: r[:, :-1].copy()),
    "more right than there were": ((*SCORES, "reliability"), at((2, 3), 1e6)),
    "scores as a list": (SCORES, put([])),
    "classes as a list": (("progress", "classes"), list),
    "a class twice": (("progress", "classes"), put((0, 1, 1))),
    "fewer classes than were counted": (("progress", "classes"), put((0,))),
    "a class that is missing": (("progress", "classes"), put((0, 1, None))),
    "a class that is no label": (("progress", "classes"), put((0, 1, [2]))),
    "a count below 0": (("progress", "counts", "records"), put(-1)),
    "a count that is half": (("progress", "counts", "learned"), put(0.5)),
    "a count of another name": (("progress", "counts"), lambda n: n | {"guessed": 1}),
    "no count of records": (("progress", "counts"), put({"learned": 67})),
    "more learned than scored": (("progress", "counts", "learned"), put(10**6)),
    "since for more classes": (("progress", "since"), put([0] * 99)),
    "since at no record": (("progress", "since"), put(["a"])),
    "more errors than are kept": (("progress", "drift", "count"), put(10**12)),
    "fewer errors than are told": (("progress", "drift", "errors"), lambda e: e[:-1]),
    "errors as floats": (("progress", "drift", "errors"), lambda e: e.astype(float)),
    "rejected as a list": (("rejected",), put([])),
    "rejected below 0": (("rejected",), put({"odd": -1})),
    "a rejected reason that is no text": (("rejected",), put({1: 1})),
    "bad fields as text": (("bad_fields",), put("a")),
    "a waiting record of three": ((*WAITING, "records", 0), put((1, {}, None))),
    "a waiting record without features": ((*WAITING, "records", 0), put((1, [], 0, 0.5, 1.0))),
    "a waiting record without a key": ((*WAITING, "records", 0), put(([], {}, 0, 0.5, 1.0))),
    "a waiting record of no time": ((*WAITING, "records", 0), put((1, {}, 0, 0.5, math.nan))),
    "a waiting record that is too sure": ((*WAITING, "records", 0), put((1, {}, 0, 7.0, 1.0))),
    "a waiting prediction that is a list": ((*WAITING, "records", 0), put((1, {}, [], 0.5, 1.0))),
    "a record that waits twice": ((*WAITING, "records"), lambda r: [r[0], r[0]]),
    "a waiting label of one": ((*WAITING, "labels", 0), put((1,))),
    "a waiting label that is a dict": ((*WAITING, "labels", 0), put((1, {}, 1.0))),
    "a counter of another name": ((*WAITING, "counts"), put({"lost": 1})),
    "delays of fewer kinds": ((*WAITING, "delays"), put([0])),
    "delays below 0": ((*WAITING, "delays", 0), put(-1)),
    "a sum of delays of nan": ((*WAITING, "delayed"), put(math.nan)),
    "late as a list": (("late",), put([])),
    "a position as a list": (("position",), put([])),
    "a position of another kind": (("position",), put({"records": 3})),
    "a position with a number as a name": (("position",), put({1: 1})),
    "a position in no file": (("position", "file"), put(-1)),
    "a position in a file that is no number": (("position", "file"), put("0")),
    "a position at a line that is no number": (("position", "line"), put("3")),
    "a position below 0": (("position", "offset"), put(-1)),
    "a position behind the end": (("position", "offset"), put(10**9)),
    "a position of nan": (("position", "line"), put(math.nan)),
    "a late position below 0": (("late", "position", "offset"), put(-1)),
    "a time without a date": (("time",), put(1e15)),
    "a time of nan": (("time",), put(math.nan)),
    "seconds below 0": (("progress", "seconds"), put(-1.0)),
    "bytes written as text": (("written", 0), put("100")),
    "bytes written below 0": (("written", 0), put(-5)),
    "bytes written beyond the file": (("written", 1), put(10**9)),
    "outputs of which one lacks": (("written",), put([0])),
    "a model of another class": (("model", "class"), put("PegasosClassifier")),
    "a model's state of floats": (("model", "state"), lambda state: state.view(np.float64)),
    "a number for what was foretold": (("model", "foretold"), put(np.int16(0))),
    "no model": (("model",), put(None)),
}


def changed(payload: dict[str, Any], where: tuple[Any, ...], change: Change) -> dict[str, Any]:
    """Return the payload with one part changed."""
    found = copy.deepcopy(payload)
    inside: Any = found
    for name in where[:-1]:
        inside = inside[name]
    inside[where[-1]] = change(inside[where[-1]])
    return found


@pytest.mark.parametrize("name", HOSTILE)
def test_what_does_not_fit_is_refused_in_words(
    kept: Path, payload: dict[str, Any], tmp_path: Path, name: str
) -> None:
    data = model_file.dumps(changed(payload, *HOSTILE[name]))
    said = outcome(kept, tmp_path / "run", data)
    assert said, "it was taken"
    assert NAME in said
    assert "Traceback" not in said


@pytest.mark.parametrize("name", ["model", "position", "progress", "rejected", "late", "written"])
def test_each_part_is_needed(
    kept: Path, payload: dict[str, Any], tmp_path: Path, name: str
) -> None:
    del payload[name]
    assert outcome(kept, tmp_path / "run", model_file.dumps(payload))


def test_scores_of_another_version_are_not_counted_on() -> None:
    """A loop without bounds would write behind what they bring."""
    scores = ClassScores(10)
    scores.update(np.array([0, 1]), np.array([0, 0]), np.array([0.9, 0.2]), np.array([0.9, 0.8]))
    old = scores.payload()
    old["sums"], old["fading"] = old["sums"][:-1], old["fading"][:-1]
    old["recent_hits"] = old["recent_hits"][:-1].copy()
    with pytest.raises(ModelFileError, match="written by another version"):
        ClassScores.restored(old)


def parts(value: Any, where: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield where each part of a payload is, however deep."""
    if where:
        yield where
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from parts(inner, (*where, name))
    elif isinstance(value, list):
        for i, inner in enumerate(value[:3]):
            yield from parts(inner, (*where, i))


EXTREMES: st.SearchStrategy[Any] = st.sampled_from(
    [0, -1, 1, 2**31, 2**53 + 1, 2**63, -(2**63), 10**30, 0.0, -0.0, 1e308, -1e308, math.nan,
     math.inf, -math.inf, "", "a", b"", (), [], {}, None, True, False]
)  # fmt: skip


@st.composite
def tweaked(draw: st.DrawFn, value: Any) -> Any:
    """Return something else in its place: most often of its kind."""
    if isinstance(value, np.ndarray) and value.size and draw(st.booleans()):
        array = value.copy()
        flat = array.reshape(-1)
        place = draw(st.integers(0, flat.size - 1))
        if array.dtype.kind == "f":
            flat[place] = draw(st.floats(width=32 if array.itemsize == 4 else 64))
        else:
            info = np.iinfo(array.dtype)
            flat[place] = draw(st.integers(int(info.min), int(info.max)))
        return array
    if isinstance(value, np.ndarray) and draw(st.booleans()):
        how = draw(st.sampled_from(["cut", "more", "flat", "float", "swapped"]))
        if how == "cut" and value.ndim:
            return value[..., :-1]
        if how == "more" and value.ndim:
            return np.concatenate([value, value[:1]])
        if how == "swapped":
            return value.astype(value.dtype.newbyteorder())
        return value.reshape(-1) if how == "flat" else value.astype(np.float64)
    if type(value) is int and draw(st.booleans()):
        return value + draw(st.sampled_from([1, -1, 10**6, -(10**6)]))
    if isinstance(value, tuple) and value and draw(st.booleans()):
        inside = list(value)
        place = draw(st.integers(0, len(inside) - 1))
        inside[place] = draw(tweaked(inside[place]))
        return tuple(inside)
    return draw(EXTREMES | ATOMS | VALUES)


@pytest.mark.parametrize(
    "waiting",
    [
        {"records": [("k", {"a": 1.0}, "calm", 0.0, 1.0)]},
        {"records": [("k", {"a": 1.0}, math.inf, 0.0, 1.0)]},
        {"labels": [("k", "calm", 1.0)]},
    ],
)
def test_what_waits_in_a_run_of_numbers_is_numbers(waiting: dict[str, Any], tmp_path: Path) -> None:
    whole = begun_with_numbers(tmp_path / "whole")
    payload = moved(model_file.read(whole / "kept" / NAME), whole, tmp_path / "run")
    assert outcome(whole, tmp_path / "run", model_file.dumps(payload)) == ""
    payload["late"]["waiting"] |= waiting
    why = outcome(whole, tmp_path / "run", model_file.dumps(payload))
    assert next(iter(waiting)) in why


@settings(
    max_examples=150, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
@given(data=st.data())
def test_whatever_is_in_a_checkpoint_ends_well(
    either: Path, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """It is refused, or the run goes on, its report is plain and its next checkpoint is sound."""
    folder = tmp_path_factory.getbasetemp() / "fuzzed"
    whole = moved(model_file.read(either / "kept" / NAME), either, folder)
    payload = copy.deepcopy(whole)
    for _ in range(data.draw(st.integers(1, 3))):
        where = data.draw(st.sampled_from(sorted(parts(payload), key=str)))
        inside: Any = payload
        for name in where[:-1]:
            inside = inside[name]
        if isinstance(inside, dict) and data.draw(st.integers(0, 4)) == 0:
            del inside[where[-1]]
        else:
            inside[where[-1]] = data.draw(tweaked(inside[where[-1]]))
    content = model_file.dumps(payload)
    outcome(either, folder, content)
    path = folder / "looked at.llsvm"
    path.write_bytes(content)
    for more in ([], ["--json"]):
        looked = command("inspect", path, *more)
        assert looked.exit_code in (0, 2), looked.output
        assert looked.exception is None or isinstance(looked.exception, SystemExit)
        if more and looked.exit_code == 0:
            json.loads(looked.stdout)
