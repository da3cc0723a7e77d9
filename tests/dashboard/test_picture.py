"""The page as README shows it: what the demo looks like to somebody who has just started it.

``STREAM_LLSVM_PICTURE=docs/page.png python -m pytest tests/dashboard/test_picture.py`` watches for
a minute and draws README's picture anew.
"""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image
from playwright.sync_api import Browser, expect

from tests.cli.support import ROOT, started
from tests.dashboard.browser import chromium, opened

_ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+/")
_SLOW = 300_000  # milliseconds: the first to run on a machine compiles the kernels
_LARGEST = 300_000  # bytes


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


@pytest.fixture
def address() -> Iterator[str]:
    """Run the demo as it comes, with the page at a port of its own."""
    process = started("demo", "--no-browser", "--port", 0)
    try:
        assert process.stdout is not None
        process.stdout.readline()
        found = _ADDRESS.search(process.stdout.readline())
        assert found is not None
        yield found.group()
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)


def test_the_demo_as_readme_shows_it(browser: Browser, address: str, tmp_path: Path) -> None:
    wanted = os.environ.get("STREAM_LLSVM_PICTURE")
    path, least = (ROOT / wanted, 26_000) if wanted else (tmp_path / "page.png", 800)
    with opened(browser, address) as (page, faults):
        for panel in ("accuracy", "confusion", "speed", "map", "why", "members"):
            expect(page.locator(f"#{panel} > .body")).to_be_visible(timeout=_SLOW)
        page.wait_for_function(
            "(least) => Number(document.querySelector('#glance [data-fact=Records] .big')"
            ".textContent.replaceAll(',', '')) > least",
            arg=least,
            timeout=_SLOW,
        )
        expect(page.locator("#state-word")).to_have_text("Running")
        expect(page.locator("#why-list button")).to_have_count(8, timeout=_SLOW)
        assert int(page.locator("#ground").get_attribute("data-anchors") or 0) > 10
        page.mouse.move(0, 0)
        foot = page.locator("#why").bounding_box()
        assert foot is not None
        height = int(foot["y"] + foot["height"]) + 16
        page.screenshot(
            path=path, full_page=True, clip={"x": 0, "y": 0, "width": 1440, "height": height}
        )
        assert not faults
    # A palette does for a page of few colours, at a third of the size.
    with Image.open(path) as picture:
        few = picture.convert("RGB").quantize(256, dither=Image.Dither.NONE)
    few.save(path, optimize=True)
    assert path.stat().st_size < _LARGEST


def test_readme_begins_with_the_page() -> None:
    parts = (ROOT / "README.md").read_text().split("\n\n")
    assert "(docs/page.png)" in parts[2]
    picture = ROOT / "docs" / "page.png"
    assert picture.stat().st_size < _LARGEST
    with Image.open(picture) as shown:
        assert shown.format == "PNG"
        assert shown.width == 1440
