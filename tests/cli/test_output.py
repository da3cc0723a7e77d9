"""Where predictions go, who may write there, and what a run says meanwhile."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from typing import Any

import pytest

from stream_llsvm import __version__
from stream_llsvm.connectors.predictions import FIELDS
from tests.cli.support import ROOT, csv_file, refused, run, started, told, wait_for
from tests.cli.test_run import arguments, lines


def test_standard_output_is_predictions_alone(data: Path) -> None:
    for more in ([], ["--json"]):
        result = run(*arguments(data, "--to", "-", *more))
        assert result.exit_code == 0
        written = [json.loads(line) for line in result.stdout.splitlines()]
        assert [one["key"] for one in written] == [f"r{i}" for i in range(400)]
        assert set(written[0]) == set(FIELDS) - {"probabilities", "decision", "set"}
        assert {one["model_version"] for one in written} == {__version__}
        assert [one["records_learned"] for one in written] == list(range(400))
    report = json.loads(result.stderr.splitlines()[-1])
    assert report["learned"] == 400


def test_what_cannot_be_cut_back_says_what_that_means(tmp_path: Path, data: Path) -> None:
    result = run(*arguments(data, "--to", "-", "--checkpoints", tmp_path / "kept"))
    assert "cannot be taken back: after a crash, records since the last checkpoint" in result.stderr
    file = run(*arguments(data, "--to", tmp_path / "p.jsonl", "--checkpoints", tmp_path / "more"))
    assert "cannot be taken back" not in file.stderr
    assert "name a file or a topic" in refused(*arguments(data, "--dead-letters", "-"))


def test_csv_and_every_probability(tmp_path: Path, data: Path) -> None:
    to = tmp_path / "p.csv"
    told(*arguments(data, "--to", to, "--probabilities", "all"))
    with to.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 400
    every = json.loads(rows[-1]["probabilities"])
    assert set(every) == {"up", "down"} and sum(every.values()) == pytest.approx(1)
    assert max(every, key=every.__getitem__) == rows[-1]["prediction"]
    assert float(rows[-1]["probability"]) == pytest.approx(max(every.values()))
    assert "JSON Lines or CSV" in refused(*arguments(data, "--to", tmp_path / "p.parquet"))


def test_predict_writes_the_same_fields(tmp_path: Path, data: Path) -> None:
    folder, to = tmp_path / "kept", tmp_path / "p.jsonl"
    told(*arguments(data, "--checkpoints", folder))
    given = ["--label", "y", "--key", "id", "--probabilities", "all"]
    assert run("predict", folder, data, *given, "--to", to).exit_code == 0
    printed = run("predict", folder, data, *given)
    assert set(lines(to)[0]) == set(FIELDS) - {"decision", "set"}
    assert {one["records_learned"] for one in lines(to)} == {400}

    def timeless(line: str) -> dict[str, Any]:
        return {k: v for k, v in json.loads(line).items() if k != "time"}

    shown = [timeless(line) for line in printed.stdout.splitlines()]
    assert shown == [timeless(line) for line in to.read_text().splitlines()]


def test_two_runs_cannot_write_to_one_file(tmp_path: Path, data: Path) -> None:
    to, other = tmp_path / "p.jsonl", csv_file(tmp_path / "other.csv", 50)
    first = started(*arguments(data, "--to", to, "--follow"))
    try:
        wait_for(to.exists)
        assert "another run writes to it" in refused(*arguments(other, "--to", to))
        assert "another run writes to it" in refused(*arguments(other, "--dead-letters", to))
    finally:
        first.terminate()
        first.communicate()
    assert run(*arguments(other, "--to", to)).exit_code == 0


def test_a_file_of_predictions_may_be_archived(tmp_path: Path, data: Path) -> None:
    to, folder = tmp_path / "p.jsonl", tmp_path / "kept"
    how = ["--to", to, "--checkpoints", folder, "--max-batch", 50]
    told(*arguments(data, *how, "--max-records", 100))
    to.rename(tmp_path / "archive.jsonl")
    said = refused(*arguments(data, *how))
    assert "restore the file, or let a new one be begun" in said
    assert "--on-lost-output new" in said
    result = run(*arguments(data, *how, "--on-lost-output", "new", "--json"))
    assert result.exit_code == 0
    assert f"{to} is not there any more and was begun anew" in result.stderr
    keys = [one["key"] for one in lines(tmp_path / "archive.jsonl") + lines(to)]
    assert keys == [f"r{i}" for i in range(400)]
    data.write_text(data.read_text() + "r400,1.0,1.0,up\n")
    told(*arguments(data, *how))
    assert lines(to)[-1]["key"] == "r400"


@pytest.mark.parametrize("content", ["", "id,a,b,y\n"])
def test_a_run_without_records_says_so(tmp_path: Path, content: str) -> None:
    data = tmp_path / "empty.csv"
    data.write_text(content)
    result = run(*arguments(data, "--json"))
    if content:
        assert result.exit_code == 0
        assert f"warning: there are no records in {data}" in result.stderr
    else:  # without a header nobody knows the columns
        assert "empty.csv" in result.stderr


def test_a_run_in_which_nothing_new_came_says_so(tmp_path: Path, data: Path) -> None:
    how = arguments(data, "--checkpoints", tmp_path / "kept", "--json")
    assert "no new records" not in run(*how).stderr
    assert f"there are no new records in {data}" in run(*how).stderr


def test_the_log_has_time_and_level_and_may_be_json(tmp_path: Path, data: Path) -> None:
    data.write_text(data.read_text() + "r400,1.0\n")
    text = run(*arguments(data)).stderr.splitlines()
    assert any(" warning: the first that was rejected" in line for line in text)
    result = run(*arguments(data, "--json", "--log-format", "json"))
    log = [json.loads(line) for line in result.stderr.splitlines()]
    (rejected,) = [one for one in log if one.get("event") == "rejected"]
    assert rejected["level"] == "warning" and rejected["time"].endswith("Z")
    assert "wrong number of fields" in rejected["message"]
    bad = csv_file(tmp_path / "bad.csv", 200)
    bad.write_text(bad.read_text().replace(",-", ",1e999,-"))
    failed = run(*arguments(bad, "--log-format", "json", "--on-bad-field", "reject"))
    assert failed.exit_code == 1
    last = json.loads(failed.stderr.splitlines()[-1])
    assert (last["event"], last["level"]) == ("failed", "error")
    assert "could not be used" in last["message"]


def test_names_and_labels_of_a_file_do_not_steer_the_terminal(tmp_path: Path) -> None:
    evil = "\x1b]0;title\x07\x1b[31m"
    odd, data, kept = f"odd{evil}", tmp_path / "data.jsonl", tmp_path / "kept"
    rows = [
        {f"x{evil}": float(i % 7), odd: [{}], "name": f"n{evil}{i}", "y": f"l{evil}{i % 2}"}
        for i in range(60)
    ]
    data.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    model = tmp_path / "m.llsvm"
    for one in (
        ["run", "--from", data, "--label", "y", "--checkpoints", kept, "--save", model],
        ["run", "--from", data, "--label", "y", "--slices", "name"],
        ["evaluate", data, "--label", "y", "--models", "sapl"],
        ["evaluate", data, "--label", "z"],
        ["inspect", kept],
        ["inspect", model],
        ["predict", model, data, "--to", tmp_path / "out.jsonl"],
    ):
        result = run(*one)
        assert result.exit_code == (2 if "z" in one else 0), result.output
        shown = result.stdout + result.stderr
        assert one[0] in ("diff", "predict") or any(n in shown for n in ("x?", "n?", "odd?")), one
        raw = [line for line in shown.split("\n") if not line.isprintable()]
        assert not raw, one


def test_what_is_printed_goes_one_way() -> None:
    files = (ROOT / "stream_llsvm" / "cli").glob("*.py")
    prints = [f.name for f in files if re.search(r"^ +print\(", f.read_text(), re.M)]
    assert sorted(prints) == ["errors.py", "log.py", "main.py"]
