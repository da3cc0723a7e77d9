"""A NaN from outside says nothing, whatever its bits are; in particular no name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.typing import NDArray
from scipy import sparse

from stream_llsvm import CommitteeClassifier, KeyedClassifier, SAPLClassifier
from stream_llsvm.records.boxes import boxed_name
from stream_llsvm.records.features import FeatureSpace
from stream_llsvm.records.frames import as_matrix, parted

PLAIN = 0x7FF8000000000000
# A name, one that is known, a time, what no box is, and what arithmetic and signals leave behind.
FOREIGN = [
    np.array(bits, dtype=np.uint64).view(np.float64).item()
    for bits in (
        0x7FF9000000000007,
        np.array(boxed_name("DE")).view(np.uint64)[()],
        0x7FFA000000010000,
        0x7FFFFFFFFFFFFFFF,
        0xFFF8000000000000,
        0x7FF8000000000001,
    )
]


def bits_of(values: Any) -> set[int]:
    """Return the bits of what is NaN."""
    values = np.ascontiguousarray(values, dtype=np.float64)
    return {int(one) for one in values[np.isnan(values)].view(np.uint64)}


def wide(X: NDArray[np.float64]) -> Any:
    return sparse.csr_matrix(np.hstack([X, np.zeros((len(X), 100))]))


FRAMES: dict[str, Callable[[NDArray[np.float64]], Any]] = {
    "array": lambda X: X,
    "small floats": lambda X: X.astype(np.float32),
    "columns": np.asfortranarray,
    "masked": lambda X: np.ma.masked_array(X, mask=False),
    "objects": lambda X: X.astype(object),
    "sparse": sparse.csr_matrix,
    "wide": wide,
    "pandas": lambda X: pd.DataFrame({"a": X[:, 0], "b": X[:, 1]}),
    "pandas with names": lambda X: pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": "x"}),
    "polars": lambda X: pl.DataFrame({"a": X[:, 0], "b": X[:, 1]}),
    "polars with names": lambda X: pl.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": "x"}),
    "arrow": lambda X: pa.table({"a": X[:, 0], "b": X[:, 1]}),
    "arrow with names": lambda X: pa.table({"a": X[:, 0], "b": X[:, 1], "c": ["x"] * len(X)}),
}


@pytest.mark.parametrize("kind", FRAMES)
def test_a_foreign_nan_of_many_records_is_a_missing_value(kind: str) -> None:
    X = np.array([[1.0, *FOREIGN[:3]], [*FOREIGN[3:], 2.0]]).T
    untouched = X.tobytes()
    names, matrix, texts = as_matrix(FRAMES[kind](X))
    assert set(texts.values()) <= {"x"}
    space = FeatureSpace()
    for columns in space.arriving(names, matrix, texts, np.ones(4, dtype=np.bool_)).values():
        space.append(columns)
    named = [name for name in space.names if isinstance(name, str | int)]
    assert len(space.names) - len(named) == len(texts), "one column for each name"
    rows = space.encode_many(names, matrix)
    assert bits_of(rows.values) <= {PLAIN, *bits_of(boxed_name("x"))}
    assert X.tobytes() == untouched, "what users pass stays as it is"


@pytest.mark.parametrize("kind", [float, np.float64, np.float32])
@pytest.mark.parametrize("more", [{}, {"c": "x"}, {"t": "some words of a text"}, {"o": {"p": 1}}])
def test_a_foreign_nan_in_a_record_is_a_missing_value(kind: Any, more: dict[str, Any]) -> None:
    ours, theirs = FeatureSpace(), FeatureSpace()
    # The first ways that a record is encoded, and then the short ones.
    for b in [1.5, *FOREIGN, None, 2.5, *FOREIGN]:
        missing = b is None or np.isnan(b)
        value = kind(b) if b is not None and missing else b
        x = {"a": 1.0, "b": None if missing else b, **more}
        y = {"a": 1.0, "b": value, **more}
        assert theirs.unknown(y) == ours.unknown(x)
        ours.add(x)
        theirs.add(y)
        row, other = ours.encode(x), theirs.encode(y)
        assert other.values.tobytes() == row.values.tobytes()


def test_a_row_that_grows_with_its_names_has_plain_nans() -> None:
    space = FeatureSpace(f"f{i}" for i in range(200))
    x = {"f1": 1.0, "g": FOREIGN[0]}
    space.encode(x)
    space.append(space.unknown(x))
    assert bits_of(space.encode(x).values) == {PLAIN}


def test_rows_and_blocks_teach_a_model_the_same() -> None:
    chance = np.random.default_rng(1)
    X = chance.normal(size=(120, 3))
    X[chance.random(X.shape) < 0.2] = FOREIGN[1]
    y = (chance.random(120) < 0.5).tolist()
    row, block, plain = (CommitteeClassifier(seed=1) for _ in range(3))
    for x, label in zip(X.tolist(), y, strict=True):
        row.learn_one(dict(enumerate(x)), label)
    block.learn_many(X, y)
    plain.learn_many(np.where(np.isnan(X), np.nan, X), y)
    probe = {0: 0.5, 1: FOREIGN[0], 2: -0.5}
    expected = plain.predict_proba_one({0: 0.5, 1: None, 2: -0.5})
    assert row.predict_proba_one(probe) == block.predict_proba_one(probe) == expected


def test_a_foreign_nan_beside_a_key() -> None:
    frame = pd.DataFrame({"k": ["u", "v"], "a": [1.0, FOREIGN[0]]})
    _, records = parted(frame, "k")
    assert bits_of(records.matrix) == {PLAIN}
    model, other = (KeyedClassifier(SAPLClassifier(), key="k") for _ in range(2))
    for i in range(20):
        model.learn_one({"k": "u", "a": FOREIGN[0], "b": i}, i % 2)
        other.learn_one({"k": "u", "a": None, "b": i}, i % 2)
    probe = {"k": "u", "a": None, "b": 3}
    assert model.predict_proba_one(probe) == other.predict_proba_one(probe)
