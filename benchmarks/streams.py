"""Named data sets from a folder of npz files, as streams and as train/test splits.

A file holds `X, y`, or `X_train, y_train, X_test, y_test`; a sparse matrix is given by the four
arrays of a CSR matrix (`X_train_data`, `X_train_indices`, `X_train_indptr`, `X_train_shape`).
Nothing is scaled and missing values stay NaN.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

# These files are sorted, by class or by a coordinate: their order is no stream's.
SHUFFLED = frozenset(
    {
        "balance_scale",
        "banana",
        "magic04",
        "satimage",
        "segment",
        "svmguide1",
        "tic_tac_toe",
        "vowel",
    }
)
FIRST_ROWS = {"covtype": 100_000}
TAIL = 10_000
# What the accuracy benchmark runs unless it is told otherwise.
STREAMS = (
    "electricity",
    "covtype",
    "banana",
    "magic04",
    "keystroke",
    "segment",
    "phishing_stream",
    "letter",
    "mnist",
)
SPLITS = (
    "mnist",
    "letter",
    "magic04",
    "banana_llsvm_split",
    "pendigits",
    "satimage",
    "segment",
    "svmguide1",
    "mnist_5000",
)
#: Made of a larger file: how many of its records are learned and tested, the first of each.
PARTS = {"mnist_5000": ("mnist", 5_000, 2_000)}

Array = NDArray[Any]


class Stream(NamedTuple):
    """Records in the order they are learned; `tail` last ones are also scored by themselves.

    `changes` are the records from which on another concept holds, where that is known.
    """

    name: str
    X: Array
    y: Array
    tail: int | None
    changes: tuple[int, ...] = ()


class Split(NamedTuple):
    """What is learned, and what is held out."""

    X_train: Array
    y_train: Array
    X_test: Array
    y_test: Array


def load_stream(folder: Path, name: str, rows: int | None = None, order: int = 0) -> Stream:
    """Load a data set as a stream, at most its first `rows` records.

    `order` is the seed of the order of the records, of those sets that are shuffled.
    """
    arrays = _read(folder, name)
    tail = None
    if "y_train" in arrays:
        X = np.concatenate([_matrix(arrays, "X_train"), _matrix(arrays, "X_test")])
        y = np.concatenate([arrays["y_train"], arrays["y_test"]])
        # Only where the stream is long enough for its end to be a figure of its own.
        tail = TAIL if len(y) >= 2 * TAIL else None
    else:
        X, y = _matrix(arrays, "X"), arrays["y"]
    if name in SHUFFLED:
        shuffled = np.random.default_rng(order).permutation(len(y))
        X, y = X[shuffled], y[shuffled]
    end = FIRST_ROWS.get(name, len(y))
    if rows is not None and rows < end:
        end, tail = rows, None
    return Stream(name, X[:end], y[:end], tail)


def load_split(folder: Path, name: str, seed: int = 0) -> Split:
    """Load the standard split or, where there is none, two thirds and one third by the seed."""
    if name in PARTS:
        whole, learned, tested = PARTS[name]
        X, y, X_test, y_test = load_split(folder, whole)
        return Split(X[:learned], y[:learned], X_test[:tested], y_test[:tested])
    arrays = _read(folder, name)
    if "y_train" in arrays:
        return Split(
            _matrix(arrays, "X_train"),
            arrays["y_train"],
            _matrix(arrays, "X_test"),
            arrays["y_test"],
        )
    X, y = _matrix(arrays, "X"), arrays["y"]
    order = np.random.default_rng(seed).permutation(len(y))
    train, test = np.split(order, [2 * len(y) // 3])
    return Split(X[train], y[train], X[test], y[test])


def has_standard_split(folder: Path, name: str) -> bool:
    """Tell whether the file itself says what is held out."""
    return name in PARTS or "y_train" in _read(folder, name)


def _read(folder: Path, name: str) -> dict[str, Array]:
    path = folder / f"{name}.npz"
    if not path.is_file():
        raise SystemExit(f"no data set {name!r}: the data folder has no {path.name}")
    # No pickles: a data file is not allowed to run code.
    with np.load(path, allow_pickle=False) as file:
        return {key: file[key] for key in file.files}


def _matrix(arrays: dict[str, Array], key: str) -> Array:
    if key in arrays:
        return arrays[key]
    data, columns, starts = (arrays[f"{key}_{part}"] for part in ("data", "indices", "indptr"))
    dense = np.zeros(tuple(arrays[f"{key}_shape"].tolist()), dtype=data.dtype)
    dense[np.repeat(np.arange(len(dense)), np.diff(starts)), columns] = data
    return dense
