"""``predict``, ``inspect`` and ``replay``."""

from __future__ import annotations

import json
import re
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import stream_llsvm
from stream_llsvm import CommitteeClassifier, load_model
from stream_llsvm.learners.committee import MEMBERS
from tests.cli.support import csv_file, refused, run, told


@pytest.fixture
def kept(tmp_path: Path, data: Path) -> Path:
    """Return a folder of checkpoints, and a model beside it."""
    folder, model = tmp_path / "kept", tmp_path / "model.llsvm"
    given = ["--from", data, "--label", "y", "--key", "id", "--checkpoints", folder]
    told("run", *given, "--save", model)
    return folder


def lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def test_predictions_are_the_models(tmp_path: Path, kept: Path) -> None:
    other = csv_file(tmp_path / "other.csv", 50, seed=1)
    model = load_model(tmp_path / "model.llsvm")
    result = run("predict", tmp_path / "model.llsvm", other, "--label", "y", "--key", "id")
    assert result.exit_code == 0
    for line, one in zip(other.read_text().splitlines()[1:], lines(result.stdout), strict=True):
        key, a, b, y = line.split(",")
        assert (one["key"], one["label"]) == (key, y)
        assert one["prediction"] == model.predict_one({"a": float(a), "b": float(b)})
    assert "50 predicted, 0 rejected, " in result.stderr
    assert "of 50 labels right" in result.stderr


def test_what_is_not_predicted_is_told(tmp_path: Path, kept: Path, data: Path) -> None:
    bad_file = tmp_path / "bad.csv"
    bad_file.write_text(data.read_text() + "r400,1.0\nr401,1.0,red,up\n")
    result = run("predict", kept, bad_file, "--label", "y")
    assert result.exit_code == 0
    first, bad, count = result.stderr.splitlines()
    assert first == (
        f"stream-llsvm: the first that was rejected: {bad_file}:402: wrong number of fields: "
        "2 instead of 4: b'r400,1.0'"
    )
    assert bad == (
        "stream-llsvm: 1 values could not be read (b: 1); the first field that could not be read: "
        f"{bad_file}:403: not a number: 'b': 'red'"
    )
    assert count.startswith("401 predicted, 1 rejected, ")


def said(text: str) -> list[Any]:
    """Return what was predicted, without when, and by a model of which age."""
    every = [json.loads(line) for line in text.splitlines()]
    return [(one["offset"], one["prediction"], one["probability"]) for one in every]


def test_a_checkpoint_and_a_folder_predict_alike(tmp_path: Path, kept: Path, data: Path) -> None:
    last = max(kept.glob("*.llsvm"))
    to = tmp_path / "out.jsonl"
    assert run("predict", last, data, "--to", to).exit_code == 0
    by_model, by_folder = run("predict", tmp_path / "model.llsvm", data), run("predict", kept, data)
    assert said(by_model.stdout) == said(by_folder.stdout) == said(to.read_text())


def test_what_cannot_be_predicted(tmp_path: Path, kept: Path, data: Path) -> None:
    strange = tmp_path / "strange.csv"
    strange.write_text("aa,c\n1,2\n")
    (tmp_path / "text.llsvm").write_text("not a model")
    CommitteeClassifier().save(tmp_path / "new.llsvm")
    (tmp_path / "empty").mkdir()
    cases: list[tuple[list[Any], str]] = [
        ([tmp_path / "modle.llsvm", data], "did you mean"),
        ([tmp_path / "text.llsvm", data], "text.llsvm"),
        ([tmp_path / "new.llsvm", data], "has not learned anything yet"),
        ([tmp_path / "empty", data], "there is no checkpoint in it"),
        ([kept, strange], "none of the model's features: they are a, b (did you mean 'aa'?)"),
        ([kept, data, "--label", "yy"], "did you mean 'y'?"),
        ([kept, data, "--to", data], "data.csv is what is read: name another file"),
        ([kept, data, "--to", max(kept.glob("*.llsvm"))], "is what is read"),
    ]
    for given, complaint in cases:
        said = refused("predict", *given)
        assert complaint in said
        assert len(said.splitlines()) == 1


