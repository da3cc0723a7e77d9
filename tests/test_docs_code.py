"""What pages show runs, and prints what they say: those that `PAGES` lists.

The blocks of a page are a story, told in a folder in which ``examples/`` is that of the
repository. A block with a caption is a file of that name, a ``console`` block has commands behind
``$``, each with what it prints (``...`` stands for anything), and Python is one session a page. A
command that is meant to fail says so: ``# exits with 2``.
"""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PAGES = [
    *sorted(DOCS.glob("start/*.md")),
    *sorted(DOCS.glob("tutorials/*.md")),
    *sorted(DOCS.glob("examples/*.md")),
    *sorted(DOCS.glob("how_to/*.md")),
    DOCS / "decisions.md",
    DOCS / "trouble.md",
]
_BLOCK = re.compile(
    r"^```(?:\{code-block\} )?(\w*)\n(?::caption: (\S+)\n\n?)?(.*?)^```$", re.MULTILINE | re.DOTALL
)
_EXITS = re.compile(r"\s+# exits with (\d+)$")


class Block(NamedTuple):
    kind: str
    caption: str
    text: str
    line: int


def blocks(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    return [
        Block(found[1], found[2] or "", found[3], text.count("\n", 0, found.start()) + 1)
        for found in _BLOCK.finditer(text)
    ]


def steps(text: str) -> Iterator[tuple[str, str, int]]:
    """Yield each command of a console, what it prints, and its exit code."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        lines = part.splitlines()
        count = 1
        while lines[count - 1].endswith("\\"):
            count += 1
        command = "\n".join(lines[:count])
        exits = _EXITS.search(command)
        wanted = "\n".join(lines[count:]).strip("\n")
        yield _EXITS.sub("", command), wanted, int(exits[1]) if exits else 0


def environment() -> dict[str, str]:
    tools = Path(sys.executable).parent
    return os.environ | {
        "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "COLUMNS": "100",
        "NO_COLOR": "1",
    }


def told(page: Path, folder: Path, addresses: Mapping[str, str] | None = None) -> int:
    """Live through a page; return how many of its blocks were run.

    Where the page names an address, what stands for it in this test is asked.
    """
    (folder / "examples").symlink_to(ROOT / "examples")
    checker, flags = doctest.OutputChecker(), doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    script: list[str] = []
    done = 0
    for block in blocks(page):
        where = f"{page.name}:{block.line}"
        text = block.text
        for shown, own in (addresses or {}).items():
            text = text.replace(shown, own)
        if block.caption:
            (folder / block.caption).write_text(text)
        elif block.kind == "console":
            for command, wanted, code in steps(text):
                ran = subprocess.run(
                    command,
                    shell=True,
                    executable="/bin/bash",
                    cwd=folder,
                    env=environment(),
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    text=True,
                    check=False,
                    timeout=300,
                )
                assert ran.returncode == code, f"{where}: {command}\n{ran.stdout}"
                if wanted:
                    same = checker.check_output(wanted + "\n", ran.stdout, flags)
                    assert same, f"{where}: {command}\n{ran.stdout}"
        elif block.kind == "python":
            script.append(text)
            begun(script, folder, where)
        elif block.kind == "pycon":
            parsed = doctest.DocTestParser().get_doctest(text, {}, where, where, 0)
            result = doctest.DocTestRunner(checker, verbose=False, optionflags=flags).run(parsed)
            assert result.failed == 0, where
        else:
            continue
        done += 1
    return done


def begun(script: list[str], folder: Path, where: str) -> None:
    """Run a page's Python so far in a process of its own."""
    ran = subprocess.run(
        [sys.executable, "-c", "\n".join(script)],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert ran.returncode == 0, f"{where}\n{ran.stderr}"


@pytest.mark.parametrize(
    "page", [one for one in PAGES if not re.search("kafka|http", one.name)], ids=str
)
def test_a_page_does_as_it_says(page: Path, tmp_path: Path) -> None:
    if page.name not in {"install.md", "fraud.md"}:  # a test of its own tells that story
        assert told(page, tmp_path) > 0
    assert all(block.kind for block in blocks(page)), "say what each block is"
