"""``evaluate``: the scores are those of the obvious loop."""

from __future__ import annotations

from pathlib import Path
from typing import Any

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
        hits.update(y, guess)
        if guess is not None:
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


def test_mistakes_are_one_line(tmp_path: Path, data: Path) -> None:
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
        (["-", "--label", "y"], "name a file"),
    ]
    for given, complaint in cases:
        said = refused("evaluate", *given)
        assert complaint in said
        assert len(said.splitlines()) == 1
