"""A model for each key over many learners: whose keys are whose, and where their rows are kept.

A key belongs to one learner, by its hash. It learns all records of its keys in a round, and writes
what has changed of them to a file before it answers; the manifest of the round names the files that
count, oldest first. A learner that has not just learned the round before reads them. What is
written and in no manifest is written again, and is the same.
"""

from __future__ import annotations

import copy
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from stream_llsvm.engine.key_shards import NAME, Rows, order_of, read_rows, rows_payload
from stream_llsvm.engine.rounds import ShardSize
from stream_llsvm.learners.keyed import KeyedClassifier
from stream_llsvm.learners.pipeline import payload_of
from stream_llsvm.model.bank_merge import Order, reordered, shared
from stream_llsvm.model.file import write
from stream_llsvm.records.keys import Key

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

    def has(self, key: Key) -> bool:
        """Whether a key is the learner's."""
        return shard_of(key, self.of) == self.rank


class Written(NamedTuple):
    """A file of rows that a learner has written: its name, how many are in it, what it has."""

    name: str
    rows: int
    has: ShardSize


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
        keys = sum(one.has.keys for one in written)
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
            rows = read_rows(Path(shard.folder), shard.files, order, shard.has)
        model._bank.hold(*rows)

    def keep(self, model: KeyedClassifier, shard: Shard, epoch: int, since: int) -> Written:
        """Write what was learned of the keys since they all had learned so many records."""
        bank, order = model._bank, order_of(model)
        rows = bank.rows(None if shard.whole else since)
        name = f"shard-{shard.rank}of{shard.of}-{epoch + 1:010}.delta"
        keys: list[Any] = rows.keys
        write(
            Path(shard.folder) / name,
            rows_payload(name, Rows(keys, *rows[2:]), order),
        )
        n = len(bank.keys)
        kept: list[Any] = bank.keys
        self._known = (
            (epoch + 1, shard.rank, shard.of),
            Rows(kept, bank.matrix[:n], bank.facts[:n], bank.clocks[:n]),
            order,
        )
        arrays = bank.matrix, bank.facts, bank.clocks
        size = ShardSize(n, sum(array[:n].nbytes for array in arrays))
        return Written(name, len(keys), size)


def sent_payload(model: Any) -> dict[str, Any]:
    """Return a model's payload; of a model for each key one that knows no key."""
    payload = payload_of(model, rows=False)
    if isinstance(model, KeyedClassifier):
        payload["bank"] |= {"places": 0, "rows": []}
    return payload


def next_epoch(folder: Path) -> int:
    """Return a number of rounds that none of the files here has: they belong to other manifests."""
    found = (NAME.fullmatch(path.name) for path in folder.iterdir())
    return 1 + max((int(match[3]) for match in found if match), default=-1)


def first_file(model: KeyedClassifier, folder: Path, epoch: int) -> Files:
    """Write all keys that a model knows; no file if it knows none."""
    bank = model._bank
    rows = bank.rows()
    known = [i for i, key in enumerate(rows.keys) if key is not None]
    if not known:
        return Files()
    keys: list[Any] = [rows.keys[i] for i in known]
    name = f"shard-0of1-{epoch:010}.delta"
    some = Rows(keys, rows.matrix[known], rows.facts[known], rows.clocks[known])
    write(folder / name, rows_payload(name, some, order_of(model)))
    bank.hold([], bank.matrix[:0], bank.facts[:0], bank.clocks[:0])
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
        match = NAME.fullmatch(path.name)
        if match and path.name not in needed and int(match[3]) <= epoch:
            path.unlink(missing_ok=True)


def whole(model: KeyedClassifier, folder: Path, files: Files) -> KeyedClassifier:
    """Return a model that knows no key as one that knows all that files hold."""
    new = copy.deepcopy(model)
    new._bank.hold(*read_rows(folder, files.names, order_of(new)))
    return new
