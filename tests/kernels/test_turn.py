"""Programs that are started at the same moment compile once: the second waits for the first."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from stream_llsvm.kernels import turn as turns
from stream_llsvm.kernels.turn import turn

pytestmark = pytest.mark.skipif(os.name == "nt", reason="each process compiles for itself")

BEGIN = """
import sys
from stream_llsvm.kernels.ahead import compile_ahead
from stream_llsvm.kernels.dispatch import SIGNATURE
from stream_llsvm.kernels.turn import turn
from stream_llsvm.members.prior.kernel import run as prior
"""
#: Has its turn until it is told to go on, and compiles.
FIRST = """
with turn(lambda: None):
    print("begun", flush=True)
    sys.stdin.readline()
    prior.compile(SIGNATURE)
"""
#: Says that it waits, and then whether it had to compile.
SECOND = """
waited = []
def progress(done, of):
    if not waited:
        print("waits", done, of, flush=True)
    waited.append((done, of))
compile_ahead([(prior, SIGNATURE)], progress)
print(sum(prior._cache_hits.values()), sum(prior._cache_misses.values()), *waited[-1])
"""


def _started(code: str, cache: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", BEGIN + code],
        env=os.environ | {"STREAM_LLSVM_CACHE": str(cache)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def _line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def test_who_comes_second_waits_and_loads(tmp_path: Path) -> None:
    first = _started(FIRST, tmp_path)
    assert _line(first) == "begun"
    second = _started(SECOND, tmp_path)
    assert _line(second) == "waits 0 1"
    first.communicate("go on\n")
    assert first.returncode == 0
    told, _ = second.communicate()
    assert told.split() == ["1", "0", "1", "1"]


def test_a_process_that_was_killed_is_not_waited_for(tmp_path: Path) -> None:
    first = _started(FIRST, tmp_path)
    assert _line(first) == "begun"
    second = _started(SECOND, tmp_path)
    assert _line(second) == "waits 0 1"
    first.send_signal(signal.SIGKILL)
    first.communicate()
    told, _ = second.communicate()
    assert told.split() == ["0", "1", "1", "1"]


def test_nobody_is_waited_for_without_end(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    first = _started(FIRST, tmp_path)
    assert _line(first) == "begun"
    monkeypatch.setattr(turns, "PATIENCE", 0.0)
    held = os.open(tmp_path / turns._LOCK, os.O_RDWR)
    assert not turns._taken(held)
    monkeypatch.setattr(turns, "_opened", lambda: held)
    entered = False
    with turn(lambda: None):
        entered = True
    assert entered
    first.communicate("go on\n")
    with pytest.raises(OSError, match="Bad file"):
        os.fstat(held)


def test_it_does_without_where_nothing_can_be_locked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "fcntl", None)
    assert turns._opened() is None
    entered = 0
    for _ in range(2):
        with turn(lambda: None):
            entered += 1
    assert entered == 2
