"""Some rows of batches, and several batches as one in another order."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.connectors.base import Batch, Rejected
from stream_llsvm.connectors.columns import Columns, as_records

Indices = NDArray[np.int64]


def chosen(batch: Batch, rows: Indices) -> Batch:
    """Return these records of a batch, with nothing of what lay between them.

    Examples
    --------
    >>> batch = Batch(["x", "y"], list("ab"), {}, ("a",), np.array([[1.0], [2.0]]))
    >>> some = chosen(batch, np.array([1]))
    >>> some.labels, some.values.tolist(), some.places
    (['y'], [[2.0]], ['b'])

    """
    some = rows.tolist()
    places, labels = list(batch.places), batch.labels
    return Batch(
        [labels[i] for i in some],
        [places[i] for i in some],
        batch.position,
        names=batch.names,
        values=None if batch.values is None else batch.values[rows],
        records=None if batch.records is None else [batch.records[i] for i in some],
        keys=None if batch.keys is None else [batch.keys[i] for i in some],
        texts=batch.texts,
        weights=None if batch.weights is None else batch.weights[rows],
        times=None if batch.times is None else batch.times[rows],
    )


def without_rejected(batch: Batch, kept: Sequence[int], rejected: list[Rejected]) -> Batch:
    """Return a batch of these rows of it, the others among its rejected records.

    Parameters
    ----------
    batch
        The records.
    kept
        Which rows stay, in order.
    rejected
        All rejected records, those of the batch included.

    """
    if len(kept) == len(batch):
        return batch
    return replace(
        chosen(batch, np.array(kept, dtype=np.int64)),
        rejected=rejected,
        bad_fields=batch.bad_fields,
        deletes=batch.deletes,
        disorder=batch.disorder,
        late=batch.late,
    )


def joined(batches: Sequence[Batch], order: Indices) -> Batch:
    """Return the records of several batches as one, in an order that counts through all of them."""
    places = [place for batch in batches for place in batch.places]
    whole = Batch([label for batch in batches for label in batch.labels], places, {})
    keyed = any(batch.keys is not None for batch in batches)
    whole.keys = [k for b in batches for k in b.keys or [None] * len(b)] if keyed else None
    whole.texts = ChainMap(*[dict(batch.texts) for batch in batches])
    if any(batch.weights is not None for batch in batches):
        several = [np.ones(len(b)) if b.weights is None else b.weights for b in batches]
        whole.weights = np.concatenate(several)
    blocks = _matrices(batches)
    if blocks is not None:
        whole.names, whole.values = batches[0].names, np.concatenate(blocks)
    else:
        whole.records = [record for batch in batches for record in _records(batch)]
    return chosen(whole, order)


def _matrices(batches: Sequence[Batch]) -> list[NDArray[np.float64]] | None:
    """Return the matrices with their columns in one order; None if they have others."""
    names, found = batches[0].names, []
    for batch in batches:
        if names is None or batch.names is None or batch.values is None:
            return None
        if batch.names == names:
            found.append(batch.values)
        elif set(batch.names) == set(names):
            found.append(batch.values[:, [batch.names.index(name) for name in names]])
        else:
            return None
    return found


def _records(batch: Batch) -> list[dict[str, Any]]:
    if batch.records is not None or batch.names is None or batch.values is None:
        return batch.records or []
    return as_records(Columns(batch.names, batch.values, batch.labels, []), batch.texts)
