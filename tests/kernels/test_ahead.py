"""Kernels are compiled by two processes, and the second one ends with the first."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import deque
from pathlib import Path
from typing import Any

import pytest

from stream_llsvm.kernels import ahead
from stream_llsvm.kernels.ahead import COMPILERS, compile_ahead
from stream_llsvm.kernels.compile import member_kernel
from stream_llsvm.kernels.dispatch import SIGNATURE
from stream_llsvm.members.prior.kernel import run as prior

BEGIN = """
import os, signal, sys, time
from collections import deque
from stream_llsvm.kernels.ahead import Helper, compile_ahead
from stream_llsvm.kernels.cache import is_ready
from stream_llsvm.kernels.dispatch import SIGNATURE
from stream_llsvm.members.prior.kernel import run as prior
from stream_llsvm.members.waves.kernel import run as waves
"""


def _started(code: str, cache: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", BEGIN + code],
        env=os.environ | {"STREAM_LLSVM_CACHE": str(cache)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except (OSError, ValueError):
        return False
    return state != "Z"


def _gone(process: int) -> bool:
    limit = time.monotonic() + 60
    while _alive(process) and time.monotonic() < limit:
        time.sleep(0.02)
    return not _alive(process)


def test_what_the_second_process_compiled_is_loaded(tmp_path: Path) -> None:
    code = """
assert not is_ready(prior) and not is_ready(waves)
todo = deque([prior, waves])
helper = Helper(todo)
helper.thread.join()
assert not todo and helper.taken == [prior, waves]
helper.end()
assert is_ready(prior) and is_ready(waves)
compile_ahead([(prior, SIGNATURE), (waves, SIGNATURE)])
assert sum(prior._cache_hits.values()) == sum(waves._cache_hits.values()) == 1
assert not prior._cache_misses and not waves._cache_misses
"""
    process = _started(code, tmp_path)
    _, said = process.communicate()
    assert process.returncode == 0, said


#: Says which process helps, once it compiles something.
HELPED = """
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in a shell's background
helper = Helper(deque([waves]))
while not helper.taken:
    time.sleep(0.01)
print(helper.process.pid, flush=True)
"""


@pytest.mark.skipif(os.name == "nt", reason="there are no such signals")
@pytest.mark.parametrize("by", ["SIGKILL", "SIGTERM", "SIGINT"])
def test_the_second_process_ends_with_the_first(tmp_path: Path, by: str) -> None:
    process = _started(HELPED + "time.sleep(600)", tmp_path)
    assert process.stdout is not None
    second = int(process.stdout.readline())
    assert _alive(second)
    process.send_signal(getattr(signal, by))
    process.communicate()
    assert _gone(second)


def test_an_interrupted_call_ends_it(tmp_path: Path) -> None:
    code = """
from stream_llsvm.kernels import ahead
class Interrupted:
    signatures, py_func = (), prior.py_func
    def compile(self, takes):
        while not helpers[0].taken:
            time.sleep(0.01)
        print(helpers[0].process.pid, flush=True)
        raise KeyboardInterrupt
helpers = []
class Seen(Helper):
    def __init__(self, todo):
        super().__init__(todo)
        helpers.append(self)
ahead.Helper = Seen
ahead._may_help = lambda: True
ahead.is_ready = lambda kernel: False
try:
    compile_ahead([(Interrupted(), ()), (waves, SIGNATURE)])
except KeyboardInterrupt:
    print("interrupted", helpers[0].process.returncode is not None)
"""
    process = _started(code, tmp_path)
    told, said = process.communicate()
    assert process.returncode == 0, said
    second, last = told.splitlines()
    assert last == "interrupted True"
    assert _gone(int(second))


def test_a_program_is_not_run_a_second_time(tmp_path: Path) -> None:
    """As multiprocessing would without a guard around what the main module does."""
    program = tmp_path / "program.py"
    program.write_text(
        "print('begins')\n"
        "import stream_llsvm\n"
        "model = stream_llsvm.AdditiveSVMClassifier()\n"
        "model.learn_one({'a': 1.0}, True)\n"
        "print(model.predict_one({'a': 1.0}))\n"
    )
    done = subprocess.run(
        [sys.executable, program],
        env=os.environ | {"STREAM_LLSVM_CACHE": str(tmp_path / "cache")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "begins\nTrue\n"
    assert done.stderr == "stream_llsvm: compiling kernels, once on this machine\n"


def test_when_nobody_helps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1}, raising=False)
    monkeypatch.delenv(COMPILERS, raising=False)
    assert ahead._may_help()
    monkeypatch.setenv(COMPILERS, "1")
    assert not ahead._may_help()
    monkeypatch.delenv(COMPILERS)
    for executable in ("", "/usr/bin/uwsgi", None):  # each would start something else
        monkeypatch.setattr(sys, "executable", executable)
        assert not ahead._may_help()
    monkeypatch.undo()
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0}, raising=False)
    assert not ahead._may_help()


def test_only_kernels_that_another_process_can_find_are_handed_out() -> None:
    def run(state: Any, scratch: Any, plan: Any, member: Any, chunk: Any) -> None:
        pass

    assert ahead._name(prior) == "stream_llsvm.members.prior.kernel:run"
    assert ahead._name(member_kernel(run)) is None


def test_a_process_that_cannot_be_started_is_done_without(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(todo: deque[Any]) -> Any:
        raise BlockingIOError("no more processes")

    monkeypatch.setattr(ahead, "Helper", refused)
    todo: list[Any] = [prior]
    ahead._compile_in_two({}, todo, lambda: None)
    compile_ahead([(prior, SIGNATURE)])
    assert prior.signatures
