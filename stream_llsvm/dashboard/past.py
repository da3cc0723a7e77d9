"""The page's points in a file beside the checkpoints: after a restart its charts go on.

The file is replaced as a whole now and then. Its loss costs nothing, so what cannot be read is left
out, as is what came after the checkpoint that a run goes on from: that comes again.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson

from stream_llsvm.model.file import replace

NAME = "page.json"
_LARGEST = 16_000_000  # bytes
_EVENTS = 200

Point = Mapping[str, Any]


def write(path: Path, points: Sequence[Point], events: Sequence[Point]) -> None:
    """Replace the file; one that cannot be written is left as it is."""
    data = orjson.dumps({"points": points, "events": events[-_EVENTS:]})
    with contextlib.suppress(OSError):
        replace(path, data, private=True)


def read(path: Path, record: int | None) -> tuple[list[Any], list[Any]]:
    """Return points and events up to a record, None for none: the run begins anew."""
    if record is None:
        return [], []
    try:
        with open(path, "rb") as file:
            found = orjson.loads(file.read(_LARGEST))
        return _sound(found["points"], "records", record), _sound(found["events"], "record", record)
    except (OSError, ValueError, TypeError, LookupError):
        return [], []


def _sound(rows: Any, at: str, record: int) -> list[Any]:
    """Return the rows in order that lie before now and not behind the record."""
    now, last, kept = 1_000 * time.time(), -1, []
    for row in rows:
        number = row["id"]
        if type(number) is int and last < number <= now and row[at] <= record:
            kept.append(row)
            last = number
    return kept
