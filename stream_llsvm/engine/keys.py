"""Whose records are, for a model for each key: read from a batch, and rejected where there is none.

The key is the field of that name where records have it, and else what the source gives for a key.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from stream_llsvm.connectors.base import Batch, Rejected
from stream_llsvm.records.keys import BadKey, Key, are_sound, checked_key
from stream_llsvm.records.readable import readable


def parted(batch: Batch, field: Hashable) -> tuple[list[Any], Batch]:
    """Return the keys of a batch's records, and the batch without them.

    Parameters
    ----------
    batch
        The records.
    field
        What the key is called.

    Examples
    --------
    >>> batch = Batch([1, 0], ["a:1", "a:2"], {}, ("who", "x"), np.array([[7.0, 1], [8, 2]]))
    >>> keys, rest = parted(batch, "who")
    >>> keys, rest.names, rest.values.tolist()
    ([7.0, 8.0], ('x',), [[1.0], [2.0]])

    """
    given: Sequence[Any] = batch.keys or [None] * len(batch)
    if batch.names is not None and batch.values is not None:
        if field not in batch.names:
            return list(given), batch
        at = batch.names.index(field)
        own = [readable(value, batch.texts) for value in batch.values[:, at].tolist()]
        names = batch.names[:at] + batch.names[at + 1 :]
        return own, replace(batch, names=names, values=np.delete(batch.values, at, axis=1))
    records = batch.records or []
    if not any(field in record for record in records):
        return list(given), batch
    pairs: Iterable[tuple[dict[Any, Any], Any]] = zip(records, given, strict=True)
    found = [record.get(field, key) for record, key in pairs]
    rest = [{n: v for n, v in record.items() if n != field} for record in records]
    return [readable(k, {}) if type(k) is float else k for k in found], replace(batch, records=rest)


def with_sound_keys(batch: Batch, field: Hashable) -> Batch:
    """Return a batch of records that all have a key; others are rejected in it.

    Parameters
    ----------
    batch
        The records.
    field
        What the key is called.

    Examples
    --------
    >>> from stream_llsvm.connectors.base import Place
    >>> places = [Place("a.csv", None, line) for line in (2, 3)]
    >>> batch = Batch([1, 0], places, {}, keys=["ann", None], records=[{}, {}])
    >>> read = with_sound_keys(batch, "who")
    >>> read.keys, [(str(one.place), one.reason) for one in read.rejected]
    (['ann'], [('a.csv:3', 'no key')])

    """
    rejected = list(batch.rejected)
    kept = rows_with_keys(batch, field, rejected)
    from stream_llsvm.connectors.rows import without_rejected  # late: it brings what reads text

    return without_rejected(batch, kept, rejected)


def rows_with_keys(
    batch: Batch, field: Hashable, rejected: list[Rejected] | None = None
) -> Sequence[int]:
    """Return which records of a batch have a key; the others are put to those rejected."""
    keys = parted(batch, field)[0]
    if are_sound(keys):
        return range(len(batch))
    kept = list[int]()
    for i, key in enumerate(keys):
        try:
            checked_key(key)
        except BadKey as bad:
            if rejected is not None:
                rejected.append(Rejected(batch.places[i], bad.reason, f"{field!r}: {bad}", b""))
        else:
            kept.append(i)
    return kept


def whole(batch: Batch, i: int, field: Hashable) -> dict[Any, Any]:
    """Return one record as ``{feature: value}`` with its key in it.

    Examples
    --------
    >>> batch = Batch([1], ["a:1"], {}, keys=["ann"], records=[{"x": 1.0}])
    >>> whole(batch, 0, "who")
    {'x': 1.0, 'who': 'ann'}

    """
    record: dict[Any, Any] = batch.record(i)
    return record if field in record else {**record, field: (batch.keys or {i: None})[i]}


def sound(keys: Sequence[Any]) -> list[Key]:
    """Return keys that were looked at before as they are kept."""
    return list(keys) if are_sound(keys) else list(map(checked_key, keys))