def test_predict_takes_the_flags_that_run_has(tmp_path: Path, kept: Path, data: Path) -> None:
    to = tmp_path / "some.jsonl"
    flags = ["--label", "y", "--ignore", "a", "--max-records", 30, "--to", to]
    counts = told("predict", kept, data, *flags)
    assert counts["predicted"] == counts["labelled"] == 30 == len(lines(to.read_text()))
    model = load_model(tmp_path / "model.llsvm")
    _, _, b, _ = data.read_text().splitlines()[7].split(",")
    assert lines(to.read_text())[6]["prediction"] == model.predict_one({"b": float(b)})
    beside = run("predict", kept, data, "--json", "--max-records", 2)
    assert len(beside.stdout.splitlines()) == 2
    assert json.loads(beside.stderr)["accuracy"] is None


def test_replay_takes_the_flags_that_run_has(tmp_path: Path, data: Path) -> None:
    bare, to = tmp_path / "bare.csv", tmp_path / "out.jsonl"
    bare.write_text(data.read_text().partition("\n")[2].replace(",", ";"))
    shape = ["--names", "id,a,b,y", "--delimiter", ";", "--ignore", "b"]
    assert told("replay", bare, "--to", to, *shape, "--max-records", 5)["sent"] == 5
    assert list(lines(to.read_text())[0]) == ["id", "a", "y"]


def test_inspect_says_it_on_a_screen(tmp_path: Path, kept: Path) -> None:
    for path, words in [
        (kept, ["a checkpoint", "400 learned", "behind line 401 of", "labels    2: ", "worth"]),
        (tmp_path / "model.llsvm", ["a model", "CommitteeClassifier(", "features  2: a, b"]),
    ]:
        result = run("inspect", path)
        assert result.exit_code == 0
        said = result.stdout.splitlines()
        assert len(said) <= 24
        assert max(map(len, said[1:])) <= 96
        for word in words:
            assert word in result.stdout


def test_inspect_says_when_and_by_what(tmp_path: Path, kept: Path) -> None:
    for path in (kept, tmp_path / "model.llsvm"):
        said = run("inspect", path).stdout
        assert re.search(r"written   \d{4}-\d\d-\d\d \d\d:\d\d:\d\d \+\d{4}, \d+ ", said)
        assert f"by stream_llsvm {stream_llsvm.__version__}" in said
        assert ("run for   " in said) == (path == kept)
        age = datetime.now(UTC) - datetime.fromisoformat(told("inspect", path)["written"])
        assert 0 <= age.total_seconds() < 600
    assert 0 < told("inspect", kept)["seconds"] < 600


def test_inspect_as_json(kept: Path) -> None:
    found = told("inspect", kept)
    assert found["counts"]["learned"] == 400
    assert found["features"] == ["a", "b"]
    assert [m["name"] for m in found["members"]][:2] == ["anchors:1", "anchors:30"]
    assert len(found["members"]) == len(MEMBERS)


def test_a_damaged_checkpoint_is_passed_over(kept: Path) -> None:
    (kept / "checkpoint-0000009999.llsvm").write_bytes(b"torn")
    said = run("inspect", kept).stdout
    assert "passed over: checkpoint-0000009999.llsvm" in said
    assert "400 learned" in said


def test_replay_sends_every_record_at_its_rate(tmp_path: Path, data: Path) -> None:
    to, begin = tmp_path / "out.jsonl", time.monotonic()
    result = run("replay", data, "--to", to, "--rate", 400, "--max-records", 200)
    assert result.exit_code == 0
    assert 0.4 < time.monotonic() - begin < 5
    sent = lines(to.read_text())
    assert len(sent) == 200
    first = data.read_text().splitlines()[1].split(",")
    assert sent[0] == {"id": "r0", "a": float(first[1]), "b": float(first[2]), "y": first[3]}


def test_what_cannot_be_replayed(tmp_path: Path, data: Path) -> None:
    to = tmp_path / "out.jsonl"
    cases: list[tuple[list[Any], str]] = [
        ([tmp_path / "dta.csv", "--to", to], "did you mean"),
        ([data, "--to", to, "--key", "idd"], "did you mean 'id'?"),
        ([data, "--to", "kafka://x"], "kafka://localhost:9092/topic"),
        ([data, "--to", "kafka://x:1/a,b"], "results go to one topic"),
        ([data], "Missing option '--to'"),
        ([data, "--to", to, "--rate", "-1"], "--rate"),
    ]
    for given, complaint in cases:
        said = refused("replay", *given)
        assert complaint in said
        assert len(said.splitlines()) == 1
