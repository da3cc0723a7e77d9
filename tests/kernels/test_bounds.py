"""No kernel reads or writes outside its arrays: run as plain Python, numpy would refuse.

Compiled, an index too large reads a neighbour's memory and nobody notices.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

#: Numba is replaced by nothing before the package is imported.
UNCOMPILED = """
import sys, types, warnings
import numba
def njit(**options):
    def plain(function):
        file = types.SimpleNamespace(_load_index=lambda: {})
        function._cache = types.SimpleNamespace(_cache_file=file)
        function.py_func = function
        function.signatures = ["none"]
        function.get_compile_result = lambda signature: types.SimpleNamespace(
            library=types.SimpleNamespace(get_pointer_to_function=lambda name: 0),
            fndesc=types.SimpleNamespace(llvm_func_name=""),
        )
        return function
    return plain
numba.njit = njit
warnings.simplefilter("ignore")
import numpy as np
np.seterr(all="ignore")
from tests.learners.support import ALL_LEARNERS, small
from stream_llsvm.kernels.run import run
assert type(run) is types.FunctionType
(kind,) = [k for k in ALL_LEARNERS if k.__name__ == sys.argv[1]]
rng = np.random.default_rng(0)
"""

SCENARIOS = {
    "features and classes that come late, gaps, sparse records, many rows at once": """
model = small(kind)
for i in range(90):
    n = 1 + i // 12
    x = {j: float(v) for j, v in enumerate(rng.normal(size=n))}
    x[0] = None if i % 7 == 0 else 1e30 if i % 11 == 0 else x[0]
    model.predict_one(x)
    model.learn_one(x, i % (1 + i // 30), w=[1.0, 1e6, 1e-6][i % 3])
for i in range(12):
    x = {f"w{j}": 1.0 for j in rng.choice(90, 6, replace=False)}
    model.predict_one(x)
    model.learn_one(x, i % 4)
model.test_then_learn(rng.normal(size=(40, 8)), rng.integers(0, 4, 40))
model.warm_start(rng.normal(size=(30, 4)), rng.integers(0, 3, 30), epochs=2)
""",
    "a window that is full, and ferns that are drawn anew": """
model = small(kind)
X = rng.normal(size=(1_100, 2))
model.test_then_learn(X, (X[:, 0] > 0).astype(int))
""",
    "a single feature that never changes": """
model = small(kind, standardize=False)
for i in range(150):
    model.learn_one({"a": [1.0, 1e6, -1e6][i % 3 if i > 60 else 0]}, i % 2)
""",
}


def _run(kind: str, *scenarios: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", "\n".join([UNCOMPILED, *scenarios]), kind],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )


@pytest.mark.parametrize(
    "kind",
    [
        "SAPLClassifier",
        "AdditiveSVMClassifier",
        "MemoryClassifier",
        "FernsClassifier",
        "BoostedTreesClassifier",
        "LocalSVMClassifier",
        "L3SVMClassifier",
        "BudgetedPegasosClassifier",
        "CommitteeClassifier",
    ],
)
def test_every_index_is_inside(kind: str) -> None:
    """All in one process: half of what each takes is imports."""
    done = _run(kind, *(f"print({name!r}){scenario}" for name, scenario in SCENARIOS.items()))
    assert done.returncode == 0, done.stdout + done.stderr[-2_000:]
    assert done.stdout.splitlines() == list(SCENARIOS)


def test_every_index_is_inside_where_there_are_no_features() -> None:
    done = _run(
        "FernsClassifier",
        "model = small(kind)\nfor i in range(60):\n    model.learn_one({}, i % 2)\n",
    )
    assert done.returncode == 0, done.stderr[-2_000:]
