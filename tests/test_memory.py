"""Nothing that is compiled keeps what it was given: memory does not grow with the records."""

from __future__ import annotations

import copy
import gc
import importlib
import json
import pkgutil
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numba.core import dispatcher

pytest.importorskip("kafka", reason="comes with the extra 'test'")

from kafka.record import MemoryRecords
from kafka.record.memory_records import MemoryRecordsBuilder

import stream_llsvm
from stream_llsvm import (
    CommitteeClassifier,
    KeyedClassifier,
    LLSVMClassifier,
    LLSVMRegressor,
    PegasosClassifier,
    SAPLClassifier,
)
from stream_llsvm.connectors.file.source import FileSource
from stream_llsvm.connectors.kafka.fast_read import unpacked
from stream_llsvm.engine import Engine
from stream_llsvm.kernels import cache as kernels
from stream_llsvm.model import scheduler, state

Dispatcher: Any = dispatcher.Dispatcher


@cache
def entries() -> dict[str, Any]:
    """Return all compiled functions of the package that Python calls, by module and name."""
    for module in pkgutil.walk_packages(stream_llsvm.__path__, "stream_llsvm."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    found = {
        id(one._cache): one
        for name, module in list(sys.modules.items())
        if name.startswith("stream_llsvm.")
        for one in vars(module).values()
        if isinstance(one, Dispatcher)
    }
    kept = [found[id(one)] for one in kernels.caches if one._source.is_relative_to(kernels.PACKAGE)]
    return {
        f"{one.__module__.removeprefix('stream_llsvm.')}.{one.__name__}": one
        for one in kept
        if not one.targetoptions.get("no_cpython_wrapper")  # these are called by their address
    }


def arrays(given: Any) -> Iterator[Any]:
    """Give the arrays among arguments, and the tuples that hold them."""
    if isinstance(given, tuple):
        yield given
        for one in given:
            yield from arrays(one)
    elif isinstance(given, np.ndarray):
        yield given


def counts(objects: list[Any]) -> Any:
    return np.array([sys.getrefcount(one) for one in objects])


def as_lines(form: str, rows: list[dict[str, Any]]) -> str:
    if form == "jsonl":
        return "".join(json.dumps(row) + "\n" for row in rows)
    lines = [rows[0], *(row.values() for row in rows)]
    return "".join(",".join(map(str, line)) + "\n" for line in lines)


def run(path: Path, model: Any, **columns: Any) -> None:
    source = FileSource([path], **columns)
    try:
        Engine(source, model, window=50).run()
    finally:
        source.close()


def kafka_batch() -> Any:
    builder = MemoryRecordsBuilder(2, 0, 100_000)
    for i in range(100):
        builder.append(timestamp=i, key=b"k", value=b'{"a": 1}', headers=[])
    builder.close()
    return MemoryRecords(bytes(builder.buffer())).next_batch()


def use_everything(folder: Path) -> None:
    """Do what calls each of the compiled functions, as users do it."""
    chance = np.random.default_rng(1)
    n = 3_000
    rows = [
        {"a": round(a, 3), "b": f"name{i}", "c": "xyz"[i % 3], "k": i % 7, "y": int(a > 0)}
        for i, a in enumerate(chance.normal(size=n).tolist())
    ]
    lines, table = folder / "a.jsonl", folder / "a.csv"
    lines.write_text(as_lines("jsonl", rows))
    table.write_text(as_lines("csv", rows))
    run(table, CommitteeClassifier(seed=1), label="y", key="k")
    run(lines, PegasosClassifier(), label="y", key="k")
    run(table, LLSVMRegressor(), label="a", ignore=["b"])
    unpacked("t", 0, kafka_batch())

    X, y = chance.normal(size=(300, 5)), chance.integers(0, 2, 300)
    keyed = KeyedClassifier(SAPLClassifier(), key="k")
    for i in range(100):
        keyed.learn_one({"k": i % 5, "a": float(X[i, 0])}, int(y[i]))
    SAPLClassifier().warm_start(X, y)
    LLSVMClassifier(
        n_anchors=5, step_size="paper", loss="hinge", multiclass="ovr", l2=1e-4
    ).warm_start(X, y, solver="reference")
    model = CommitteeClassifier(seed=1, threads=2)
    model.learn_many(X, y)
    for _ in range(2):
        model.learn_one(dict.fromkeys(range(5), np.nan), 1)
    model.learn_one({"a": 1.0, "t": "a text of several words"}, 1)
    model.learn_one({"a": 1.0, "t": "another text of several words"}, 1)
    for record, label in zip(rows[:200], y, strict=False):
        model.learn_one({name: record[name] for name in "abc"}, int(label))
    others = [copy.deepcopy(model) for _ in range(2)]
    for i, other in enumerate(others):
        other.learn_many(X[i::2], y[i::2])
    others[0].merge(others[1:], since=model)


def test_no_compiled_function_keeps_what_it_is_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    every = entries()
    names = {id(one): name for name, one in every.items()}
    kept: dict[str, int] = {}

    def watched(self: Any, *given: Any) -> Any:
        objects = list(arrays(given))
        before = counts(objects)
        answer = compiled(self, *given)
        name = names.get(id(self), "")
        if (counts(objects) - before).any() and not kept.get(name):
            gc.collect()  # numba's compiler leaves cycles behind that hold what it was called with
        kept[name] = max(kept.get(name, 0), int((counts(objects) - before).max()))
        return answer

    kind = type(next(iter(every.values())))
    compiled = kind.__call__
    monkeypatch.setattr(kind, "__call__", watched, raising=False)
    # Stage by stage, but on one thread: another one would hold the same arrays for a moment.
    stages: Any = scheduler.run_on_threads
    monkeypatch.setattr(state, "run_on_threads", lambda *given: stages(*given[:-1], 1))
    use_everything(tmp_path)
    assert set(every) - set(kept) == set(), "which this test does not call yet"
    assert {name: more for name, more in kept.items() if more} == {}


#: Learns a file, and prints by how many bytes a record anonymous memory has grown.
A_RUN = """
import sys
from pathlib import Path

from stream_llsvm import CommitteeClassifier
from stream_llsvm.connectors import FileSource
from stream_llsvm.engine import Engine
from stream_llsvm.engine.watchers import Watcher

file = sys.argv[1]


class Memory(Watcher):
    seen = []

    def on_turn(self, run):
        lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
        size = next(int(line.split()[1]) for line in lines if line.startswith("Anonymous"))
        self.seen.append((run.progress.counts["records"], 1024 * size))


source = FileSource(file, label="y")
Engine(source, CommitteeClassifier(members=["prior"]), watchers=[Memory()]).run()
(first, small), (last, large) = next(one for one in Memory.seen if one[0] > 50_000), Memory.seen[-1]
assert last - first >= 400_000, (first, last)
print((large - small) / (last - first))
"""


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_memory_does_not_grow_with_the_records(tmp_path: Path, form: str) -> None:
    if not Path("/proc/self/smaps_rollup").exists():
        pytest.skip("only Linux says it")
    file = tmp_path / f"a.{form}"
    rows = [{"a": i / 7, "b": -i / 3, "c": f"n{i % 50}", "y": i % 2} for i in range(2_000)]
    file.write_text(as_lines(form, 230 * rows))
    found = subprocess.run(
        [sys.executable, "-c", A_RUN, str(file)], capture_output=True, text=True, check=False
    )
    assert found.returncode == 0, found.stderr
    assert float(found.stdout) < 20, "bytes a record"
