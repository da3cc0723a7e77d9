"""Read the values of Kafka records: maps in JSON or msgpack -> the parts of a batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain, compress
from operator import methodcaller
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.connectors.base import Place, Rejected

_NUMBERS = {int, float, bool, type(None)}
_FLAT = _NUMBERS | {str}


class Parts(NamedTuple):
    """What a batch is made of, but for its position; see ``Batch``."""

    labels: list[Any]
    places: list[Place]
    names: tuple[str, ...] | None
    values: NDArray[np.float64] | None
    records: list[dict[str, Any]] | None
    keys: list[Any] | None
    rejected: list[Rejected]


class Decode(Protocol):
    """What turns the bytes of some records into the parts of a batch."""

    def __call__(
        self,
        values: Sequence[bytes | None],
        keys: Sequence[bytes | None],
        places: Sequence[Place],
    ) -> Parts:
        """Decode the values; a value that cannot be read is rejected, never raised."""


def text_or_bytes(key: bytes | None) -> str | bytes | None:
    """Return a record's key as the text that it is, or else as it is."""
    if key is None:
        return None
    try:
        return key.decode()
    except UnicodeDecodeError:
        return key


class MapDecoder:
    """Values that are one flat map each: ``{"feature": number, ..., "label": anything}``.

    Parameters
    ----------
    format
        ``"json"`` or ``"msgpack"``.
    label
        The field that holds the label; None if there is none.
    key
        The field to join late labels by; None means the record's own key.

    """

    def __init__(
        self, format: str = "json", *, label: str | None = "label", key: str | None = None
    ) -> None:
        self._format = format
        self._label = label
        self._key = key
        self._load: Callable[[Any], Any]
        if format == "json":
            import orjson

            self._load = orjson.loads
        elif format == "msgpack":
            import msgpack

            self._load = msgpack.unpackb
        else:
            raise ValueError(f"format is 'json' or 'msgpack', not {format!r}")

    def __call__(
        self,
        values: Sequence[bytes | None],
        keys: Sequence[bytes | None],
        places: Sequence[Place],
    ) -> Parts:
        """Decode the values; a value that cannot be read is rejected, never raised."""
        rejected: list[Rejected] = []
        own: list[Any] = list(map(text_or_bytes, keys))
        maps = self._all(values)
        if maps is not None:
            labels, fields = self._take(maps, self._label), self._take(maps, self._key)
            flat = list(chain.from_iterable(map(methodcaller("values"), maps)))
            kinds = set(map(type, flat))
            if not (kinds | set(map(type, labels)) | set(map(type, fields))) <= _FLAT:
                maps = None
        if maps is None:  # slowly, to know which
            maps, kept = [], []
            for value, place in zip(values, places, strict=True):
                read, reason, detail = self._one(value)
                if read is None:
                    rejected.append(Rejected(place, reason, detail, value or b""))
                else:
                    maps.append(read)
                kept.append(read is not None)
            places = list(compress(places, kept))
            own = list(compress(own, kept))
            labels, fields = self._take(maps, self._label), self._take(maps, self._key)
            flat = list(chain.from_iterable(map(methodcaller("values"), maps)))
            kinds = set(map(type, flat))
        names, table, records = None, None, None
        if kinds <= _NUMBERS and len(set(map(tuple, maps))) == 1:
            names = tuple(maps[0])
            table = np.array(flat, dtype=np.float64).reshape(len(maps), -1)
        else:
            records = maps
        own = own if self._key is None else fields
        return Parts(labels, list(places), names, table, records, own, rejected)

    def _all(self, values: Sequence[bytes | None]) -> list[dict[str, Any]] | None:
        """Return all maps, or None if there may be something wrong with one."""
        try:
            maps = list(map(self._load, values))
        except Exception:  # a decoder may raise anything on bytes from elsewhere
            return None
        fine = set(map(type, maps)) <= {dict} and self._has_text_names(maps)
        return maps if fine else None

    @staticmethod
    def _take(maps: list[dict[str, Any]], field: str | None) -> list[Any]:
        if field is None:
            return [None] * len(maps)
        return [one.pop(field, None) for one in maps]

    def _has_text_names(self, maps: list[dict[Any, Any]]) -> bool:
        if self._format == "json":
            return True
        return set(map(type, chain.from_iterable(maps))) <= {str}

    def _one(self, value: bytes | None) -> tuple[dict[str, Any] | None, str, str]:
        """Return the map, or None, and why not in few words, and more about it."""
        if value is None:
            return None, "no value", "a tombstone: the record has a key only"
        try:
            read = self._load(value)
        except Exception as error:
            return None, f"not {self._format}", f"{type(error).__name__}: {error}"[:200]
        if type(read) is not dict:
            return None, "not a map", f"it is a {type(read).__name__}"
        for name, inside in read.items():
            if type(name) is not str:
                return None, "a name is not text", repr(name)[:100]
            if type(inside) not in _FLAT:
                return None, "not a number or text", f"{name}: {inside!r}"[:200]
        return read, "", ""
