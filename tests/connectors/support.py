"""Batches that can be compared, and what the tests of files share."""

from __future__ import annotations

import math
from typing import Any

from stream_llsvm.connectors.base import Batch, Source
from stream_llsvm.connectors.codec import Codec
from stream_llsvm.connectors.columns import Places
from stream_llsvm.records.readable import readable_record, readable_rows


def decoded(codec: Codec, *raws: bytes) -> Batch:
    return codec.decode(raws, Places("here", None, range(1, len(raws) + 1)), {"at": 1})


def records(batch: Batch) -> list[dict[str, Any]]:
    """Return every record as a dict, NaN as None, so that batches can be compared."""
    found = batch.records
    if found is not None:
        found = [readable_record(x) for x in found]
    else:
        assert batch.names is not None and batch.values is not None
        rows = readable_rows(batch.values, batch.texts)
        found = [dict(zip(batch.names, row, strict=True)) for row in rows]
    return [{n: None if _nan(v) else v for n, v in x.items()} for x in found]


def everything(batch: Batch) -> tuple[Any, ...]:
    return (
        [list(x.items()) for x in records(batch)],
        [(type(label), label) for label in batch.labels],
        batch.keys,
        list(batch.places),
        batch.rejected,
        batch.bad_fields,
        batch.names,
    )


def _nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


def drained(source: Source, most: int = 1000, patience: float = 0.0) -> list[Batch]:
    """Poll until the source has ended."""
    batches = []
    while not source.ended:
        if (batch := source.poll(most, patience)) is not None:
            batches.append(batch)
    return batches


def values_of(batches: list[Batch], name: str = "a") -> list[Any]:
    """Return one feature of all records."""
    return [x.get(name) for batch in batches for x in records(batch)]
