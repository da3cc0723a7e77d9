"""Objects inside a record: their fields become fields of the record, ``payload.amount``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

#: How deep objects may lie in objects, and how many fields are taken out of them.
DEEPEST, MOST_FIELDS = 8, 1_000


# What is no object, and needs no look at what it can do.
_PLAIN = frozenset({float, int, str, bool, list, type(None)})


class Flat(NamedTuple):
    """A record without objects in it, and how many values lay too deep or were too many."""

    record: dict[Any, Any]
    left_out: int


def flattened(x: Mapping[Any, Any]) -> Flat:
    """Return a record whose objects' fields are its own.

    Fields of objects are named by the way to them, with points between. A field of the record
    itself goes before one of an object that has the same name. What lies deeper than eight levels,
    and what comes after 1,000 fields of objects, is left out and counted: an object as one.

    Parameters
    ----------
    x
        The record.

    Examples
    --------
    >>> flattened({"id": 7, "payload": {"amount": 2.5, "from": {"country": "DE"}}}).record
    {'id': 7, 'payload.amount': 2.5, 'payload.from.country': 'DE'}

    """
    record = {name: value for name, value in x.items() if not _is_object(value)}
    if len(record) == len(x):
        return Flat(record, 0)
    left_out = taken = 0
    # Not by recursion: a record may be nested a thousand deep.
    waiting = [(str(n), v, 1) for n, v in [*x.items()][::-1] if _is_object(v)]
    while waiting:
        way, value, depth = waiting.pop()
        if not _is_object(value):
            if way in record or taken == MOST_FIELDS:
                left_out += 1
            else:
                record[way] = value
                taken += 1
        elif depth > DEEPEST or taken == MOST_FIELDS:
            left_out += 1
        else:
            inside = [(f"{way}.{name}", item, depth + 1) for name, item in value.items()]
            waiting.extend(reversed(inside))
    return Flat(record, left_out)


def _is_object(value: object) -> bool:
    kind = type(value)
    return kind is dict or (kind not in _PLAIN and isinstance(value, Mapping))
