"""The documentation site is made without a warning, leads nowhere wrong and needs no network."""

from __future__ import annotations

import html
import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote

import pytest

import stream_llsvm
from stream_llsvm.cli.app import COMMANDS
from stream_llsvm.cli.options import SECTIONS
from stream_llsvm.serve.openapi import described

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, ROOT / "tools" / "docs_site.py", folder],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "html"


def test_every_public_name_command_and_key_is_in_the_reference(site: Path) -> None:
    learners = (site / "reference" / "learners.html").read_text(encoding="utf-8")
    for name in stream_llsvm.__all__:
        assert f'id="{name.lower().strip("_")}"' in learners, name
    commands = (site / "reference" / "commands.html").read_text(encoding="utf-8")
    for name in COMMANDS:
        assert f'id="{name}"' in commands
    keys = (site / "reference" / "pipeline.html").read_text(encoding="utf-8")
    for section in SECTIONS.values():
        for name, key in section.items():
            assert f">{name}<" in keys
            assert key.flag in commands


def test_every_address_of_a_server_is_in_the_reference_and_no_other(site: Path) -> None:
    page = html.unescape((site / "reference" / "http_api.html").read_text(encoding="utf-8"))
    page = page.replace("\u2019", "'")
    heads = re.findall(r"<h2>(.*?)<a", page)
    shown = {" ".join(re.sub(r"<[^>]+>", "", one).split()) for one in heads}
    said = described(["default"])["paths"]
    wanted = {
        f"{method.upper()} {path}": one
        for path, methods in said.items()
        for method, one in methods.items()
        if method != "parameters"
    }
    assert shown == {*wanted, "What a status means"}
    for one in wanted.values():
        assert one["summary"] in page
        assert all(f"<p>{status}</p></td>" in page for status in one["responses"])
        for sent in one.get("requestBody", {}).get("content", {}).values():
            for key in sent["schema"].get("properties", ()):
                assert f">{key}<" in page


def test_pages_in_folders_have_their_links_and_pictures(site: Path) -> None:
    """Where a link leads out of the page's folder and stays within docs/, it is one on the site."""
    followed = 0
    for folder in ("start", "tutorials", "examples", "how_to"):
        for page in sorted((ROOT / "docs" / folder).glob("*.md")):
            shown = (site / folder / f"{page.stem}.html").read_text(encoding="utf-8")
            for picture in re.findall(r"!\[[^\]]*\]\(\.\./pictures/(\w+\.png)\)", page.read_text()):
                assert re.search(rf'<img [^>]*src="\.\./_images/{picture}"', shown), page.name
                followed += 1
            for target in re.findall(r"[^!]\[[^\]]*\]\((\.\./[\w/]+)\.md", page.read_text()):
                assert f'href="{target}.html' in shown, f"{page.name}: {target}"
                followed += 1
    assert followed > 40


def test_every_link_leads_to_a_file_of_the_site(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert len(pages) > 20
    followed = 0
    for page in pages:
        for target in re.findall(r'(?:href|src)="([^"#?]+)', page.read_text(encoding="utf-8")):
            if re.match(r"[a-z]+:", target):
                continue
            assert (page.parent / unquote(target)).exists(), f"{page.name}: {target}"
            followed += 1
    assert followed > 500


def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    loaded = re.compile(
        r'<(?:script|img|iframe)[^>]*src="https?:|<link[^>]*(?:stylesheet|icon|preload)[^>]*https?:'
    )
    for page in site.rglob("*.html"):
        assert not loaded.search(page.read_text(encoding="utf-8")), page.name
    for style in site.rglob("*.css"):
        text = style.read_text(encoding="utf-8")
        assert not re.search(r"(?:@import|url\()\s*['\"]?(?:https?:)?//", text), style.name
