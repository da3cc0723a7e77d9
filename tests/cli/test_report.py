"""``stream-llsvm report``: a page of what was, whole in itself, each record in it once."""

from __future__ import annotations

import json
import signal
import time
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from stream_llsvm.history.file import HOUR, MINUTE, NAME, Event, HistoryFile, Row
from tests.cli.support import csv_file, refused, rows, run, started, told, wait_for

FLAGS = ["--label", "y", "--key", "id", "--model", "lcc"]


class Page(HTMLParser):
    """A page: which tags there are, whether all are closed, and what it would fetch."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.fetched: list[str] = []
        self.classes: list[str] = []
        self.words = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag not in ("meta",):
            self.open.append(tag)
        self.fetched += [str(v) for name, v in attrs if name in ("src", "href", "xlink:href")]
        self.classes += [str(v) for name, v in attrs if name == "class"]

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag != "meta":
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words += data


def report(folder: Path, *more: object) -> Any:
    return told("report", "--checkpoints", folder, "--to", "2100-01-01", *more)


def test_a_run_that_was_killed_is_in_it_once(tmp_path: Path) -> None:
    """What was learned after the last checkpoint, and then again, is not counted twice."""
    data, kept = csv_file(tmp_path / "data.csv", 500), tmp_path / "kept"
    given = ["run", "--from", data, *FLAGS, "--checkpoints", kept, "--every", 3_600]
    first = started(*given, "--follow")

    def records() -> int:
        if not (kept / NAME).is_file():
            return 0
        return int(report(kept)["facts"]["records"].replace(",", ""))

    wait_for(lambda: records() == 500)
    first.send_signal(signal.SIGKILL)
    first.communicate()
    with data.open("a") as file:
        file.write(rows(100, seed=1))
    done = told(*given)
    assert done["records"] == 600
    found = report(kept)
    assert found["facts"]["records"] == "600"
    assert found["facts"]["restarts"] == "2"
    assert found["rows"][-1]["values"]["learned_total"] == 600
    kinds = [one["kind"] for one in found["events"]]
    assert kinds.count("started") == 2 and kinds.count("continued") == 1
    out = tmp_path / "report.html"
    shown = run(
        "report", "--checkpoints", kept, "--from", "-1h", "--to", "2100-01-01", "--out", out
    )
    assert shown.exit_code == 0 and "records: 600" in shown.stdout
    page = Page(out.read_text())
    assert page.open == [] and page.fetched == [] and "script" not in page.tags


def week(folder: Path) -> float:
    """Write a week of history, with more than a page can show of it; return its end."""
    folder.mkdir()
    file = HistoryFile(folder / NAME, write=True)
    end = time.time() // HOUR * HOUR
    values = {
        "accuracy_ratio{kind=windowed}": 0.9, "accuracy_ratio{kind=majority}": 0.6,
        "rate_records": 10.0, "label_share_ratio{class=a<b>}": 0.25,
    }  # fmt: skip
    kinds = {**dict.fromkeys(values, False), "records_total": True, "predicted_total": True}
    minutes = 7 * 24 * 60
    for n in range(0, minutes, 5):
        at = int(end) - (minutes - n) * MINUTE
        record = 10 * n
        more = {"records_total": float(record), "predicted_total": 0.9 * record}
        happened = []
        if n == 300:
            happened = [
                Event(at, record, "alert", "lagging: <b>behind</b>"),
                Event(at, record, "continued", "from checkpoint 3"),
                Event(at, record, "started", "stream_llsvm"),
            ]
        file.write(Row(at, MINUTE, record, values | more), kinds, happened)
    file.close()
    return end


def test_a_page_of_a_week_is_whole_and_small(tmp_path: Path) -> None:
    folder, out = tmp_path / "kept & co", tmp_path / "week.html"
    week(folder)
    shown = run("report", "--checkpoints", folder, "--out", out)
    assert shown.exit_code == 0, shown.output
    text = out.read_text()
    page = Page(text)
    assert page.open == [] and page.fetched == [] and "script" not in page.tags
    assert "http" not in text.replace("http-equiv", "")
    assert len(text) < 300_000
    assert page.tags.count("svg") >= 4
    assert page.classes.count("mark alert") == page.tags.count("svg")
    assert page.classes.count("mark started") == page.tags.count("svg")
    assert "<b>behind" not in text and "lagging: <b>behind</b>" in page.words
    assert "a<b>" in page.words and "90.00% on the mean" in page.words
    assert "prefers-color-scheme: dark" in text and "@media print" in text


def test_a_part_of_the_time(tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    end = week(folder)
    given = ["--from", time.strftime("%Y-%m-%dT%H:%M", time.localtime(end - 2 * HOUR))]
    found = json.loads(run("report", "--checkpoints", folder, *given, "--json").stdout)
    assert found["from"] == end - 2 * HOUR
    assert len(found["rows"]) == 24
    assert found["facts"]["records"] == "1,200"
    assert found["events"] == []


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--from", "yesterday"], "--from: yesterday: write -7d"),
        (["--from", "-1h", "--to", "-2h"], "--from: it must be before --to"),
        (["--out", "/no/such/folder/x.html"], "there is no folder"),
        ([], "say --out FILE, or --json"),
    ],
)
def test_a_mistake_is_one_line(tmp_path: Path, given: list[str], said: str) -> None:
    (tmp_path / NAME).touch()
    more = [] if "--out" in given or not given else ["--json"]
    complaint = refused("report", "--checkpoints", tmp_path, *given, *more)
    assert said in complaint and complaint.count("\n") == 1


def test_no_history_and_a_damaged_one(tmp_path: Path) -> None:
    assert "there is no history" in refused("report", "--checkpoints", tmp_path, "--json")
    (tmp_path / NAME).write_bytes(b"no database" * 1_000)
    done = run("report", "--checkpoints", tmp_path, "--json")
    assert done.exit_code == 1 and "file is not a database" in done.stderr


def test_it_may_be_switched_off(tmp_path: Path, data: Path) -> None:
    pipeline = tmp_path / "p.toml"
    text = f'[source]\nfrom = "{data}"\nlabel = "y"\nkey = "id"\n[model]\nclass = "lcc"\n'
    folder = tmp_path / "kept"
    pipeline.write_text(f'{text}[checkpoints]\nfolder = "{folder}"\nhistory = false\n')
    told("run", pipeline)
    assert not (folder / NAME).exists()
