"""Where the text of each name lies that was not seen before, so that it is looked at once only."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stream_llsvm.connectors.flat.compile import Array, entry, part


class Notes(NamedTuple):
    """Names that were seen, and the new ones among them.

    Attributes
    ----------
    seen
        int64, a hash table of their codes, at most half full: 1 more than each, 0 where none is.
        Its size is a power of two.
    fresh
        (half the size of ``seen``, 3), the code of each new name, and where its text begins and
        ends.
    counts
        How many are in ``seen``, and how many in ``fresh``.

    """

    seen: Array
    fresh: Array
    counts: Array


def roomier(notes: Notes | None, size: int) -> Notes:
    """Return notes of names that were seen already, with room for half so many in all."""
    made = Notes(
        np.zeros(size, dtype=np.int64),
        np.empty((size // 2, 3), dtype=np.int64),
        np.zeros(2, dtype=np.int64),
    )
    if notes is not None:
        copy_names(notes.seen, made.seen)
        made.counts[0] = notes.counts[0]
    return made


@entry
def copy_names(seen: Array, to: Array) -> None:
    """Copy a table of names into one that is larger."""
    last = len(to) - 1
    for one in seen:
        if one != 0:
            at = (one - 1) & last
            while to[at] != 0:
                at = (at + 1) & last
            to[at] = one


@part
def note(notes: Notes, code: int, begin: int, stop: int) -> None:
    """Note a name; there must be room for it."""
    last = len(notes.seen) - 1
    at = code & last
    while notes.seen[at] != 0:
        if notes.seen[at] == code + 1:
            return
        at = (at + 1) & last
    notes.seen[at] = code + 1
    new = notes.counts[1]
    notes.fresh[new, 0], notes.fresh[new, 1], notes.fresh[new, 2] = code, begin, stop
    notes.counts[0] += 1
    notes.counts[1] = new + 1


@part
def has_room(notes: Notes, names: int) -> bool:
    """Say whether so many new names can be noted."""
    half = len(notes.seen) // 2
    return notes.counts[0] + names <= half
