"""The wait before the first answer: import, compiling, loading what was compiled before."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

import peers
import results
from timing import Effort, Section

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


def first_call(learner: str, data: Path | None, effort: Effort) -> Section:
    """Time import and first calls in a new process, with an empty cache and with a full one."""
    lines = []
    with tempfile.TemporaryDirectory() as cache:
        for state in ("nothing compiled yet", "compiled before"):
            begin = perf_counter()
            done = subprocess.run(
                [sys.executable, "-c", FIRST_CALL.format(name=peers.OURS[learner])],
                env={**os.environ, "NUMBA_CACHE_DIR": cache},
                check=True,
                stdout=subprocess.PIPE,
                text=True,
            )
            whole = perf_counter() - begin
            parts = [float(part) for part in done.stdout.split()[-3:]]
            figures = [*parts, parts[0] + parts[1], whole]
            lines.append([state, *(results.figure(value, 2) for value in figures)])
    header = ["seconds", "import", "learn_one", "predict_one", "import + learn_one", "process"]
    note = "First calls in a new process, numba's cache in an empty folder, then the same again."
    return Section("First call", results.table(header, lines) + "\n\n" + note)
