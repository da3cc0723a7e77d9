"""The commands with models that learn numbers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.cli.support import run

N = 400


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Return a file as much of Europe writes it; two labels are no numbers, one is missing."""
    x = np.random.default_rng(0).normal(size=(N, 2)).round(3)
    y = (100 + 20 * x[:, 0] * x[:, 1] + 5 * x[:, 1]).round(2)
    rows = [
        f"{a};{b};{z}".replace(".", ",") for (a, b), z in zip(x.tolist(), y.tolist(), strict=True)
    ]
    rows[10], rows[11], rows[12] = "0,5;0,5;calm", "0,5;0,5;inf", "0,5;0,5;NA"
    path = tmp_path / "demand.csv"
    path.write_text("wind;rain;kwh\n" + "\n".join(rows) + "\n")
    return path


COLUMNS = ("--label", "kwh", "--delimiter", ";", "--decimal", ",")


def told(text: str) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(text.splitlines()[-1])
    return answer


@pytest.mark.parametrize("model", ["llsvm-regressor", "PegasosRegressor"])
def test_a_run_its_checkpoint_and_its_model(model: str, data: Path, tmp_path: Path) -> None:
    out, kept, saved = tmp_path / "out.jsonl", tmp_path / "kept", tmp_path / "model.llsvm"
    letters = tmp_path / "letters.jsonl"
    done = run(
        "run", "--from", str(data), *COLUMNS, "--model", model, "--to", str(out), "--json",
        "--checkpoints", str(kept), "--save", str(saved), "--dead-letters", str(letters),
    )  # fmt: skip
    assert done.exit_code == 0, done.stderr
    report = told(done.stdout)
    assert (report["task"], report["learned"], report["unscored"]) == ("regression", N - 3, 1)
    assert report["rejected"] == {"odd label": 2}
    scores = report["scores"]["cumulative"]
    assert set(scores) == {"mae", "rmse", "r2", "mean_label", "last_label"}
    results = [json.loads(line) for line in out.read_text().splitlines()]
    assert len(results) == N - 2
    assert results[0]["prediction"] is None
    assert all(one["probability"] is None for one in results)
    errors = [
        abs(one["prediction"] - one["label"]) for one in results[1:] if one["label"] is not None
    ]
    assert scores["mae"] == pytest.approx(np.mean(errors))
    places = [json.loads(line)["offset"] for line in letters.read_text().splitlines()]
    assert places == [12, 13]

    looked = run("inspect", str(kept))
    assert looked.exit_code == 0, looked.stderr
    assert "labels" not in looked.stdout
    assert f"MAE {scores['mae']:,.5g}" in looked.stdout
    assert "mean baseline" in looked.stdout
    assert told(run("inspect", str(kept), "--json").stdout)["scores"] == report["scores"]

    for source in (saved, kept):
        answer = run("predict", str(source), str(data), *COLUMNS, "--to", str(tmp_path / "p.csv"))
        assert answer.exit_code == 0, answer.stderr
        assert f"{N - 2} predicted, 2 rejected, MAE " in answer.stderr
        assert f" over {N - 3} labels" in answer.stderr

    table = run("run", "--from", str(data), *COLUMNS, "--model", model)
    assert f"{scores['mae']:,.5g}" in table.stdout
    assert "accuracy" not in table.stdout + table.stderr


def test_models_of_numbers_are_evaluated_beside_rivers(data: Path, tmp_path: Path) -> None:
    report = tmp_path / "report.html"
    done = run(
        "evaluate", str(data), *COLUMNS, "--models", "all-regressors", "--against",
        "linreg,mean", "--json", "--report", str(report),
    )  # fmt: skip
    assert done.exit_code == 0, done.stderr
    answer = told(done.stdout)
    assert (answer["records"], answer["rejected"], answer["task"]) == (N - 2, 2, "regression")
    rows = {row["model"]: row for row in answer["models"]}
    assert list(rows) == ["llsvm-regressor", "pegasos-regressor", "linreg", "mean"]
    assert rows["llsvm-regressor"]["mae"] < rows["llsvm-regressor"]["mean_label"]
    assert rows["mean"]["mae"] == pytest.approx(rows["mean"]["mean_label"])
    assert '"task":"regression"' in report.read_text()
    shown = run("evaluate", str(data), *COLUMNS, "--models", "llsvm-regressor")
    assert "labels from " in shown.stdout
    assert "llsvm-regressor: MAE " in shown.stderr


def test_a_model_that_sees_nothing_is_told(tmp_path: Path) -> None:
    y = np.random.default_rng(1).normal(size=200).round(3).tolist()
    data = tmp_path / "noise.csv"
    data.write_text("a,y\n" + "\n".join(f"{i % 2},{label}" for i, label in enumerate(y)) + "\n")
    done = run("evaluate", str(data), "--label", "y", "--models", "pegasos-regressor")
    assert (
        "no model is better than always telling the mean of the labels so far (MAE" in done.stderr
    )


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (("--models", "sapl,llsvm-regressor"), "sapl learn classes, and llsvm-regressor numbers"),
        (("--models", "llsvm-regressor", "--against", "logreg"), "evaluate them apart"),
    ],
)
def test_classes_are_not_held_against_numbers(given: tuple[str, ...], why: str, data: Path) -> None:
    done = run("evaluate", str(data), *COLUMNS, *given)
    assert (done.exit_code, why in done.stderr) == (2, True), done.stderr


def test_labels_that_are_no_numbers_stop_a_run(tmp_path: Path) -> None:
    data = tmp_path / "classes.csv"
    data.write_text("a,y\n" + "\n".join(f"{i},calm" for i in range(150)) + "\n")
    done = run("run", "--from", str(data), "--label", "y", "--model", "llsvm-regressor")
    assert done.exit_code == 1
    assert f"{data}:2: odd label: 'label': 'calm' is not a finite number" in done.stderr
