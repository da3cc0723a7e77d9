"""A real browser, without a window, that can reach nothing but this machine."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, Request, sync_playwright

ARGUMENTS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
]  # fmt: skip


@contextmanager
def chromium() -> Iterator[Browser]:
    """Start Debian's Chromium; without one, skip, but fail on a build server."""
    path = shutil.which("chromium")
    if path is None:
        missing = "Chromium is not installed: apt-get install chromium"
        if os.environ.get("CI") == "true":
            pytest.fail(missing)
        pytest.skip(missing)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        try:
            yield browser
        finally:
            browser.close()


class Complaints(list[str]):
    """What a page complained of: errors, refused scripts, and whatever it wanted from afar."""


@contextmanager
def opened(
    browser: Browser, address: str, *, width: int = 1440, dark: bool = False
) -> Iterator[tuple[Page, Complaints]]:
    """Open a page of its own at the address; everything but this machine is blocked."""
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme="dark" if dark else "light"
    )
    complaints = Complaints()

    def judge(request: Request) -> None:
        there = urlsplit(request.url)
        if there.scheme not in ("data", "blob", "file") and there.hostname != "127.0.0.1":
            complaints.append(f"wanted {request.url}")

    context.on("request", judge)
    page = context.new_page()
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on(
        "console",
        lambda told: complaints.append(told.text) if told.type in ("error", "warning") else None,
    )
    try:
        page.goto(address)
        yield page, complaints
    finally:
        context.close()


def photographed(page: Page, name: str) -> Path:
    """Keep a picture of the whole page where STREAM_LLSVM_SCREENSHOTS says."""
    folder = Path(os.environ.get("STREAM_LLSVM_SCREENSHOTS") or tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)
    page.evaluate("scrollTo(0, 0)")
    path = folder / f"{name}.png"
    page.screenshot(path=path, full_page=True)
    return path
