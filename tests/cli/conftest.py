"""Files that many tests of the command read."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.support import csv_file


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Return a file of 400 records."""
    return csv_file(tmp_path / "data.csv", 400)
