"""What README shows first runs as it is written there, and says what is written there."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from typing import Any

import pytest

from tests.cli.support import ROOT, run, told

README = (ROOT / "README.md").read_text(encoding="utf-8")
COMMANDS, COLUMNS = re.findall(r"^```\n(.*?)^```", README, re.DOTALL | re.MULTILINE)[:2]


@pytest.fixture
def first() -> list[str]:
    """Return the words of the first command line."""
    program, *words = shlex.split(COMMANDS.splitlines()[0], comments=True)
    assert program == "stream-llsvm"
    return words


def test_the_first_command_line_is_a_file_with_text(
    first: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    assert first == ["evaluate", "examples/payments.csv", "--label", "fraud"]
    result = run(*first)
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith(COLUMNS)


def test_it_is_as_good_as_is_written(first: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    (model,) = told(*first)["models"]
    shown: Any = re.search(r"right in ([\d.]+) %,\nwhere .* gets ([\d.]+) %", README)
    right, usual = map(float, shown.groups())
    assert 100 * model["accuracy"] == pytest.approx(right, abs=0.1)
    assert 100 * model["majority"] == pytest.approx(usual, abs=0.1)


def test_the_five_lines_print_what_is_written() -> None:
    code = re.findall(r"^```python\n(.*?)^```", README, re.DOTALL | re.MULTILINE)[0]
    _, lines = code.split("\n\n")
    assert len(lines.splitlines()) <= 5
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert f"It prints `{done.stdout.strip()}`." in README
