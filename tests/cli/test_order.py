"""Several files, or partitions, in the order of time: the flags, and what is wrong with them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.support import refused, run, told

SMALL = ["--label", "y", "--model", "pegasos"]


@pytest.fixture
def files(tmp_path: Path) -> list[Any]:
    """Write two files whose records alternate; one record says no time."""
    paths = [tmp_path / "a.csv", tmp_path / "b.csv"]
    for odd, path in enumerate(paths):
        rows = [f"2026-11-19T10:{i // 60:02}:{i % 60:02}Z,{i},{i % 3}" for i in range(odd, 600, 2)]
        path.write_text("at,x,y\n" + "\n".join([*rows, *([",7,1"] if odd else [])]) + "\n")
    return [flag for path in paths for flag in ("--from", path)]


def lines(path: Path) -> list[Any]:
    return [json.loads(line)["label"] for line in path.read_text().splitlines()]


def test_files_are_merged_and_a_run_goes_on(tmp_path: Path, files: list[Any]) -> None:
    kept = ["--to", tmp_path / "out.jsonl", "--checkpoints", tmp_path / "kept", "--time", "at"]
    first = told("run", *files, *SMALL, *kept, "--max-batch", 50, "--max-records", 100)
    assert (first["records"], first["late"], first["gave_up"]) == (100, 0, 0)
    report = told("run", *files, *SMALL, *kept, "--save", tmp_path / "m.llsvm")
    assert report["rejected"] == {"no time": 1} and report["learned"] == 600
    assert lines(tmp_path / "out.jsonl") == [i % 3 for i in range(600)]
    told("run", *files, *SMALL, "--time", "at", "--save", tmp_path / "whole.llsvm")
    assert (tmp_path / "m.llsvm").read_bytes() == (tmp_path / "whole.llsvm").read_bytes()
    assert "2 files, merged by time" in run("inspect", tmp_path / "kept").output


def test_without_a_time_files_come_one_after_the_other(tmp_path: Path, files: list[Any]) -> None:
    told("run", *files, *SMALL, "--to", tmp_path / "out.jsonl")
    halves = [i % 3 for i in [*range(0, 600, 2), *range(1, 600, 2)]]
    assert lines(tmp_path / "out.jsonl") == [*halves, 1]


def test_what_is_wrong_is_said(files: list[Any]) -> None:
    assert "there is no column 'when' (time)" in refused("run", *files, *SMALL, "--time", "when")
    assert "name the column of it" in refused("run", *files, *SMALL, "--order", "time")
    both = ["--order", "arrival", "--time", "at"]
    assert "order='arrival' asks for no time" in refused("run", *files, *SMALL, *both)
    wait = ["--time", "at", "--max-wait", "soon"]
    assert '"500 ms"' in refused("run", *files, *SMALL, *wait)
    assert told("run", *files, *SMALL, "--time", "at", "--max-wait", "500 ms")["learned"] == 600
