"""``predict``: what it says is what the model says, and what it leaves out is told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from stream_llsvm import CommitteeClassifier, load_model
from tests.cli.support import csv_file, lines, refused, run, told


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
    bad_file.write_text(data.read_text() + "r400,1.0\nr401,1.0,inf,up\n")
    result = run("predict", kept, bad_file, "--label", "y")
    assert result.exit_code == 0
    first, bad, count = result.stderr.splitlines()
    assert first == (
        f"stream-llsvm: the first that was rejected: {bad_file}:402: wrong number of fields: "
        "2 instead of 4: b'r400,1.0'"
    )
    assert bad == (
        "stream-llsvm: 1 values could not be read (b: 1); the first field that could not be read: "
        f"{bad_file}:403: infinite value: 'b': 'inf'"
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


def test_a_checkpoint_knows_what_its_columns_are(tmp_path: Path) -> None:
    data, folder = tmp_path / "zips.csv", tmp_path / "kept"
    zips = [f"{7 + i * i % 5:05}" for i in range(300)]
    data.write_text("zip,y\n" + "".join(f"{one},{int(one) % 2}\n" for one in zips))
    given = ["--label", "y", "--field", "zip=name"]
    small = ["--model", "llsvm", "--option", "n_anchors=9", "--option", "n_neighbors=4"]
    model = tmp_path / "m.llsvm"
    told("run", "--from", data, *given, *small, "--checkpoints", folder, "--save", model)
    as_names = said(run("predict", folder, data, *given).stdout)
    assert said(run("predict", folder, data).stdout) == as_names
    assert said(run("predict", folder, data, "--label", "y").stdout) == as_names
    assert said(run("predict", model, data).stdout) != as_names  # which knows nothing of files
    assert run("predict", folder, data, "--key", "y").exit_code == 0
    as_numbers = run("predict", folder, data, "--field", "zip=number")
    assert said(as_numbers.stdout) != as_names


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
