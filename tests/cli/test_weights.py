"""``--weight``: in every command that reads records, and in a pipeline file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stream_llsvm import load_model
from tests.cli.support import refused, run, told

N = 600


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Write a stream in which the labels of records without weight are wrong."""
    rng = np.random.default_rng(0)
    lines = ["a,b,count,y"]
    for _ in range(N):
        a, b = rng.normal(size=2)
        wrong = rng.random() < 0.4
        right = a * b > 0
        lines.append(f"{a:.3f},{b:.3f},{0 if wrong else 2},{'no' if right == wrong else 'yes'}")
    path = tmp_path / "data.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_evaluate_learns_by_weight(data: Path) -> None:
    models = ("--models", "sapl", "--against", "logreg,majority")
    result = run("evaluate", data, "--label", "y", "--weight", "count", *models)
    assert result.exit_code == 0, result.output
    assert "majority learns each record that counts as one" not in result.stderr
    with_weights = told("evaluate", data, "--label", "y", "--weight", "count", *models)
    without = told("evaluate", data, "--label", "y", "--ignore", "count", *models)
    own, other = (next(iter(found["models"])) for found in (with_weights, without))
    assert own["accuracy"] != other["accuracy"]
    assert with_weights["records"] == without["records"] == N


def test_evaluate_says_which_model_takes_no_weights(data: Path) -> None:
    result = run("evaluate", data, "--label", "y", "--weight", "count", "--against", "knn")
    assert "knn learns each record that counts as one" in result.stderr


@pytest.mark.parametrize(("weight", "warned"), [(40, 1), (2, 0)])
def test_weights_far_above_one_are_warned_of_once(
    tmp_path: Path, data: Path, weight: int, warned: int
) -> None:
    heavy = tmp_path / "heavy.csv"
    names, *lines = data.read_text().splitlines()
    rows = [line.split(",") for line in lines] * 4
    heavy.write_text("\n".join([names, *(f"{a},{b},{weight},{y}" for a, b, _, y in rows)]) + "\n")
    file = (heavy, "--label", "y", "--weight", "count")
    for result in (
        run("evaluate", *file, "--models", "sapl,pegasos"),
        run("run", "--from", *file, "--model", "sapl"),
    ):
        assert result.exit_code == 0, result.output
        assert result.stderr.count(f"weights are {weight} on the mean") == warned


def test_run_and_predict_leave_the_weight_out_of_the_features(tmp_path: Path, data: Path) -> None:
    model = tmp_path / "model.llsvm"
    report: dict[str, Any] = told(
        "run", "--from", data, "--label", "y", "--weight", "count", "--model", "sapl",
        "--save", model,
    )  # fmt: skip
    assert report["learned"] + report["weightless"] == N
    assert report["weightless"] > 0
    assert load_model(model).features == ("a", "b")
    found = told("predict", model, data, "--label", "y", "--weight", "count",
                 "--to", tmp_path / "out.jsonl")  # fmt: skip
    assert found["predicted"] == N


def test_a_pipeline_file_names_the_weight(tmp_path: Path, data: Path) -> None:
    path = tmp_path / "run.toml"
    path.write_text(
        f'[source]\nfrom = ["{data}"]\nlabel = "y"\nweight = "count"\n[model]\nclass = "sapl"\n'
    )
    assert told("run", path)["weightless"] > 0
    path.write_text(f'[source]\nfrom = ["{data}"]\nlabel = "y"\nweight = "cuont"\n')
    assert "did you mean 'count'" in refused("run", path)


def test_a_weight_that_is_a_feature_too_is_refused(data: Path) -> None:
    said = refused("evaluate", data, "--label", "y", "--weight", "a", "--features", "a,b")
    assert "both the weight and a feature" in said
