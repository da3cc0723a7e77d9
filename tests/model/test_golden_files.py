"""Files of every version since formats last load, and answer as they did."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from stream_llsvm import load_model
from stream_llsvm.model.file import MAGIC, ModelFileError
from tools.golden_files import ANSWERS, FOLDER, MODELS, RUN, differences, look, write

FOLDERS = sorted(path.parent for path in FOLDER.glob(f"*/{ANSWERS}"))


def told(folder: Path) -> dict[str, Any]:
    """Return what a folder's files answered when they were made."""
    found: dict[str, Any] = json.loads((folder / ANSWERS).read_text(encoding="utf-8"))
    return {name: found[name] for name in (*MODELS, RUN)}


@pytest.mark.parametrize("name", ["ldkl", "ml3"])
def test_a_file_of_a_removed_learner_names_the_version_that_reads_it(name: str) -> None:
    with pytest.raises(ModelFileError, match=r"was removed: .*0\.2\.0 reads its files"):
        load_model(FOLDER / "2-0.2.0" / f"{name}.llsvm")


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: str(folder.name))
def test_files_of_older_versions_answer_as_they_did(folder: Path) -> None:
    assert differences(told(folder), look(folder)) == []


def test_files_of_this_version_are_made_and_answer_alike(tmp_path: Path) -> None:
    folder = tmp_path / "now"
    write(folder)
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    found = look(folder)
    assert differences(told(folder), found) == []
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
    assert sum(map(len, before.values())) < 1_500_000
    # The run had labels to come, and has had some of them since.
    assert found[RUN]["records"] == 220 and 150 < found[RUN]["learned"] < 220
    assert 0 < found[RUN]["waiting"] < 70
    found["sapl"][3]["no"] += 0.01
    assert len(differences(told(folder), found)) == 1
    for name in MODELS:
        assert (folder / f"{name}.llsvm").read_bytes().startswith(MAGIC)
        assert load_model(folder / f"{name}.llsvm") is not None
