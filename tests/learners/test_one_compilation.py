"""However records come in, the kernels are compiled for one kind of argument, once.

A second kind would cost the user ten seconds in the middle of a stream, on every machine.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from stream_llsvm import load_model
from stream_llsvm.kernels.run import run
from stream_llsvm.kernels.scaling import observe_rows, scale_rows
from stream_llsvm.learners.base import LocalClassifier
from stream_llsvm.members.registry import KINDS, kernels_of
from tests.learners.support import ALL_LEARNERS, small

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 4))
Y = RNG.integers(0, 3, 40)
WIDE = pd.DataFrame({f"w{i}": [float(i), 1.0] for i in range(300)})
SPARSE = pd.DataFrame({f"w{i}": [float(i), 1.0] for i in range(20)})
FROZEN = X.copy()
FROZEN.setflags(write=False)

BATCHES: dict[str, Any] = {
    "array": X,
    "read-only array": FROZEN,
    "array by columns": np.asfortranarray(X),
    "every second column": np.repeat(X, 2, axis=1)[:, ::2],
    "array of 32 bits": X.astype(np.float32),
    "array of whole numbers": X.astype(np.int8),
    "array of objects": X.astype(object),
    "foreign byte order": X.astype(">f8"),
    "pandas": pd.DataFrame(X, columns=[*"abcd"]),
    "polars": pl.DataFrame(X, schema=[*"abcd"]),
    "pyarrow": pa.table({"a": X[:, 0], "b": X[:, 1]}),
    "no rows": X[:0],
}


def compiled() -> list[int]:
    members = [one for kind in KINDS for one in kernels_of(kind) if one is not None]
    entries = (run, *members, observe_rows, scale_rows)
    return [len(entry.signatures) for entry in entries]


def begun(kind: type[LocalClassifier]) -> LocalClassifier:
    model = small(kind)
    model.warm_start(X, Y, epochs=1)
    return model


@pytest.mark.parametrize("X", BATCHES.values(), ids=BATCHES)
@pytest.mark.parametrize("kind", ALL_LEARNERS)
def test_batches(kind: type[LocalClassifier], X: Any) -> None:
    model = begun(kind)
    before = compiled()
    y = Y[: len(X)]
    model.learn_many(X, y)
    model.learn_many(X, pd.Series(y), w=np.full(len(y), 2, dtype=np.int8))
    model.test_then_learn(X, y)
    model.predict_many(X)
    model.predict_proba_many(X)
    model.warm_start(X, y, epochs=1)
    assert compiled() == before


@pytest.mark.parametrize("kind", ALL_LEARNERS)
def test_records_wide_and_sparse(kind: type[LocalClassifier], tmp_path: Path) -> None:
    model = begun(kind)
    before = compiled()
    model.learn_one({0: 1, 1: True, 2: None, 3: np.float32(2)}, 1, w=3)
    model.learn_one({}, np.int64(2))
    model.learn_many(WIDE, ["new", "newer"])
    model.learn_one({"w3": 1.0}, "newest")
    model.learn_many(SPARSE, [0, 1])
    model.warm_start(SPARSE, [0, 1], epochs=1)
    model.predict_proba_one({"w3": 1.0, "stranger": 2.0})
    model.explain_one({"w3": 1.0})
    model.save(tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    loaded.learn_one({"w3": 1.0, "w4": 2.0}, "newest")
    loaded.learn_many(SPARSE, [0, 1])
    assert compiled() == before
