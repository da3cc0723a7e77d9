"""A model behind transformers: what the command says of its file, and what it predicts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from river import compose, feature_extraction, preprocessing, stats

from stream_llsvm import LLSVMClassifier, save_model
from tests.cli.support import refused, run, told
from tests.engine.test_pipelines import Doubled

TRUST = "--trust-pickle"
ROWS: list[dict[str, Any]] = [
    {"amount": 1.0 * (i % 5), "country": "DE" if i % 3 else "IT", "fraud": "no" if i % 3 else "yes"}
    for i in range(200)
]


def learned(before: Any) -> Any:
    model: Any = before | LLSVMClassifier(n_anchors=4, n_neighbors=2)
    for row in ROWS:
        model.learn_one({k: v for k, v in row.items() if k != "fraud"}, row["fraud"])
    return model


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "data.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return path


def test_inspect_and_predict_know_what_stands_in_front(tmp_path: Path, data: Path) -> None:
    path = tmp_path / "model.llsvm"
    usual = feature_extraction.Agg("amount", "country", stats.Mean())
    names = compose.Select("country") | preprocessing.OneHotEncoder()
    save_model(learned(names + usual), path, trust_pickle=True)
    said = run("inspect", path, TRUST).stdout
    assert "behind    Select" in said or "behind    [" in said
    assert "LLSVMClassifier(" in said
    assert told("inspect", path, TRUST)["features"][0] == "amount_mean_by_country"
    result = run("predict", path, data, TRUST, "--label", "fraud", "--to", tmp_path / "out.jsonl")
    assert result.exit_code == 0, result.output
    assert "200 predicted, 0 rejected, 100.00% of 200 labels right" in result.stderr


def test_pickled_parts_are_read_only_if_the_flag_says_so(tmp_path: Path, data: Path) -> None:
    path = tmp_path / "model.llsvm"
    save_model(learned(Doubled()), path, trust_pickle=True)
    for command in (("inspect", path), ("predict", path, data)):
        assert "--trust-pickle on the command line" in refused(*command)
        assert run(*command, TRUST).exit_code == 0
