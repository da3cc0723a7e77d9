"""The pipelines in examples/ run as they are."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from stream_llsvm.cli.pipeline import Pipeline
from tests.cli.support import ROOT, told

EXAMPLES = sorted((ROOT / "examples").glob("*.toml"))


def test_there_are_some() -> None:
    assert len(EXAMPLES) >= 3


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_each_is_without_mistakes(path: Path) -> None:
    assert "source" in Pipeline(path).checked()


@pytest.mark.parametrize(
    ("name", "records"),
    [("file_to_file", 1_500), ("late_labels", 1_500), ("keyed", 3_000), ("cluster", 3_000)],
)
def test_those_of_files_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, records: int
) -> None:
    (tmp_path / "examples").mkdir()
    for file in (ROOT / "examples").glob("*.csv"):
        shutil.copy(file, tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    assert told("run", ROOT / "examples" / f"{name}.toml")["learned"] == records
    assert len(list(tmp_path.glob("runs/*/predictions.jsonl"))) == 1
