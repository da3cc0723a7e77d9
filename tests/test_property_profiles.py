"""Drawn examples are the same in every run, whatever ran before."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from hypothesis import settings

ROOT = Path(__file__).resolve().parents[1]

DRAW = """
from tests.property_profiles import load_profiles
load_profiles()
{first}
from hypothesis import given, settings, strategies as st

drawn = []

@settings(max_examples=200)
@given(st.floats(), st.integers(), st.text())
def draw(real, whole, text):
    drawn.append((real, whole, text))

draw()
print(drawn)
"""


def drawn(folder: Path, first: str = "") -> str:
    """Return what a property test would get, in a process of its own."""
    script = folder / "draw.py"  # the test's own source is a part of its seed
    script.write_text(DRAW.format(first=first))
    done = subprocess.run(
        [sys.executable, script],
        cwd=ROOT,
        env={"PYTHONPATH": f"{ROOT}:{folder}", "HOME": str(folder)},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def test_the_same_is_drawn_whatever_was_imported_before(tmp_path: Path) -> None:
    """Hypothesis takes constants out of the sources that it finds loaded."""
    constants = "\n".join(f"a{i} = {i}.{i}e3, {i}777, 'word {i}'" for i in range(1, 60))
    (tmp_path / "constants.py").write_text(constants)
    once = drawn(tmp_path)
    assert once.count("), (") > 100
    assert drawn(tmp_path) == drawn(tmp_path, "import constants") == once


def test_nothing_is_kept_from_run_to_run() -> None:
    """What one machine has found would fail there, and nowhere else."""
    assert settings.get_profile("fixed").database is None
    assert settings.get_profile("fixed").derandomize
    assert not settings.get_profile("fuzz").derandomize
