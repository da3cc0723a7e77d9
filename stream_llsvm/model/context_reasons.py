"""The strongest contexts of an explanation, in the words of the record explained."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.kernels.mixer import AWAKE
from stream_llsvm.members.base import Asked
from stream_llsvm.model.explain import Context, mixed, strength_of, units
from stream_llsvm.model.state import ModelState
from stream_llsvm.records.boxes import name_code, unboxed
from stream_llsvm.records.column_space import flat
from stream_llsvm.records.columns import PartColumn, field_of
from stream_llsvm.records.nested import flattened
from stream_llsvm.records.rows import Row
from stream_llsvm.records.values import read

#: How many are told of.
_STRONGEST = 10


def contexts_of(
    memory: ModelState,
    code: int,
    row: Row,
    names: tuple[Hashable, ...],
    labels: tuple[Any, ...],
    x: Mapping[Any, Any],
) -> list[Context]:
    """List the contexts that say most about a class in the record that was run last.

    Parameters
    ----------
    memory
        The model.
    code
        The class.
    row
        The record, as it was run.
    names
        What the columns are called.
    labels
        The classes.
    x
        The record as it came: it has the names that the row has hashes of.

    """
    model = memory.views(0)
    strength = strength_of(memory, model["scores"][0, 0].astype(np.float64))
    found: list[tuple[float, Asked]] = []
    for i, member in enumerate(memory.members):
        asked = member.asked(memory.views(1 + i)) if model["members"][AWAKE, i] > 0 else []
        if asked:
            votes = np.stack([one.votes for one in asked], axis=1)[None]
            own = memory.experts_of(i)
            added = mixed(memory, votes, strength[own])[code]
            found += zip(added.tolist(), asked, strict=True)
    found.sort(key=lambda one: -abs(one[0]))
    strongest = [one for one in found[:_STRONGEST] if one[0] != 0]
    if not strongest:
        return []
    values = row.values.reshape(-1)
    columns = row.columns if row.starts.size > 0 else np.arange(values.size)
    first = {int(c): float(v) for c, v in zip(columns[::-1], values[::-1], strict=True)}
    texts = _texts_of(x)
    lines = _Scale(memory)
    places = {name: place for place, name in enumerate(flat(x))}

    def place(part: tuple[int, str, int]) -> tuple[int, int]:
        # Fields stand as in the record; those that it lacks come last.
        return places.get(field_of(names[part[0]]), len(places)), part[0]

    def said(column: int, kind: str, at: int) -> Any:
        return _shown(kind, values[at] if at >= 0 else first.get(column), texts, lines, column)

    return [
        Context(
            values={_said_of(names[part[0]]): said(*part) for part in sorted(one.parts, key=place)},
            counts={
                label: int(n) for label, n in zip(labels, _whole(one.counts), strict=True) if n > 0
            },
            contribution=added,
        )
        for added, one in strongest
    ]


def _said_of(column: Hashable) -> Hashable:
    """Return what a field is called: the hour of a time is one."""
    return str(column) if isinstance(column, PartColumn) else column


class _Scale:
    """Where the eighths of each column's scale begin, in its own units."""

    def __init__(self, memory: ModelState) -> None:
        self.centre, self.scale = units(memory, memory.width)

    def shown(self, column: int, v: float) -> str:
        """Write the eighth in which a value lies."""
        centre, scale = float(self.centre[column]), float(self.scale[column])
        edges = [f"{centre + scale * step / 2:.4g}" for step in range(-3, 4)]
        z = min(max((float(v) - centre) / scale, -2.0), 2.0) if scale > 0 else 0.0
        eighth = min(int(2 * z + 4), 7)
        if eighth == 0:
            return f"below {edges[0]}"
        return f"above {edges[-1]}" if eighth == 7 else f"{edges[eighth - 1]} to {edges[eighth]}"


def _shown(
    kind: str, value: float | None, texts: Mapping[int, str], lines: _Scale, column: int
) -> Any:
    """Return what a field says, as somebody reads it."""
    if value is None or kind == "missing":
        return None
    if kind == "whole":
        return int(value)
    if kind == "eighth":
        return lines.shown(column, value)
    content = unboxed(value)[1]
    return texts.get(content, f"#{content:x}")


def _texts_of(x: Mapping[Any, Any]) -> dict[int, str]:
    """Return the names and words of a record by their codes."""
    texts: dict[int, str] = {}
    for name, value in flattened(x).record.items():
        told = read(name, value)
        said = (told,) if isinstance(told, str) else told if isinstance(told, tuple) else ()
        texts |= {name_code(text): text for text in said}
    return texts


def _whole(counts: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return whole numbers near these, with the same sum."""
    floor = np.floor(counts).astype(np.int64)
    left = round(float(counts.sum())) - int(floor.sum())
    floor[np.argsort(floor - counts, kind="stable")[: max(0, left)]] += 1
    return floor
