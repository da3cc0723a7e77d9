"""A model for each key over many learners: whose keys are whose, and where their rows are kept.

A key belongs to one learner, by its hash. It learns all records of its keys in a round, and writes
what has changed of them to a file before it answers; the manifest of the round names the files that
count, oldest first. A learner that has not just learned the round before reads them. What is
written and in no manifest is written again, and is the same.
"""

from __future__ import annotations

import copy
import re
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.engine.validation import require
from stream_llsvm.learners.keyed import KeyedClassifier
from stream_llsvm.learners.pipeline import payload_of
from stream_llsvm.model.bank_merge import Order, machines_of, reordered, shared
from stream_llsvm.model.file import read, write
from stream_llsvm.model.key_rows import merged_rows
from stream_llsvm.records.keys import Key, packed_keys

_NAME = re.compile(r"shard-(\d{1,5})of(\d{1,5})-(\d{10})\.delta")
#: So many files may have to be read; then all rows are written again.
_MOST_FILES = 100


class Shard(NamedTuple):
    """The keys of one learner in a round, and the files that they are in.

    Attributes
    ----------
    folder, files
        Where their rows are, oldest first.
    rank, of
        Which of how many learners has them.
    whole
        Whether all rows are to be written, and not only those that change.

    """

    folder: str
    files: tuple[str, ...]
    rank: int
    of: int
    whole: bool = False


class Written(NamedTuple):
    """A file of rows that a learner has written: its name, how many are in it, how many it has."""

    name: str
    rows: int
    keys: int


class Files(NamedTuple):
    """The files that count after a round, how many rows are in them, and of how many keys."""

    names: tuple[str, ...] = ()
    rows: int = 0
    keys: int = 0

    @property
    def whole(self) -> bool:
        """Whether the next round is to write all rows."""
        return len(self.names) >= _MOST_FILES or self.rows > 2 * self.keys + 1_000

    def after(self, written: Sequence[Written], *, whole: bool) -> Files:
        """Return the files that count after a round."""
        names, rows = tuple(one.name for one in written), sum(one.rows for one in written)
        keys = sum(one.keys for one in written)
        if whole:
            return Files(names, rows, keys)
        return Files(self.names + names, self.rows + rows, keys)


def shard_of(key: Key, of: int) -> int:
    """Return which of so many learners has a key; keys that are equal have the same one.

    Examples
    --------
    >>> shard_of("ann", 4), shard_of(1, 4) == shard_of(1.0, 4) == shard_of(True, 4)
    (3, True)

    """
    if isinstance(key, str):
        key = key.encode("utf-8", "surrogatepass")
    if not isinstance(key, bytes):
        key = hash(key).to_bytes(8, "big", signed=True)  # of numbers it is the same everywhere
    return zlib.crc32(key) % of


def order_of(model: KeyedClassifier) -> Order:
    """Return in which order a model's rows of keys are."""
    bank = model._bank
    features, labels = model.model._features.saved, model.model._labels.labels
    return Order(tuple(features[: bank.features]), tuple(labels[: bank.classes]))


class Rows(NamedTuple):
    """What is known of some keys, in the order of some features and classes."""

    keys: list[Key]
    matrix: NDArray[np.float32]
    facts: NDArray[np.int64]


class ShardKeeper:
    """Brings a learner's keys into the model of a round, and keeps what it has learned of them."""

    def __init__(self) -> None:
        self._known: tuple[tuple[int, int, int], Rows, Order] | None = None

    def bring(self, model: KeyedClassifier, shard: Shard, epoch: int) -> None:
        """Put the rows of the learner's keys into a model that has none."""
        order, known = order_of(model), self._known
        self._known = None
        if known is not None and known[0] == (epoch, shard.rank, shard.of):
            rows = known[1]._replace(matrix=reordered(known[1].matrix, known[2], order))
        else:
            rows = read_rows(shard, order)
        model._bank.hold(*rows)

    def keep(self, model: KeyedClassifier, shard: Shard, epoch: int, since: int) -> Written:
        """Write what was learned of the keys since they all had learned so many records."""
        bank, order = model._bank, order_of(model)
        rows = bank.rows(None if shard.whole else since)
        name = f"shard-{shard.rank}of{shard.of}-{epoch + 1:010}.delta"
        keys: list[Any] = rows.keys
        write(
            Path(shard.folder) / name,
            rows_payload(name, Rows(keys, rows.matrix, rows.facts), order),
        )
        n = len(bank.keys)
        kept: list[Any] = bank.keys
        self._known = (
            (epoch + 1, shard.rank, shard.of),
            Rows(kept, bank.matrix[:n], bank.facts[:n]),
            order,
        )
        return Written(name, len(keys), n)


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
        },
    }


