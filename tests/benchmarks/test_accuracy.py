"""The accuracy table: baselines beside every stream, label history apart, orders with spread."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import accuracy
import numpy as np
import peers
import pytest
from streams import load_stream


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a sorted file and one whose labels take turns."""
    luck = np.random.default_rng(0)
    y = np.repeat([0, 1], 60)
    np.savez(tmp_path / "banana.npz", X=luck.normal(size=(120, 2)) + y[:, None], y=y)
    turns = np.arange(300) % 2
    np.savez(tmp_path / "turns.npz", X=luck.normal(size=(300, 2)), y=turns)
    return tmp_path


def run(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *more: str
) -> str:
    monkeypatch.setattr(sys, "argv", ["benchmarks/accuracy.py", "--data", str(folder), *more])
    accuracy.main()
    return capsys.readouterr().out


def table(text: str, first: str) -> list[dict[str, str]]:
    """Return the lines of the table whose header begins so."""
    (found,) = re.findall(rf"^(\| {first} \|.*(?:\n\|.*)+)", text, re.MULTILINE)
    header, _, *rows = (
        [c.strip() for c in line.strip("|").split("|")] for line in found.split("\n")
    )
    return [dict(zip(header, row, strict=True)) for row in rows]


def test_label_history_is_told_apart_from_what_records_say(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Labels take turns and records say nothing: only who reads labels can be right."""
    text = run(folder, monkeypatch, capsys, "--learners", "committee,no-history", "turns")
    (line,) = table(text, r"stream \| rows")
    assert float(line["last label"]) == 0.0 and 45 < float(line["majority"]) < 55
    assert float(line["committee"]) > 90
    # The memory, which also counts its votes by age, knows a part of it.
    assert float(line["committee without label history"]) < float(line["committee"]) - 10
    assert "reads the order of the labels" in text
    details = {row["learner"]: row for row in table(text, r"stream \| learner")}
    assert float(details["committee"]["kappa_t"]) > 0.9
    losses = [float(row["log loss"]) for row in details.values()]
    assert losses[0] < losses[1]


def test_no_history_leaves_out_one_member() -> None:
    whole, without = (set(peers.ours(name).members) for name in ("committee", "no-history"))
    assert whole - without == {peers.HISTORY} and not without - whole


def test_sorted_files_are_learned_in_several_orders(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = run(folder, monkeypatch, capsys, "--learners", "lcc", "--orders", "3", "banana", "turns")
    shuffled, own = table(text, r"stream \| rows")
    assert "±" in shuffled["lcc"] and "±" in shuffled["majority"] and "±" not in own["lcc"]
    assert "over 3 orders of the records: banana." in text
    orders = [load_stream(folder, "banana", order=order) for order in (0, 0, 1)]
    assert np.array_equal(orders[0].X, orders[1].X) and not np.array_equal(orders[0].X, orders[2].X)


def test_what_was_quoted_of_whole_streams_stands_beside_whole_streams_only(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    told = ["--learners", "lcc", "--orders", "1", "banana"]
    assert "ARF(100) 88.83, ARF(10) 89.00" in run(folder, monkeypatch, capsys, *told)
    assert "quoted" not in run(folder, monkeypatch, capsys, "--rows", "50", *told)
