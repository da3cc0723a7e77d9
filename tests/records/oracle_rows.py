"""What a record's row is, column by column, written down from the rules; slow."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from stream_llsvm.kernels.boxes import NAME, TIME
from stream_llsvm.kernels.expand import MOST_NAMES, epoch_moment
from stream_llsvm.records.boxes import boxed_name, name_code, time_of, unboxed
from stream_llsvm.records.columns import NameColumn, PartColumn
from stream_llsvm.records.nested import flattened
from stream_llsvm.records.times import says_when
from stream_llsvm.records.values import read


def entries(x: Mapping[Any, Any], columns: tuple[Any, ...]) -> dict[Any, list[float]]:
    """Return the values of each column that a record names; of words there are several."""
    found: dict[Any, list[float]] = {}
    for field, value in flattened(x).record.items():
        names = [c for c in columns if isinstance(c, NameColumn) and c.field == field]
        told = read(field, value)
        if isinstance(told, tuple):
            found[field] = [boxed_name(word) for word in told]
            found[PartColumn(field, "words")] = [float(len(told))]
        elif isinstance(told, str):
            found[field] = [boxed_name(told)]
            for column in names:
                found[column] = [float(column.code == name_code(told))]
        else:
            moment = _moment(field, told)
            hour, weekday = PartColumn(field, "hour"), PartColumn(field, "weekday")
            if moment is not None:
                found[hour], found[weekday] = [moment[0]], [moment[1]]
            else:
                found[field] = [told]
                if math.isnan(told) and field not in columns:
                    found[hour] = found[weekday] = [told]
    return {column: values for column, values in found.items() if column in columns}


def _moment(field: Any, value: float) -> tuple[float, float] | None:
    kind, content = unboxed(value)
    assert kind != NAME
    if kind != TIME:
        content = epoch_moment(value) if says_when(field) else -1
    return time_of(content) if content >= 0 else None


class Known:
    """Columns in the order in which records bring them."""

    def __init__(self) -> None:
        self.columns: list[Any] = []

    def learn(self, x: Mapping[Any, Any]) -> None:
        """Take in the columns of a record, field by field in the order of their names."""
        flat = flattened(x).record
        for field in sorted(flat, key=lambda name: (type(name).__name__, name)):
            self.columns += [c for c in self._of(field, flat[field]) if c not in self.columns]

    def _of(self, field: Any, value: Any) -> list[Any]:
        told = read(field, value)
        if isinstance(told, tuple):
            return [field, PartColumn(field, "words")]
        if isinstance(told, str):
            own = [c for c in self.columns if isinstance(c, NameColumn) and c.field == field]
            return [field, *([NameColumn(field, told)] if len(own) < MOST_NAMES else [])]
        if _moment(field, told) is not None:
            return [PartColumn(field, "hour"), PartColumn(field, "weekday")]
        hour = PartColumn(field, "hour")
        return [] if math.isnan(told) and hour in self.columns else [field]
