"""What docs/records.md shows runs as it is written there."""

from __future__ import annotations

import doctest
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "records.md"


def test_what_the_page_shows_runs() -> None:
    told = doctest.testfile(str(PAGE), module_relative=False, encoding="utf-8")
    assert told.attempted >= 8
    assert told.failed == 0
