"""Files that many tests of the command read."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.support import csv_file, told


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Return a file of 400 records."""
    return csv_file(tmp_path / "data.csv", 400)


@pytest.fixture
def kept(tmp_path: Path, data: Path) -> Path:
    """Return a folder of checkpoints, and a model beside it."""
    folder, model = tmp_path / "kept", tmp_path / "model.llsvm"
    given = ["--from", data, "--label", "y", "--key", "id", "--checkpoints", folder]
    told("run", *given, "--save", model)
    return folder
