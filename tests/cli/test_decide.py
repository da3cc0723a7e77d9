"""Costs, what is held, sets and weights by class: by flags, by file, and with `evaluate`."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest

from tests.cli.support import lines, refused, run, told


def flags(data: Path, *more: object) -> list[object]:
    return ["--from", data, "--label", "y", "--key", "id", "--model", "llsvm", *more]


def test_flags_and_a_file_say_the_same(tmp_path: Path, data: Path) -> None:
    pipeline, out = tmp_path / "p.toml", tmp_path / "out.jsonl"
    pipeline.write_text(
        f'[source]\nfrom = "{data}"\nlabel = "y"\nkey = "id"\n[model]\nclass = "llsvm"\n'
        '[decision]\ncoverage = 0.9\nclass_weight = "balanced"\n'
        'hold = {label = "up", recall = 0.7}\n'
        "[decision.costs.up]\ndown = 7\n"
    )
    by_file = told("run", pipeline, "--to", out)
    by_flags = told(
        "run", *flags(data, "--coverage", 0.9, "--class-weight", "balanced", "--hold",
                      "up:recall=0.7", "--costs", "up:down=7")
    )  # fmt: skip
    assert by_file["scores"] == by_flags["scores"]
    written = lines(out.read_text())
    assert {"decision", "set"} <= set(written[-1])
    covered = [one["label"] in one["set"] for one in written[1:]]
    assert by_file["scores"]["cumulative"]["coverage"] == pytest.approx(sum(covered) / len(covered))


def test_a_csv_file_has_decisions_at_the_end(tmp_path: Path, data: Path) -> None:
    out = tmp_path / "out.csv"
    told("run", *flags(data, "--coverage", 0.9, "--to", out))
    with open(out, newline="") as file:
        rows = list(csv.DictReader(file))
    assert rows[-1]["decision"] in ("up", "down")
    assert rows[-1]["set"].startswith("[")


def test_evaluate_tells_what_decisions_cost(data: Path) -> None:
    given = [data, "--label", "y", "--ignore", "id", "--models", "llsvm"]
    plain = told("evaluate", *given)["models"][0]
    costly = told("evaluate", *given, "--costs", "up:down=50,down:up=1", "--coverage", 0.95)
    (row,) = costly["models"]
    assert row["accuracy"] == plain["accuracy"] and row["log_loss"] == plain["log_loss"]
    assert row["coverage"] > 0.85 and row["cost"] < 5
    assert "cost" not in plain
    shown = run("evaluate", *given, "--hold", "up:precision=0.8").stdout
    rest = r"llsvm: .*G-mean 0\.\d+, ROC-AUC 0\.\d+, PR-AUC .*held share \d\d\.\d\d%"
    assert re.search(rest, shown)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--costs", "updown=7"], "--costs: write TRUTH:DECIDED=COST"),
        (["--costs", "up:down=x"], "--costs: write TRUTH:DECIDED=COST"),
        (["--hold", "up=0.9"], "--hold: write LABEL:precision=0.9"),
        (["--hold", "up:f1=0.9"], "--hold: hold is a label with its precision or its recall"),
        (["--coverage", "9"], "--coverage: coverage must be a number from 0.5"),
        (["--class-weight", "balancd"], '--class-weight: write "balanced" or LABEL=WEIGHT'),
        (["--model", "llsvm-regressor", "--coverage", "0.9"], "LLSVMRegressor learns numbers"),
    ],
)
def test_a_mistake_names_the_flag(data: Path, given: list[str], said: str) -> None:
    complaint = refused("run", *flags(data), *given)
    assert said in complaint
    assert complaint.count("\n") == 1
