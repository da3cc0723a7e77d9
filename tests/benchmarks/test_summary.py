"""README's table: eight lines, what is in it, and how it comes onto the page."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import pytest
import readme
import results
import summary
from measuring import Line
from scores import Baselines, Pass
from summary import best_peer, row

ROOT = Path(__file__).resolve().parents[2]


def lines(learner: str, *hits: int, seconds: float = 0.001) -> list[Line]:
    """Return a line for each order, of a hundred records each."""
    made = [Pass(np.arange(100) < n, seconds) for n in hits]
    return [Line("s", learner, done, done, None, Baselines(60.0, 50.0)) for done in made]


def test_the_best_peer_is_the_most_accurate_of_those_run_and_quoted() -> None:
    found = {"committee": lines("committee", 99), "no-history": lines("no-history", 98)}
    assert best_peer("s", found, {}) is None
    found |= {"arf": lines("arf", 90, 92), "MOA's HT": lines("MOA's HT", 80, 80)}
    best = best_peer("s", found, {"SRP(10)": 90.5})
    assert best is not None
    assert best.said == "river's ARF(10) 91.00 ± 1.41" and best.micros == pytest.approx(10.0)
    best = best_peer("s", found, {"SRP(10)": 93.85, "kNN": 80.0})
    assert best == ("MOA's SRP(10) 93.85, quoted", 93.85, None)


def test_a_line_says_accuracy_twice_the_peer_and_the_price() -> None:
    found = {
        "committee": lines("committee", 94),
        "no-history": lines("no-history", 92),
        "arf": lines("arf", 90, seconds=0.05),
    }
    assert row("s", found, {}) == [
        "s", "100", "60.00 / 50.00", "94.00", "92.00", "river's ARF(10) 90.00", "500.0",
        "10.0 / 10.0",
    ]  # fmt: skip


def test_the_command_writes_the_results_and_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both as they are here, in another folder."""
    for name in ("benchmarks/RESULTS.md", *readme.PAGES):
        copy = tmp_path / name
        copy.parent.mkdir(exist_ok=True)
        copy.write_text((ROOT / name).read_text(encoding="utf-8"), encoding="utf-8")
    monkeypatch.setattr(readme, "ROOT", tmp_path)
    monkeypatch.setattr(results, "RESULTS", tmp_path / "benchmarks" / "RESULTS.md")
    command = "benchmarks/summary.py --rows 123 --peers logreg --write sea-abrupt"
    monkeypatch.setattr(sys, "argv", command.split())
    summary.main()
    text = (tmp_path / "benchmarks" / "RESULTS.md").read_text(encoding="utf-8")
    found = readme.section_of(text, "summary")
    assert found is not None and f"`python {command}`" in found.group(0)
    page = readme.section_of((tmp_path / "README.md").read_text(encoding="utf-8"), "measured")
    assert page is not None
    (shown,) = re.findall(r"^\| sea-abrupt \| 123 \|.*\|$", page.group(0), re.MULTILINE)
    assert shown in found.group(0) and "river's logistic regression" in shown


def test_the_page_shows_one_table_of_eight_lines() -> None:
    """Printed by the script, never typed."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    page = readme.section_of(text, "measured")
    section = readme.section_of((ROOT / "benchmarks/RESULTS.md").read_text("utf-8"), "summary")
    assert page is not None and section is not None
    assert readme.first_table(section.group(0)) in page.group(0)
    rows = re.findall(r"^\| (\S+) \| [\d,]+ \|", page.group(0), re.MULTILINE)
    assert tuple(rows) == summary.STREAMS and len(rows) == 8
    assert "| ---: |" not in text.replace(page.group(0), "")


def test_pages_show_the_tables_of_the_results() -> None:
    written = (ROOT / "benchmarks" / "RESULTS.md").read_text(encoding="utf-8")
    for page in readme.PAGES:
        text = (ROOT / page).read_text(encoding="utf-8")
        assert readme.filled(text, written, page) == text, page
