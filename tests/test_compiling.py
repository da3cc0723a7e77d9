"""The line that explains a slow first call."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LINE = "stream_llsvm: compiling kernels, once on this machine"
CODE = """
from stream_llsvm import LCCClassifier, SAPLClassifier
for model in (SAPLClassifier(), LCCClassifier(), SAPLClassifier()):
    model.predict_one({"a": 1.0})
    model.learn_one({"a": 1.0}, "yes")
print(model.predict_one({"a": 1.0}))
"""


def run_in(cache: Path) -> tuple[str, str]:
    told = subprocess.run(
        [sys.executable, "-c", CODE],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
        env=os.environ | {"NUMBA_CACHE_DIR": str(cache)},
    )
    return told.stdout, told.stderr


def test_it_is_said_once_and_only_when_there_is_something_to_wait_for(tmp_path: Path) -> None:
    """One test, since each empty cache costs a compilation."""
    out, err = run_in(tmp_path)
    assert out == "yes\n"
    assert err.count(LINE) == 1
    assert err.count("\n") == 1, "one line, and nothing else"
    out, err = run_in(tmp_path)
    assert (out, err) == ("yes\n", "")
