"""The wait before the first answer: import, compiling, loading what was compiled before."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

import peers
import results
from timing import Effort, Section

from stream_llsvm.kernels.ahead import COMPILERS
from stream_llsvm.kernels.folders import VARIABLE as CACHE

# A process of its own, because only a new process imports and compiles.
FIRST_CALL = """
import time
begin = time.perf_counter()
from stream_llsvm import {name}
imported = time.perf_counter()
model = {name}()
model.learn_one({{f"feature_{{i}}": i / 22 for i in range(22)}}, True)
learned = time.perf_counter()
model.predict_one({{f"feature_{{i}}": i / 22 for i in range(22)}})
print(imported - begin, learned - imported, time.perf_counter() - learned)
"""


ROOT = Path(__file__).resolve().parents[1]


def _copied(folder: Path) -> Path:
    """Copy what a wheel is made of, without any compiled kernels; returns where to import it."""
    unwanted = shutil.ignore_patterns("__pycache__", "shipped", "static")
    shutil.copytree(ROOT / "stream_llsvm", folder / "stream_llsvm", ignore=unwanted)
    return folder


def _timed(name: str, **env: str | Path) -> list[float]:
    """Return seconds: import, first calls, both, the process, and what all processes computed."""
    begin, before = perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, "-P", "-c", FIRST_CALL.format(name=name)],
        env={**os.environ, **{one: str(value) for one, value in env.items()}},
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    whole, after = perf_counter() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    computed = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    parts = [float(part) for part in done.stdout.split()[-3:]]
    return [*parts, parts[0] + parts[1], whole, computed]


def first_call(learner: str, data: Path | None, effort: Effort) -> Section:
    """Time import and first calls in new processes, by where their kernels come from."""
    name, lines = peers.OURS[learner], []
    with tempfile.TemporaryDirectory() as temporary:
        here = Path(temporary)
        env: dict[str, str | Path] = {"PYTHONPATH": _copied(here / "package")}
        alone, two = here / "alone", here / "two"
        states: list[tuple[str, dict[str, str | Path]]] = [
            ("nothing compiled, one process", {CACHE: alone, COMPILERS: "1"}),
            ("nothing compiled, two processes", {CACHE: two, COMPILERS: "2"}),
            ("compiled before", {CACHE: two}),
        ]
        for state, own in states:
            lines.append([state, *_figures(_timed(name, **env, **own))])
        subprocess.run(
            [sys.executable, ROOT / "tools" / "compile_kernels.py", "--ship", name],
            env={**os.environ, "PYTHONPATH": str(env["PYTHONPATH"]), CACHE: str(two)},
            check=True,
            stdout=subprocess.DEVNULL,
        )
        lines.append(["in the package", *_figures(_timed(name, **env, **{CACHE: here / "empty"}))])
    header = [
        "seconds", "import", "learn_one", "predict_one", "import + learn_one", "process",
        "CPU of all processes",
    ]  # fmt: skip
    note = "First calls in new processes, by where their kernels come from."
    return Section("First call", results.table(header, lines) + "\n\n" + note)


def _figures(seconds: list[float]) -> list[str]:
    return [results.figure(value, 2) for value in seconds]
