"""Rows of keys in files of several learners: a learner writes those that it has, round by round.

A manifest names the files that count, oldest first; of a key that is in several the newest counts.
The files may differ in which features and classes they know, and in their order.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.engine.validation import part, require
from stream_llsvm.kernels.surprise import CLOCKS
from stream_llsvm.learners.keyed import KeyedClassifier
from stream_llsvm.learners.load import from_payload
from stream_llsvm.learners.pipeline import payload_of
from stream_llsvm.model.bank_merge import Order, machines_of, reordered
from stream_llsvm.model.file import read
from stream_llsvm.model.key_rows import merged_rows
from stream_llsvm.records.keys import Key, packed_keys

#: What a manifest calls a model whose keys lie in such files.
SHARDED = "KeyedShards"
NAME = re.compile(r"shard-(\d{1,5})of(\d{1,5})-(\d{10})\.delta")


class Rows(NamedTuple):
    """What is known of some keys, in the order of some features and classes."""

    keys: list[Key]
    matrix: NDArray[np.float32]
    facts: NDArray[np.int64]
    clocks: NDArray[np.float32]


def order_of(model: KeyedClassifier) -> Order:
    """Return in which order a model's rows of keys are."""
    bank = model._bank
    features, labels = model.model._features.saved, model.model._labels.labels
    return Order(tuple(features[: bank.features]), tuple(labels[: bank.classes]))


def rows_payload(name: str, rows: Rows, order: Order) -> dict[str, Any]:
    """Return what a file of rows holds."""
    return {
        "name": name,
        "features": order.features,
        "labels": order.labels,
        "rows": {
            "places": np.arange(len(rows.keys)),
            "keys": packed_keys(rows.keys),
            "matrix": rows.matrix,
            "facts": rows.facts,
            "clocks": rows.clocks,
        },
    }


def read_rows(
    folder: Path,
    names: Sequence[str],
    order: Order,
    wanted: Callable[[Key], bool] = lambda key: True,
) -> Rows:
    """Return the rows of the keys that are wanted, from all files; of a key the newest one.

    Raises ModelFileError or OSError if they cannot be read.
    """
    places: dict[Key, int] = {}
    parts: list[Rows] = []
    for name in names:
        require(type(name) is str and NAME.fullmatch(name) is not None, "files of keys")
        parts.append(_read(folder / name, name, wanted, order))
    for one in parts:
        for key in one.keys:
            places.setdefault(key, len(places))
    width = len(order.features) + 1
    matrix = np.zeros((len(places), machines_of(order), 2, width), dtype=np.float32)
    facts = np.zeros(len(places), dtype=np.int64)
    clocks = np.zeros((len(places), CLOCKS), dtype=np.float32)
    for one in parts:
        at = np.fromiter(map(places.__getitem__, one.keys), np.int64, len(one.keys))
        matrix[at], facts[at], clocks[at] = one.matrix, one.facts, one.clocks
    return Rows(list(places), matrix, facts, clocks)


def _read(path: Path, name: str, wanted: Callable[[Key], bool], order: Order) -> Rows:
    """Return the rows of a file whose keys are wanted."""
    found: dict[str, Any] = read(path)
    rows = found.get("rows")
    require(found.get("name") == name and isinstance(rows, dict), f"file {name}")
    assert isinstance(rows, dict)
    try:
        own = Order(tuple(found["features"]), tuple(found["labels"]))
        n, shape = len(rows["places"]), (machines_of(own), 2, len(own.features) + 1)
        keys, matrix, facts, clocks = merged_rows([rows], n, shape)
        require(None not in keys and set(own.labels) <= set(order.labels), f"file {name}")
        mine = [i for i, key in enumerate(keys) if key is not None and wanted(key)]
        matrix = reordered(matrix[mine], own, order)
    except (ValueError, LookupError, TypeError, AttributeError):
        require(False, f"file {name}")
        raise
    own_keys = [key for i in mine if (key := keys[i]) is not None]
    return Rows(own_keys, matrix, facts[mine], clocks[mine])


def is_sharded(payload: Mapping[str, Any]) -> bool:
    """Whether a payload is a manifest whose model's keys lie in such files."""
    model = payload.get("model")
    return isinstance(model, dict) and model.get("class") == SHARDED


def names_of(payload: Mapping[str, Any]) -> list[str]:
    """Return the files of keys that a manifest names, oldest first."""
    files = part(part(payload, "cluster", dict), "files", dict)
    names: list[str] = part(files, "names", list)
    return names


def with_shards(payload: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Return a manifest's payload with all that is known of keys in it; it names no files then."""
    if not is_sharded(payload):
        return payload
    made = from_payload(part(payload["model"], "model", dict))
    require(isinstance(made, KeyedClassifier), "model")
    made._bank.hold(*read_rows(folder, names_of(payload), order_of(made)))
    without = payload["cluster"] | {"files": {"names": [], "rows": 0, "keys": 0}}
    return payload | {"model": payload_of(made), "cluster": without}
