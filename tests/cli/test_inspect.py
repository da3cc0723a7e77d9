"""``inspect``: what is in a file, on a screen."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

import stream_llsvm
from stream_llsvm.learners.committee import MEMBERS
from tests.cli.support import run, told


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


def test_inspect_says_where_a_run_over_parquet_stood(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    parquet = pytest.importorskip("pyarrow.parquet")
    table = pytest.importorskip("pyarrow").table({"a": list(range(200)), "y": [0, 1] * 100})
    data, folder = "year.parquet", "kept"
    parquet.write_table(table, data, row_group_size=60)
    given = ["run", "--from", data, "--label", "y", "--checkpoints", folder, "--max-batch", 10]
    told(*given, "--max-records", 130)
    assert f"position  behind record 130 of {data}" in run("inspect", folder).stdout
    told(*given)
    assert f"position  behind record 200 of {data}" in run("inspect", folder).stdout