def read_rows(shard: Shard, order: Order) -> Rows:
    """Return the rows of a learner's keys, from all files; of a key the newest one.

    Raises ModelFileError or OSError if they cannot be read.
    """
    places: dict[Key, int] = {}
    parts: list[Rows] = []
    for name in shard.files:
        require(_NAME.fullmatch(name) is not None, "files of keys")
        parts.append(_read(Path(shard.folder) / name, name, shard, order))
    for part in parts:
        for key in part.keys:
            places.setdefault(key, len(places))
    width = len(order.features) + 1
    matrix = np.zeros((len(places), machines_of(order), 2, width), dtype=np.float32)
    facts = np.zeros(len(places), dtype=np.int64)
    for part in parts:
        at = np.fromiter(map(places.__getitem__, part.keys), np.int64, len(part.keys))
        matrix[at], facts[at] = part.matrix, part.facts
    return Rows(list(places), matrix, facts)


def _read(path: Path, name: str, shard: Shard, order: Order) -> Rows:
    """Return a file's rows of the learner's keys."""
    found: dict[str, Any] = read(path)
    rows = found.get("rows")
    require(found.get("name") == name and isinstance(rows, dict), f"file {name}")
    assert isinstance(rows, dict)
    own = Order(found.get("features", ()), found.get("labels", ()))
    require(type(own.features) is tuple and type(own.labels) is tuple, f"file {name}")
    require(set(own.labels) <= set(order.labels), f"file {name}")
    n = len(rows["places"])
    try:
        kept, matrix, facts = merged_rows([rows], n, (machines_of(own), 2, len(own.features) + 1))
    except (ValueError, LookupError, TypeError, AttributeError):
        require(False, f"file {name}")
        raise
    keys = [key for key in kept if key is not None]
    require(len(keys) == n, f"file {name}")
    mine = [i for i, key in enumerate(keys) if shard_of(key, shard.of) == shard.rank]
    return Rows([keys[i] for i in mine], reordered(matrix[mine], own, order), facts[mine])


def sent_payload(model: Any) -> dict[str, Any]:
    """Return a model's payload; of a model for each key one that knows no key."""
    payload = payload_of(model, rows=False)
    if isinstance(model, KeyedClassifier):
        payload["bank"] |= {"places": 0, "rows": []}
    return payload


def first_file(model: KeyedClassifier, folder: Path) -> Files:
    """Write all keys that a model knows; no file if it knows none."""
    bank = model._bank
    rows = bank.rows()
    known = [i for i, key in enumerate(rows.keys) if key is not None]
    if not known:
        return Files()
    keys: list[Any] = [rows.keys[i] for i in known]
    name = f"shard-0of1-{0:010}.delta"
    some = Rows(keys, rows.matrix[known], rows.facts[known])
    write(folder / name, rows_payload(name, some, order_of(model)))
    bank.hold([], bank.matrix[:0], bank.facts[:0])
    return Files((name,), len(keys), len(keys))


def merged(base: KeyedClassifier, models: Sequence[KeyedClassifier], inner: Any) -> KeyedClassifier:
    """Return one model of those that learned different keys since the base; it knows no key.

    ``inner`` is the global models, merged.
    """
    new = KeyedClassifier(inner, base.key, base.max_keys, base.most_features)
    banks = [model._bank for model in models]
    features = min(len(inner._features), base.most_features)
    classes = max(bank.classes for bank in (base._bank, *banks))
    taken = max(bank.features for bank in (base._bank, *banks))
    names = inner._features.saved[: features if taken else 0]
    after = Order(tuple(names), tuple(inner._labels.labels if classes else ()))
    orders = [order_of(model) for model in models]
    new._bank = shared(base._bank, order_of(base), banks, orders, after)
    return new


def remove_unneeded(folder: Path, needed: set[str], epoch: int) -> None:
    """Remove the files of so many first rounds that nobody needs."""
    for path in folder.iterdir():
        match = _NAME.fullmatch(path.name)
        if match and path.name not in needed and int(match[3]) <= epoch:
            path.unlink(missing_ok=True)


def whole(model: KeyedClassifier, folder: Path, files: Files) -> KeyedClassifier:
    """Return a model that knows no key as one that knows all that files hold."""
    new = copy.deepcopy(model)
    shard = Shard(str(folder), files.names, 0, 1)
    new._bank.hold(*read_rows(shard, order_of(new)))
    return new
