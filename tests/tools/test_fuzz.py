"""The random search finds what fails, says how to repeat it, and ends with 1."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

#: Holds for all whole numbers below 1,000 only; the other test holds always.
PROPERTIES = """
from hypothesis import given, strategies as st

@given(st.integers())
def test_numbers_are_small(number):
    assert number < 1_000

@given(st.integers())
def test_numbers_are_themselves(number):
    assert number == number
"""
#: As tests/conftest.py has it.
PROFILES = "from tests.property_profiles import load_profiles\nload_profiles()\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").write_text("[tool.pytest.ini_options]\n")
    (tmp_path / "conftest.py").write_text(PROFILES)
    tests = tmp_path / "tests"
    tests.mkdir()
    (tests / "test_numbers.py").write_text(PROPERTIES)
    (tests / "test_nothing.py").write_text("def test_nothing(): pass\n")
    return tmp_path


def run(project: Path, command: list[str]) -> subprocess.CompletedProcess[str]:
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.run(
        command, cwd=project, env=env, capture_output=True, text=True, check=False
    )


def fuzz(project: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return run(project, [sys.executable, str(ROOT / "tools/fuzz.py"), *arguments])


def test_what_fails_is_shown_and_can_be_repeated(project: Path) -> None:
    done = fuzz(project, "--minutes", "0.05")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "2 property tests" in done.stdout
    assert "number=1_000" in done.stdout.replace("number=1000", "number=1_000")
    seeds = re.findall(r"round (\d+), seed (\d+)", done.stdout)
    assert [int(number) for number, _ in seeds] == list(range(1, 1 + len(seeds)))
    assert len({seed for _, seed in seeds}) == len(seeds)
    assert done.stdout.count("To repeat it:") == 1
    command = shlex.split(done.stdout.splitlines()[-1])
    assert f"--hypothesis-seed={seeds[0][1]}" in command
    again = run(project, command)
    assert again.returncode == 1
    assert "test_numbers_are_small" in again.stdout and "1 failed" in again.stdout


def test_what_holds_ends_with_0(project: Path) -> None:
    done = fuzz(project, "--minutes", "0.001", "tests/test_numbers.py::test_numbers_are_themselves")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 rounds in" in done.stdout and "0 failures" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--minutes", "0"], "a number above 0 is wanted"),
        (["--minutes", "nan"], "a number above 0 is wanted"),
        (["--workers", "0"], "1 or more are wanted"),
        (["tests/test_nothing.py"], "No property tests were found"),
    ],
)
def test_what_cannot_be_searched_is_refused(project: Path, arguments: list[str], said: str) -> None:
    done = fuzz(project, *arguments)
    assert done.returncode == 2
    assert said in done.stderr
