"""``replay``: every record, at its rate."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from tests.cli.support import lines, refused, run, told


def test_replay_takes_the_flags_that_run_has(tmp_path: Path, data: Path) -> None:
    bare, to = tmp_path / "bare.csv", tmp_path / "out.jsonl"
    bare.write_text(data.read_text().partition("\n")[2].replace(",", ";"))
    shape = ["--names", "id,a,b,y", "--delimiter", ";", "--ignore", "b"]
    assert told("replay", bare, "--to", to, *shape, "--max-records", 5)["sent"] == 5
    assert list(lines(to.read_text())[0]) == ["id", "a", "y"]


def test_replay_sends_every_record_at_its_rate(tmp_path: Path, data: Path) -> None:
    to, begin = tmp_path / "out.jsonl", time.monotonic()
    result = run("replay", data, "--to", to, "--rate", 400, "--max-records", 200)
    assert result.exit_code == 0
    assert 0.4 < time.monotonic() - begin < 5
    sent = lines(to.read_text())
    assert len(sent) == 200
    first = data.read_text().splitlines()[1].split(",")
    assert sent[0] == {"id": "r0", "a": float(first[1]), "b": float(first[2]), "y": first[3]}


def test_what_cannot_be_replayed(tmp_path: Path, data: Path) -> None:
    to = tmp_path / "out.jsonl"
    cases: list[tuple[list[Any], str]] = [
        ([tmp_path / "dta.csv", "--to", to], "did you mean"),
        ([data, "--to", to, "--key", "idd"], "did you mean 'id'?"),
        ([data, "--to", "kafka://x"], "kafka://localhost:9092/topic"),
        ([data, "--to", "kafka://x:1/a,b"], "results go to one topic"),
        ([data], "Missing option '--to'"),
        ([data, "--to", to, "--rate", "-1"], "--rate"),
    ]
    for given, complaint in cases:
        said = refused("replay", *given)
        assert complaint in said
        assert len(said.splitlines()) == 1
