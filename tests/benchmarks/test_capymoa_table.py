"""The table of CapyMOA's generators: its parts, and the whole where CapyMOA can be had."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
from argparse import Namespace
from pathlib import Path
from typing import Any

import capymoa_table
import numpy as np
import pytest
from capymoa_table import STREAMS, changes, report, spelled, with_names
from measuring import Line
from moa_peers import LEARNERS
from scores import Baselines, Pass

ROOT = Path(__file__).resolve().parents[2]
THERE = importlib.util.find_spec("capymoa") is not None and shutil.which("java") is not None


def test_concepts_last_equally_long() -> None:
    assert changes(1, 50_000) == []
    assert changes(3, 50_000) == [16_666, 33_333]
    assert changes(4, 50_000) == [12_500, 25_000, 37_500]


def test_what_is_printed_is_python() -> None:
    """Whoever has CapyMOA can paste it; every record of every stream is of one length."""
    assert spelled(STREAMS["rtg"], 99) == (
        "RandomTreeGenerator(instance_random_seed=1, tree_random_seed=1)"
    )
    for name, concepts in STREAMS.items():
        text = spelled(concepts, 900)
        compile(text, name, "eval")
        assert text.count("AbruptDrift(position=") == len(concepts) - 1
    assert "AbruptDrift(position=300), RandomTreeGenerator" in spelled(STREAMS["rtg-drifts"], 900)


def test_nominal_attributes_become_names() -> None:
    X = np.array([[0.0, 0.5, 1.0], [1.0, 0.25, 0.0]])
    assert with_names(X, {}) is X
    mixed = with_names(X, {0: ["red", "blue"], 2: ["0", "1"]})
    assert mixed.tolist() == [["red", 0.5, "v1"], ["blue", 0.25, "v0"]]


def line(stream: str, learner: str, hits: int, probable: bool) -> Line:
    done = Pass(np.arange(100) < hits, 0.001)
    other = Pass(done.hits, 0.002, np.full(100, 0.5), np.full(100, 0.5))
    return Line(stream, learner, done, other if probable else done, None, Baselines(60.0, 50.0))


def test_the_report_says_who_is_ahead_and_what_it_costs() -> None:
    found = {
        "rtg": [line("rtg", "committee", 90, True), line("rtg", "SGBT", 85, False)],
        "hyper": [line("hyper", "committee", 80, True), line("hyper", "SGBT", 84, False)],
        "led": [line("led", "committee", 74, True), line("led", "SGBT", 70, False)],
    }
    text = report(found, Namespace(rows=100, block=50))
    assert "| rtg | 60.00 | 50.00 | 90.00 | 85.00 |" in text
    assert "| mean rank |  |  | 1.33 | 1.67 |" in text
    assert "By mean rank the first is committee (1.33)." in text
    assert "so close to the first are SGBT." in text
    assert "| committee | 20.0 | 10.0 |" in text and "| SGBT | 10.0 | - |" in text
    for name in found:
        assert f"- {name}: `{spelled(STREAMS[name], 100)}`" in text


def test_without_capymoa_it_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    missing: Any = None
    monkeypatch.setitem(sys.modules, "capymoa", missing)
    monkeypatch.setattr(sys, "argv", ["benchmarks/capymoa_table.py"])
    with pytest.raises(SystemExit, match=r"need CapyMOA and Java 17: (.|\n)*pip install --no-deps"):
        capymoa_table.main()


@pytest.mark.skipif(not THERE, reason="needs CapyMOA and Java")
def test_every_learner_learns_every_stream() -> None:
    command = [sys.executable, "benchmarks/capymoa_table.py", "--rows", "60"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "labels differ" not in done.stderr
    lines = re.findall(r"^\| ([\w-]+) \| (.*) \|$", done.stdout, re.MULTILINE)
    rows = {name: cells.split(" | ") for name, cells in lines if name in STREAMS}
    assert rows.keys() == STREAMS.keys()
    assert all(len(cells) == 2 + 3 + len(LEARNERS) for cells in rows.values())
    assert all(0 < float(cell) <= 100 for cells in rows.values() for cell in cells[2:])
