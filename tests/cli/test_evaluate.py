"""``evaluate``: the scores are those of the obvious loop."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from river import metrics

from stream_llsvm import SAPLClassifier
from tests.cli.support import csv_file, refused, run, told

PLAIN = ["--label", "y", "--ignore", "id"]


def test_the_scores_are_the_obvious_loops(data: Path) -> None:
    (found,) = told("evaluate", data, *PLAIN, "--models", "sapl")["models"]
    model, hits, loss = SAPLClassifier(), metrics.Accuracy(), metrics.MacroF1()
    for line in data.read_text().splitlines()[1:]:
        _, a, b, y = line.split(",")
        x = {"a": float(a), "b": float(b)}
        guess = model.predict_one(x)
        if guess is not None:
            hits.update(y, guess)
            loss.update(y, guess)
        model.learn_one(x, y)
    assert found["accuracy"] == pytest.approx(hits.get())
    assert found["macro_f1"] == pytest.approx(loss.get())
    assert found["us_per_record"] > 0


def test_several_beside_rivers(data: Path) -> None:
    peers = ["logreg", "arf", "knn", "majority", "nochange"]
    given = ["--models", "committee,sapl", "--against", ",".join(peers), "--max-records", 150]
    report = told("evaluate", data, *PLAIN, *given)
    assert [row["model"] for row in report["models"]] == ["committee", "sapl", *peers]
    assert report["records"] == 150
    assert report["classes"] == 2


def test_the_table_has_a_row_a_model(tmp_path: Path) -> None:
    small = csv_file(tmp_path / "small.csv", 60)
    result = run("evaluate", small, *PLAIN, "--models", "all")
    assert result.exit_code == 0
    for name in ("committee", "sapl", "llsvm", "lcc", "additive", "memory", "ferns"):
        assert f" {name} " in result.stdout


def test_labels_that_are_numbers_suit_rivers_too(tmp_path: Path) -> None:
    data = tmp_path / "n.csv"
    data.write_text("a,y\n" + "".join(f"{i % 7}.5,{int(i % 7 > 3)}\n" for i in range(200)))
    for row in told("evaluate", data, "--label", "y", "--against", "logreg,knn")["models"]:
        assert row["accuracy"] > 0.8
        assert row["refused"] == 0


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "there are no records in it"),
        ("a,y\n", "there are no records in it"),
        ("a,y\n1,\n", "no record has a label"),
        ("a,y\n1\n2\n", "2 cannot be read (the first: wrong number of fields"),
        ("0.5,0.25,1\n1,2,3\n", "--names a,b,..."),
        ("a;y\n1;2\n", "--delimiter ';'"),
    ],
)
def test_why_nothing_can_be_learned_from_a_file(tmp_path: Path, text: str, told: str) -> None:
    data = tmp_path / "odd.csv"
    data.write_text(text)
    said = refused("evaluate", data, "--label", "y")
    assert told in said
    assert len(said.splitlines()) == 1


def test_a_file_without_a_header_and_with_another_delimiter(tmp_path: Path, data: Path) -> None:
    lines = data.read_text().splitlines()[1:]
    bare = tmp_path / "bare.csv"
    bare.write_text("".join(line.replace(",", ";") + "\n" for line in lines))
    shape = ["--names", "id, a, b, y", "--delimiter", ";"]
    by_names = told("evaluate", bare, *PLAIN, "--models", "lcc", *shape)
    by_header = told("evaluate", data, *PLAIN, "--models", "lcc")
    assert by_names["records"] == 400
    assert by_names["models"][0]["accuracy"] == by_header["models"][0]["accuracy"]


def test_what_cannot_be_used_is_told_of(tmp_path: Path) -> None:
    data = csv_file(tmp_path / "some.csv", 60)
    data.write_text(data.read_text() + "r60,1.0,inf,up\nr61,1.0,1.0,\nr62,?\n")
    result = run("evaluate", data, *PLAIN, "--models", "lcc")
    title = " ".join(result.stdout.partition("┏")[0].split())
    assert title.endswith(
        "some.csv: 62 records, 2 classes, 1 without a label, 1 cannot be read (the first: wrong "
        "number of fields, 2 instead of 4: b'r62,?'), 1 values could not be read (b: 1)"
    )
    strict = run("evaluate", data, *PLAIN, "--models", "lcc", "--on-bad-field", "reject", "--json")
    told = json.loads(strict.stdout)
    assert (told["records"], told["rejected"], told["bad_fields"]) == (61, 2, {"b": 1})


def test_a_label_that_is_a_number_is_wondered_at(tmp_path: Path) -> None:
    data = tmp_path / "n.csv"
    data.write_text("a,y\n" + "".join(f"{i % 7}.5,{i / 7}\n" for i in range(60)))
    result = run("evaluate", data, "--label", "y", "--models", "lcc")
    assert result.exit_code == 0
    assert "60 labels in 60 records: is the label a class" in result.stderr


def test_nothing_better_than_the_commonest_class_is_said(tmp_path: Path) -> None:
    noise = tmp_path / "noise.csv"
    draws = np.random.default_rng(0).random((300, 2)).tolist()
    noise.write_text("a,y\n" + "".join(f"{a:.3f},{int(b < 0.05)}\n" for a, b in draws))
    result = run("evaluate", noise, "--label", "y", "--models", "lcc")
    assert "no model is better than always answering the commonest class" in result.stderr
    report = json.loads(run("evaluate", noise, "--label", "y", "--json").stdout)
    assert report["models"][0]["majority"] > 0.9
    good = csv_file(tmp_path / "good.csv", 400)
    assert "commonest class" not in run("evaluate", good, *PLAIN).stderr


def test_a_file_that_ends_too_early_is_one_line(tmp_path: Path, data: Path) -> None:
    cut = tmp_path / "cut.csv.gz"
    cut.write_bytes(gzip.compress(csv_file(tmp_path / "long.csv", 5_000).read_bytes())[:-9_000])
    result = run("evaluate", cut, *PLAIN)
    assert result.exit_code == 1
    assert result.stderr.count("\n") == 1
    assert "the compressed file is damaged" in result.stderr


def test_mistakes_are_one_line(tmp_path: Path, data: Path) -> None:
    nameless = csv_file(tmp_path / "nameless", 9)
    cases: list[tuple[list[Any], str]] = [
        (
            [data, *PLAIN, "--models", "sappl"],
            '--models: unknown model "sappl": did you mean "sapl"',
        ),
        ([data, *PLAIN, "--against", "forest"], '--against: unknown learner "forest"'),
        ([data, *PLAIN, "--models", ""], "name at least one"),
        ([data, "--label", "yy"], "did you mean 'y'?"),
        ([data], "say which column is the label"),
        ([tmp_path / "none.csv", "--label", "y"], "there is no such file"),
        ([data, *PLAIN, "--report", data], "data.csv is what is read: name another file"),
        (["-", "--label", "y"], "name a file"),
        ([tmp_path, "--label", "y"], "is a folder: name a file in it"),
        ([nameless, *PLAIN], "which format does it have? Give --format csv"),
    ]
    for given, complaint in cases:
        said = refused("evaluate", *given)
        assert complaint in said
        assert len(said.splitlines()) == 1
