"""What keeps a tree from being released is found, all of it at once."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tools.release import mistakes, other_versions

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Return a small repository that could be released."""
    (tmp_path / "stream_llsvm").mkdir()
    (tmp_path / "stream_llsvm" / "version.py").write_text('__version__ = "1.2.3"\n')
    (tmp_path / "CITATION.cff").write_text("title: x\nversion: 1.2.3\n")
    (tmp_path / "CHANGELOG.md").write_text("# Changes\n\n## [1.2.3] - 2026-01-31\n")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "use.md").write_text("docker run stream-llsvm:1.2.3 run\n")
    who = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
    for command in (["init", "-q"], ["add", "-A"], [*who, "commit", "-qm", "x"]):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    return tmp_path


def test_a_tree_that_is_ready_has_no_mistakes(tree: Path) -> None:
    assert mistakes(tree) == []


def test_all_mistakes_are_told_at_once(tree: Path) -> None:
    subprocess.run(["git", "tag", "v1.2.3"], cwd=tree, check=True)
    (tree / "CITATION.cff").write_text("version: 1.2.2\n")
    (tree / "CHANGELOG.md").write_text("## [Unreleased]\n")
    (tree / "docs" / "use.md").write_text("docker run stream-llsvm:1.2.2 run\n")
    found = "\n".join(mistakes(tree))
    for word in ("CITATION.cff", "CHANGELOG.md", "docs/use.md", "not committed", "a tag v1.2.3"):
        assert word in found
    assert len(mistakes(tree)) == 5


def test_all_of_this_tree_names_its_version() -> None:
    assert other_versions(ROOT) == []
