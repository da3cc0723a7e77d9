"""What was foretold: experts' scores of records whose labels have not come yet.

When a label comes late, the members have learned from other records since, perhaps from this one's
very neighbours and twins: scored anew, the record looks easier than it was. Whom to trust, and how
much, is learned from the scores as they were when the record was predicted.

A table without collisions to solve: a record's place is a digest of its values, and a newer record
takes an older one's place. What is not found was never predicted, or too long ago; then the scores
of the moment have to do.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from stream_llsvm.kernels.boxes import FIRST_BOX
from stream_llsvm.kernels.compile import Array, Real, kernel
from stream_llsvm.kernels.linear import copy_to
from stream_llsvm.kernels.scaling import ABSENT
from stream_llsvm.kernels.views import bits_of

# Columns of a table's entries: the digest of the record (0: free), and how many
# records had been learned when it was predicted.
DIGEST, SINCE = range(2)
ENTRY = 2
#: Records learned since a prediction that is of no more use.
TOO_OLD = 100_000
# Odd, with bits all over: the digits of the golden ratio and two of their kind.
_SPREAD, _MIX, _STEP = 0x1E3779B97F4A7C15, 0x3F58476D1CE4E5B9, 0x14D049BB133111EB


@kernel
def digest_of(values: Array, columns: Array, begin: int, end: int) -> int:
    """Digest one of several records: alike in any order, with or without what is missing.

    0 for a record that names nothing: one cannot be told from another.
    """
    row = values[begin:end]  # whose places are known not to be negative: vector instructions
    bits, named = bits_of(row), columns[begin:end]
    total = np.int64(0)
    for i in range(row.size):
        v = row[i]
        if (math.isnan(v) and bits[i] < FIRST_BOX) or v == ABSENT:
            continue  # a box is NaN, too, but not missing
        column = named[i] if named.size > 0 else i
        h = (bits[i] ^ (np.int64(column) + 1) * np.int64(_SPREAD)) * np.int64(_MIX)
        h = (h ^ (h >> 29)) * np.int64(_STEP)
        total += h ^ (h >> 32)
    return int(total)


def place_of(digest: Any, places: int) -> Any:
    """Where a record's scores are kept, of a power of two of places: of one digest or of many."""
    return (digest >> 7) & (places - 1)


_place_of = kernel(place_of)


@kernel
def keep(entries: Array, kept: Array, digest: int, taught: Real, scores: Array) -> int:
    """Keep a record's scores (experts, columns); returns how many places more are taken."""
    if digest == 0:
        return 0
    place = _place_of(digest, entries.shape[0])
    more = 1 if entries[place, DIGEST] == 0 else 0
    entries[place, DIGEST], entries[place, SINCE] = digest, np.int64(taught)
    for e in range(scores.shape[0]):
        copy_to(kept[place, e], scores[e])
    return more


@kernel
def find(entries: Array, digest: int) -> int:
    """Return where the record's scores are kept, -1 if they are not."""
    place = _place_of(digest, entries.shape[0])
    return place if digest != 0 and entries[place, DIGEST] == digest else -1


@kernel
def release(entries: Array, kept: Array, place: int) -> None:
    """Leave a place as if nothing had ever been there."""
    entries[place, DIGEST] = entries[place, SINCE] = 0
    kept[place] = 0


@kernel
def is_young(entries: Array, place: int, taught: Real) -> bool:
    """Whether what was foretold still tells whom to trust."""
    return taught - entries[place, SINCE] <= TOO_OLD
