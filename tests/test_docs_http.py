"""Pages that need a server: what they show runs."""

from __future__ import annotations

from pathlib import Path

from tests.cli.support import wait_for
from tests.serve.support import Served
from tests.test_docs_code import DOCS, told


def test_the_page_of_http_does_as_it_says(tmp_path: Path) -> None:
    page = DOCS / "tutorials" / "http.md"
    flags = "stream-llsvm serve --folder served --label fraud --id id\n"
    assert flags in page.read_text(encoding="utf-8")
    with Served(tmp_path / "served", "--label", "fraud", "--id", "id") as server:
        folder = tmp_path / "page"
        folder.mkdir()
        address = server.address.rstrip("/")
        assert told(page, folder, {"http://127.0.0.1:8766": address}) > 0
        wait_for(lambda: server.learned() == 3_002)
