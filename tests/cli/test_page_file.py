"""``evaluate --report``: one file that a browser shows without any network."""

from __future__ import annotations

import json
import re
from pathlib import Path

from playwright.sync_api import expect

from tests.cli.support import csv_file, refused, run
from tests.dashboard.browser import chromium, opened, photographed

PLAIN = ["--label", "y", "--ignore", "id"]


def test_the_report_is_a_page_of_its_own(tmp_path: Path) -> None:
    data, there = csv_file(tmp_path / "some.csv", 1_500), tmp_path / "report.html"
    names = ["--models", "committee,sapl", "--against", "majority"]
    told = run("evaluate", data, *PLAIN, *names, "--report", there, "--json")
    assert told.exit_code == 0, told.output
    (accuracy, *_) = [row["accuracy"] for row in json.loads(told.stdout)["models"]]
    text = there.read_text()
    assert not re.findall(r'(?:src|href)="(?!#|data:)', text)
    with chromium() as browser, opened(browser, there.as_uri()) as (page, faults):
        expect(page.locator("#state-word")).to_have_text("Recorded")
        expect(page.locator("#source")).to_contain_text("some.csv")
        # The same number as the table's: what is shown is what was scored.
        shown = page.locator("#scores tbody tr").nth(2).locator("td").first
        expect(shown).to_have_text(f"{accuracy:.1%}")
        expect(page.locator("#compared-table tbody tr")).to_have_count(3)
        assert page.locator("#ground").get_attribute("data-anchors") != "0"
        assert int(page.locator("#accuracy .chart").get_attribute("data-points") or 0) > 300
        assert page.locator("#ask").is_hidden()
        photographed(page, "report")
        assert not faults


def test_names_in_a_report_stay_text(tmp_path: Path) -> None:
    name = "</script><script>window.hacked=1</script>"
    data, there = tmp_path / "odd.csv", tmp_path / "report.html"
    lines = [f"{i % 7},{'<!--' if i % 7 > 3 else name}" for i in range(200)]
    data.write_text(f"{name},y\n" + "\n".join(lines) + "\n")
    told = run("evaluate", data, "--label", "y", "--models", "sapl", "--report", there)
    assert told.exit_code == 0, told.output
    with chromium() as browser, opened(browser, there.as_uri()) as (page, faults):
        expect(page.locator("#matrix tbody th").last).to_have_attribute("title", name)
        assert page.evaluate("window.hacked") is None
        assert not faults


def test_a_place_where_no_report_can_be_is_told_at_once(tmp_path: Path) -> None:
    data = csv_file(tmp_path / "some.csv", 60)
    for place, complaint in [(tmp_path, "is a folder"), (tmp_path / "no" / "r.html", "no folder")]:
        said = refused("evaluate", data, *PLAIN, "--report", place)
        assert complaint in said
        assert len(said.splitlines()) == 1


def test_a_report_is_not_written_through_a_planted_link(tmp_path: Path) -> None:
    victim, there = tmp_path / "victim", tmp_path / "report.html"
    victim.write_text("precious")
    (tmp_path / ".report.html.tmp").symlink_to(victim)
    data = csv_file(tmp_path / "some.csv", 60)
    told = run("evaluate", data, *PLAIN, "--models", "sapl", "--report", there)
    assert told.exit_code == 0, told.output
    assert victim.read_text() == "precious"
    assert not there.is_symlink() and "<html" in there.read_text()
