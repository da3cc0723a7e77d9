"""The page in a real browser, before a real engine in a process of its own."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect

from tests.cli.support import ROOT, wait_for
from tests.dashboard.browser import chromium, opened, photographed

_SLOW = 120_000  # milliseconds: on a fresh machine the kernels are compiled first


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as started:
        yield started


@contextmanager
def running(port: int = 0, folder: Path | None = None) -> Iterator[subprocess.Popen[str]]:
    """Run an engine with its page."""
    process = subprocess.Popen(
        [
            sys.executable,
            str(Path(__file__).with_name("page_process.py")),
            str(port),
            *([] if folder is None else [str(folder)]),
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def address(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def order(process: subprocess.Popen[str], what: str) -> None:
    assert process.stdin is not None
    process.stdin.write(f"{what}\n")
    process.stdin.flush()


def records(page: Page) -> int:
    """Return how many records the page says there were."""
    told = page.evaluate(
        "document.querySelector('#glance [data-fact=Records] .big')?.textContent ?? '0'"
    )
    return int(told.replace(",", ""))


def learned(page: Page) -> None:
    """Wait until the model has learned and is shown."""
    expect(page.locator("#map .body")).to_be_visible(timeout=_SLOW)


def test_a_run_is_seen_as_it_goes(browser: Browser) -> None:
    with running() as process:
        with opened(browser, address(process)) as (page, faults):
            learned(page)
            before = records(page)
            page.wait_for_function(
                "(before) => Number(document.querySelector('#glance [data-fact=Records] .big')"
                ".textContent.replaceAll(',', '')) > before",
                arg=before,
                timeout=2_000,
            )
            # How old is what is shown? The clock here is the server's.
            ages = []
            for _ in range(10):
                page.wait_for_timeout(200)
                ages.append(
                    time.time() - float(page.locator("body").get_attribute("data-time") or 0)
                )
            assert sorted(ages)[5] < 1.0
            order(process, "drift")
            chart = page.locator("#accuracy .chart")
            expect(chart).not_to_have_attribute("data-drift", "0", timeout=30_000)
            expect(page.locator("#events")).to_contain_text("the error rate has risen")
            expect(page.locator("#letters")).to_contain_text("bad number")
            page.get_by_role("button", name="Explain").click()
            expect(page.locator("#ask-told .bars tbody tr").first).to_be_visible()
            expect(page.locator("#why-list button").first).to_be_visible()
            photographed(page, "live")
            order(process, "stop")
            expect(page.locator("#state-word")).to_have_text("Stopped", timeout=10_000)
            refused = [one for one in faults if "ERR_CONNECTION" not in one]
            assert not refused
        assert process.wait(20) == 0


@pytest.mark.parametrize(("width", "dark"), [(1440, True), (375, False)])
def test_wide_and_narrow(browser: Browser, width: int, dark: bool) -> None:
    with (
        running() as process,
        opened(browser, address(process), width=width, dark=dark) as (page, faults),
    ):
        learned(page)
        wide = page.evaluate("document.documentElement.scrollWidth")
        assert wide <= width
        photographed(page, f"live-{width}-{'dark' if dark else 'light'}")
        assert not faults


def test_a_server_that_was_killed_comes_back_and_the_gap_is_filled(
    browser: Browser, tmp_path: Path
) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with running(port, tmp_path) as first, opened(browser, address(first)) as (page, _):
        learned(page)
        wait_for(lambda: any(tmp_path.glob("checkpoint-*.llsvm")))
        page.wait_for_timeout(1_500)
        first.kill()
        first.wait()
        expect(page.locator("#state-word")).to_have_text("Connection lost", timeout=10_000)
        before = records(page)
        with running(port, tmp_path) as second:
            there = address(second)
            # It is on its way before the page finds it: this is the gap.
            wait_for(lambda: httpx.get(f"{there}healthz").status_code == 200)
            expect(page.locator("#state-word")).to_have_text("Running", timeout=_SLOW)
            expect(page.locator("#events")).to_contain_text("continued")
            wait_for_records(page, before)
            gap = httpx.get(f"{there}api/history").json()["points"]["time"]
            expect(page.locator("body")).not_to_have_attribute("data-points", "0")
            kept = page.evaluate("document.body.dataset.points")
            assert int(kept) > len([t for t in gap if t < time.time() - 1])


def wait_for_records(page: Page, before: int) -> None:
    """Wait until the page tells of more records than before."""
    page.wait_for_function(
        "(before) => Number(document.querySelector('#glance [data-fact=Records] .big')"
        ".textContent.replaceAll(',', '')) > before",
        arg=before,
        timeout=_SLOW,
    )
