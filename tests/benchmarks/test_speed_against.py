"""Speed against a commit: each side runs its own tree's code, and a wrong tree is noticed."""

from __future__ import annotations

from pathlib import Path

import pytest
import speed_against

TREE = Path(speed_against.__file__).resolve().parents[1]


def test_each_side_runs_its_own_code() -> None:
    with speed_against.checkout("HEAD") as base:
        for tree in (base, TREE):
            with speed_against.worker(tree, "reading, CSV", 0.01, base) as run:
                assert run() > 0


def test_a_side_that_runs_other_code_is_refused(tmp_path: Path) -> None:
    with (
        pytest.raises(SystemExit, match="instead of"),
        speed_against.worker(tmp_path, "reading, CSV", 0.01, tmp_path),
    ):
        pass


def test_a_commit_that_is_not_there_is_named(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="no commit 'nowhere'"), speed_against.checkout("nowhere"):
        pass
