"""How many classes a run learns: a record with one more is rejected by itself.

Every class costs weights in every member, and time with every record. Labels that are ids, or that
a stranger makes up, would fill the memory a model may have long before somebody noticed, and make
everybody wait meanwhile.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from stream_llsvm.connectors.base import Batch, Rejected
from stream_llsvm.limits import LABEL_BYTES
from stream_llsvm.records.labels import LabelSpace
from stream_llsvm.records.values import is_missing, show

REASON = "too many classes"


def beyond(label: Any, most: int) -> str:
    """Say that a label is one too many, and what may be wrong.

    Examples
    --------
    >>> beyond("id-77", 1_000)
    "the label 'id-77' is new, and max_classes is 1,000: is it a class, and not an id or a number?"

    """
    return (
        f"the label {show(label)} is new, and max_classes is {most:,}: is it a class, and not an "
        "id or a number?"
    )


def is_beyond(label: Hashable, known: LabelSpace, most: int) -> bool:
    """Whether a label is new, and there are as many classes as there may be."""
    return len(known) >= most and known.code(label) < 0


def with_few_classes(batch: Batch, known: LabelSpace, most: int) -> Batch:
    """Return a batch that brings no more new classes than there may be; others are rejected in it.

    Parameters
    ----------
    batch
        The records.
    known
        The classes that are known.
    most
        How many there may be.

    Examples
    --------
    >>> from stream_llsvm.connectors.base import Place
    >>> places = [Place("a.csv", None, line) for line in (2, 3, 4)]
    >>> batch = Batch(["x", "z", "y"], places, {}, records=[{}, {}, {}])
    >>> few = with_few_classes(batch, LabelSpace(["x", "y"]), 2)
    >>> few.labels, [(str(one.place), one.reason) for one in few.rejected]
    (['x', 'y'], [('a.csv:3', 'too many classes')])

    """
    try:
        new = known.unknown(batch.labels)
    except TypeError:  # one is none at all: the model says so of its record
        return batch
    if not new:
        return batch
    long = {
        one for one in new if type(one) is str and len(one.encode("utf-8", "replace")) > LABEL_BYTES
    }
    if not long and len(known) + len(new) <= most:
        return batch
    room = most - len(known)
    kept, rejected = list[int](), list(batch.rejected)
    admitted = set[Any]()
    for i, label in enumerate(batch.labels):
        if label in new and label not in admitted and not is_missing(label):
            if label in long or len(admitted) >= room:
                why = beyond(label, most)
                reason = REASON
                if label in long:
                    reason = "odd label"
                    why = f"{show(label)} has more than {LABEL_BYTES:,} bytes"
                rejected.append(Rejected(batch.places[i], reason, why, b""))
                continue
            admitted.add(label)
        kept.append(i)
    from stream_llsvm.connectors.rows import without_rejected  # late: it brings what reads text

    return without_rejected(batch, kept, rejected)
