"""Files and functions that pages and docstrings name exist; ARCHITECTURE.md names every room."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "stream_llsvm"
HOUSE = ROOT / "docs" / "ARCHITECTURE.md"
PAGES = [*sorted((ROOT / "docs").rglob("*.md")), ROOT / "README.md", ROOT / "benchmarks/RESULTS.md"]
PAGES += [ROOT / name for name in ("pyproject.toml", "Makefile", "Dockerfile")]
SOURCES = ("stream_llsvm", "connectors", "benchmarks", "examples", "tools")


@cache
def files() -> tuple[str, ...]:
    """Return all files of the project, as a checkout has them."""
    kinds = ("*.py", "*.js", "*.md", "*.json", "*.toml", "*.png")
    skipped = {"tmp", "build", "dist", "node_modules"}
    return tuple(
        path.relative_to(ROOT).as_posix()
        for kind in kinds
        for path in ROOT.rglob(kind)
        if not any(part.startswith(".") or part in skipped for part in path.relative_to(ROOT).parts)
    )


def exists(name: str) -> bool:
    """Whether some file ends so: ``cache.py``, ``kernels/cache.py``."""
    return any(file == name or file.endswith(f"/{name}") for file in files())


def missing(text: str) -> list[str]:
    """Return the Python files that a text names and that do not exist."""
    named = re.findall(r"[\w./-]*\w\.py\b", text)
    return [name for name in named if not exists(name.removeprefix("./").removeprefix("/src/"))]


def told(path: Path) -> Iterator[str]:
    """Yield a file's docstrings and comments."""
    source = path.read_text(encoding="utf-8")
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            yield ast.get_docstring(node) or ""
    yield from re.findall(r"(?:^|\s)#(.*)$", source, re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_that_pages_name_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    shown = set(re.findall(r"^:caption: (\S+)$", text, re.MULTILINE))  # files that a page makes
    assert not set(missing(text)) - shown


@pytest.mark.parametrize("folder", SOURCES)
def test_files_that_docstrings_and_comments_name_exist(folder: str) -> None:
    wrong = {
        f"{path.relative_to(ROOT)}: {name}"
        for path in sorted((ROOT / folder).rglob("*.py"))
        for text in told(path)
        for name in missing(text)
    }
    assert not wrong


def test_a_file_that_does_not_exist_is_found() -> None:
    assert missing("see ``no_such_file.py`` and `kernels/run.py`") == ["no_such_file.py"]


def named_in_the_house() -> Iterator[tuple[str, str]]:
    """Yield what stands between quotes and looks like a path, and what is named of its inside."""
    for quoted in re.findall(r"`([^`\n]+)`", HOUSE.read_text(encoding="utf-8")):
        found = re.fullmatch(r"([\w./]+/|[\w./]+\.(?:py|js|json|md|toml))(?::([\w.]+))?", quoted)
        if found and "<" not in quoted:
            yield found[1], found[2] or ""


def is_there(name: str, what: str) -> bool:
    """Whether the package or the repository has such a file, with that in it, or a folder of files.

    A name without a folder is that of a file in many folders: ``member.py``.
    """
    if "/" not in name and not what:
        return exists(name)
    if name.endswith("/"):  # one with files: those of compiled kernels may be left from former days
        return any(any((folder / name).glob("*.*")) for folder in (PACKAGE, ROOT))
    path = next((folder / name for folder in (PACKAGE, ROOT) if (folder / name).is_file()), None)
    return path is not None and (not what or what in inside(path))


def inside(path: Path) -> set[str]:
    """Return what a file defines: functions, classes, their methods, and names at its top."""
    source = path.read_text(encoding="utf-8")
    if path.suffix == ".js":
        found = re.findall(r"^(?:export )?(?:function|class|const) (\w+)", source, re.MULTILINE)
        return set(found)
    names: set[str] = set()
    for node in ast.parse(source).body:
        if isinstance(node, ast.ClassDef):
            names |= {f"{node.name}.{one.name}" for one in node.body if hasattr(one, "name")}
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            names.add(node.name)
        targets = node.targets if isinstance(node, ast.Assign) else []
        targets = [node.target] if isinstance(node, ast.AnnAssign) else targets
        names |= {target.id for target in targets if isinstance(target, ast.Name)}
    return names


def test_what_the_house_names_is_there() -> None:
    named = list(named_in_the_house())
    assert len(named) > 100
    assert not [f"{name}:{what}" for name, what in named if not is_there(name, what)]


def test_what_is_not_there_is_found() -> None:
    assert is_there("kernels/run.py", "run") and is_there("members/anchors/", "")
    assert not is_there("kernels/run.py", "walk") and not is_there("kernels/walk.py", "")
    assert not is_there("members/no_such_kind/", "")


def test_the_picture_has_every_room() -> None:
    """Each folder with code stands in the picture, and nothing else does."""
    picture = re.findall(
        r"```\n(stream_llsvm/.*?)```", HOUSE.read_text(encoding="utf-8"), re.DOTALL
    )
    shown = set(re.findall(r"(\w+)/", picture[0]))
    rooms = {
        path.parent.relative_to(ROOT)
        for path in (ROOT / "stream_llsvm").rglob("*.py")
        if "__pycache__" not in path.parts
    }
    rooms |= {path.parent.relative_to(ROOT) for path in (ROOT / "connectors").rglob("*.py")}
    assert shown == {room.name for room in rooms} | {
        "static",
        "tests",
        "benchmarks",
        "tools",
        "deploy",
    }


def test_readme_points_to_the_house() -> None:
    assert "docs/ARCHITECTURE.md" in (ROOT / "README.md").read_text(encoding="utf-8")
