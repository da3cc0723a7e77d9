"""The line that explains a slow first call."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

from stream_llsvm.kernels.folders import Folder, Places
from stream_llsvm.model.notices import _notice, show_progress

ROOT = Path(__file__).resolve().parents[1]
LINE = "stream_llsvm: compiling kernels, once on this machine"
CODE = """
from stream_llsvm import LCCClassifier, SAPLClassifier
for model in (SAPLClassifier(), LCCClassifier(), SAPLClassifier()):
    model.predict_one({"a": 1.0})
    model.learn_one({"a": 1.0}, "yes")
print(model.predict_one({"a": 1.0}))
"""


ASKED_TWICE = """
from stream_llsvm.model.notices import announce
from stream_llsvm.kernels.run import run
announce(run)
announce(run)
"""


LEARNED = """
import hashlib
import numpy as np
from stream_llsvm import MemoryClassifier
X = np.random.default_rng(0).normal(size=(300, 8))
model = MemoryClassifier()
model.learn_many(X, (X[:, 0] > 0).astype(int))
print(hashlib.sha256(model._state.state.tobytes()).hexdigest())
"""


def run(code: str, **env: str) -> tuple[str, str]:
    told = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
        env=os.environ | env,
    )
    return told.stdout, told.stderr


def test_it_is_said_before_the_wait(tmp_path: Path) -> None:
    """Nobody waits here: the process is ended as soon as it has said so."""
    process = subprocess.Popen(
        [sys.executable, "-c", CODE],
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env=os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)},
    )
    assert process.stderr is not None
    with process.stderr as told:
        line = told.readline()
        process.kill()
        process.wait()
    assert line.startswith(LINE)


def test_it_is_said_once_on_one_line(tmp_path: Path) -> None:
    out, err = run(ASKED_TWICE, NUMBA_CACHE_DIR=str(tmp_path))
    assert out == ""
    assert err.startswith(LINE)
    assert err.count("\n") == 1


class Screen(io.StringIO):
    """A terminal."""

    def isatty(self) -> bool:
        return True


def test_a_terminal_shows_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    for screen in (Screen(), io.StringIO(), None):
        monkeypatch.setattr(sys, "stderr", screen)
        for done in range(3):
            show_progress(done, 2)
        if screen is not None:
            lines = screen.getvalue().split("\r")[1:]
            assert lines == (
                [
                    "stream_llsvm: 0 of 2 kernels compiled",
                    "stream_llsvm: 1 of 2 kernels compiled",
                    "stream_llsvm: 2 of 2 kernels compiled\n",
                ]
                if isinstance(screen, Screen)
                else []
            )


def test_what_refused_to_keep_them_is_named() -> None:
    refused = ("/a (Permission denied)", "/b (Read-only file system)")
    assert _notice(Places((), Folder(Path("/c")), refused)).splitlines() == [
        LINE,
        "stream_llsvm: kernels are kept in /c; these cannot take them: /a (Permission denied), "
        "/b (Read-only file system); STREAM_LLSVM_CACHE names another one",
    ]
    nowhere = _notice(Places((), None, refused)).splitlines()
    assert nowhere[0] == "stream_llsvm: compiling kernels, as every process will"
    assert nowhere[1].startswith("stream_llsvm: kernels are kept nowhere; these cannot take them")


def test_where_there_is_nothing_to_wait_for_nothing_is_said() -> None:
    """The kernels are kept, or the second process had to compile them again, and would say so."""
    assert run(CODE)[0] == "yes\n"
    assert run(CODE) == ("yes\n", "")


def test_those_who_compile_and_those_who_come_later_agree_to_the_bit(tmp_path: Path) -> None:
    """Of a kernel there is one machine code: two could round differently, and the first would win.

    The memory's search is where they would.
    """
    first, second = (run(LEARNED, NUMBA_CACHE_DIR=str(tmp_path)) for _ in range(2))
    assert first[1].startswith(LINE) and second[1] == ""
    assert first[0] == second[0]
