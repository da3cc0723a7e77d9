"""The story of examples/fraud, told step by step, with the page open beside it.

``STREAM_LLSVM_PICTURES=docs/pictures python -m pytest tests/examples/test_fraud.py`` draws the
pictures of docs/operating.md anew.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from PIL import Image
from playwright.sync_api import Page, expect

from stream_llsvm.connectors.log.segments import LABEL, RECORD, entries, segments
from stream_llsvm.engine.checkpoints import number_in, read_checkpoint
from stream_llsvm.model.file import dumps
from tests.cli.support import ROOT
from tests.dashboard.browser import chromium, opened

STORY = ROOT / "examples" / "fraud" / "story.py"
PICTURES = ("operate_alert.png", "operate_verdict.png")
_LARGEST = 200_000  # bytes
_A_DAY, _ONE_IN = 2_000, 50
_MARGIN = 6  # pixels
_SLOW = 60_000  # milliseconds


class Told:
    """The story as a process of its own, which waits after each act."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.process = subprocess.Popen(
            [sys.executable, str(STORY), "--step", "--folder", folder.name],
            cwd=folder.parent,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )  # fmt: skip
        self.address = ""

    def act(self) -> str:
        """Return the next act; the story waits behind it."""
        assert self.process.stdout is not None
        text = ""
        for line in self.process.stdout:
            if "(Enter goes on)" in line:
                break
            text += line
        else:
            assert self.process.stderr is not None
            raise AssertionError(text + self.process.stderr.read())
        if found := re.search(r"http://127\.0\.0\.1:\d+/", text):
            self.address = found.group()
        return text

    def go_on(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def next(self) -> str:
        """Go on; return the next act."""
        self.go_on()
        return self.act()

    def snapshot(self) -> dict[str, Any]:
        found: dict[str, Any] = httpx.get(f"{self.address}api/snapshot", timeout=60).json()
        return found

    def end(self) -> str:
        """Go on to the end; return what is told then."""
        self.go_on()
        said, wrong = self.process.communicate(timeout=300)
        assert self.process.returncode == 0, wrong
        return said


@pytest.fixture
def told(tmp_path: Path) -> Iterator[Told]:
    story = Told(tmp_path / "shop")
    try:
        yield story
    finally:
        if story.process.poll() is None:
            story.process.send_signal(signal.SIGINT)
            story.process.communicate(timeout=300)


def number(pattern: str, text: str) -> int:
    """Return the number that a text tells."""
    found = re.search(pattern, text)
    assert found is not None, (pattern, text)
    return int(found[1].replace(",", ""))


def counted(frame: dict[str, Any], sent: int, labels: int) -> None:
    """Each payment that was acknowledged is learned, waits, or has waited in vain."""
    status, late = frame["status"], frame["labels"]
    assert status["records"] == status["predicted"] == sent
    assert late["matched"] == status["learned"] == labels
    assert late["matched"] + late["waiting"] + late["expired"] == sent
    assert (late["orphaned"], late["duplicated"], status["rejected"]) == (0, 0, 0)


def numbered(folder: Path) -> dict[int, Path]:
    """Return the checkpoints of a folder by their numbers."""
    found = {number_in(path): path for path in folder.iterdir()}
    return {n: path for n, path in found.items() if n is not None}


def pictured(page: Page, name: str, first: str, last: str, folder: Path) -> Path:
    """Draw the page from one of its parts to another, in few colours."""
    wanted = os.environ.get("STREAM_LLSVM_PICTURES")
    path = (ROOT / wanted if wanted else folder) / name
    page.mouse.move(0, 0)
    page.evaluate("scrollTo(0, 0)")
    head, foot = page.locator(first).bounding_box(), page.locator(last).bounding_box()
    assert head is not None and foot is not None
    top = max(0, int(head["y"]) - _MARGIN)
    height = int(foot["y"] + foot["height"]) + _MARGIN - top
    clip = {"x": 0, "y": top, "width": 1440, "height": height}
    page.screenshot(path=path, full_page=True, clip=clip)  # type: ignore[arg-type]
    with Image.open(path) as picture:
        few = picture.convert("RGB").quantize(128, dither=Image.Dither.NONE)
    few.save(path, optimize=True)
    assert path.stat().st_size < _LARGEST
    return path


def test_the_story(told: Told, tmp_path: Path) -> None:
    with chromium() as browser:
        assert "a committee learns beside it" in told.act()

        text = told.next()
        sent = number(r"([\d,]+) payments were answered", text)
        days = number(r"([\d,]+) days have passed", text)
        labels = number(r"([\d,]+) labels came", text)
        assert (sent, labels) == (days * _A_DAY, (days - 1) * _A_DAY // _ONE_IN)
        frame = told.snapshot()
        counted(frame, sent, labels)
        (rival,) = frame["challengers"]["rivals"]
        assert (rival["name"], rival["verdict"]) == ("committee", "better")
        assert rival["high"] < 0
        with opened(browser, f"{told.address}#operate") as (page, faults):
            rows = page.locator("#rivals tbody tr")
            expect(rows.nth(0)).to_contain_text("linear, the champion", timeout=_SLOW)
            expect(rows.nth(1)).to_contain_text("better than the champion")
            expect(page.get_by_role("button", name="Promote committee")).to_be_visible()
            pictured(page, PICTURES[1], "#challengers", "#challengers", tmp_path)
            assert not faults

        assert f"committee is the champion at record {sent:,}" in told.next()
        assert told.snapshot()["challengers"]["champion"] == "committee"
        (event,) = [e for e in told.snapshot()["events"] if e["kind"] == "promoted"]
        assert event["record"] == sent
        text = told.next()
        kept = number(r"checkpoint (\d+) is kept as before-the-release", text)
        at = number(r"at record ([\d,]+)", text)

        text = told.next()
        assert "amount: " in text
        frame = told.snapshot()
        sent = frame["status"]["records"]
        counted(frame, sent, sent // _ONE_IN - _A_DAY // _ONE_IN)
        moved = [one["name"] for one in frame["input"]["fields"] if one["moved"] >= at]
        assert moved == ["amount"]
        with opened(browser, f"{told.address}#operate") as (page, faults):
            line = page.locator("#findings li", has_text="A field has moved. amount: ")
            expect(line).to_be_visible(timeout=_SLOW)
            expect(page.locator("#incidents")).to_contain_text("input drift")
            pictured(page, PICTURES[0], "body", "#input", tmp_path)
            assert not faults

        text = told.next()
        assert number(r"([\d,]+) records came since", text) == sent - at
        since = number(r"([\d,]+) of them learned", text)
        frame = told.snapshot()
        last = frame["status"]["records"]
        counted(frame, last, frame["status"]["learned"])
        assert frame["input"]["moved"] == 0
        text = told.end()
    assert number(r"([\d,]+) payments were acknowledged", text) == last
    whole = [number(rf"([\d,]+) {word}", text) for word in ("were learned", "wait", "waited")]
    assert sum(whole) == last
    folder = told.folder / "default"
    logged = [one.kind for segment in segments(folder / "log") for _, one in entries(segment)]
    assert (logged.count(RECORD), logged.count(LABEL)) == (last, whole[0])
    every = {n: read_checkpoint(path) for n, path in numbered(folder / "checkpoints").items()}
    (back,) = [one for one in every.values() if one.get("rolled_back")]
    assert every[kept]["progress"]["counts"]["records"] == at
    assert dumps(back["model"]) == dumps(every[kept]["model"])
    assert back["progress"]["counts"]["records"] == sent
    assert 0 < since < back["progress"]["counts"]["learned"]


def test_ctrl_c_ends_it_in_order(told: Told) -> None:
    told.act()
    server = told.address
    told.process.send_signal(signal.SIGINT)
    _, wrong = told.process.communicate(timeout=300)
    assert told.process.returncode == 130
    assert wrong.strip() == "stopped"
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{server}healthz")


def test_a_folder_that_is_used_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("x")
    done = subprocess.run(
        [sys.executable, str(STORY), "--folder", str(tmp_path)],
        capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.returncode == 2
    assert "is not empty" in done.stderr


@pytest.mark.parametrize("name", PICTURES)
def test_the_page_shows_the_pictures(name: str) -> None:
    assert f"(pictures/{name})" in (ROOT / "docs" / "operating.md").read_text()
    path = ROOT / "docs" / "pictures" / name
    assert path.stat().st_size < _LARGEST
    with Image.open(path) as shown:
        assert (shown.format, shown.width) == ("PNG", 1440)
