"""Rows of numbers, names and times -> records that people, and models of others, can read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isnan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.kernels.boxes import FIRST_BOX, NAME
from stream_llsvm.records.boxes import time_of, unboxed
from stream_llsvm.records.texts import as_name


def readable(value: float, texts: Mapping[int, str]) -> float | str:
    """Return a number as it is, a name's text, and of a time a text.

    Of a time only the weekday and the second of the day are known: its date is in the year 1.

    Parameters
    ----------
    value
        A value of a row.
    texts
        The texts of names, by their codes.

    Examples
    --------
    >>> from stream_llsvm.records.boxes import boxed_name, boxed_time
    >>> readable(boxed_name("DE"), {unboxed(boxed_name("DE"))[1]: "DE"})
    'DE'
    >>> readable(boxed_time(3, 45_000), {}), readable(2.5, {})
    ('0001-01-04T12:30:00', 2.5)

    """
    kind, content = unboxed(value)
    if kind == 0:
        return value
    if kind == NAME:
        return as_name(texts.get(content, f"#{content:x}"))
    hour, weekday = time_of(content)
    minutes, second = divmod(round(3600 * hour), 60)
    return f"0001-01-{int(weekday) + 1:02}T{minutes // 60:02}:{minutes % 60:02}:{second:02}"


def readable_rows(values: NDArray[np.float64], texts: Mapping[int, str]) -> list[list[float | str]]:
    """Return rows as lists, with names and times as `readable` gives them.

    Parameters
    ----------
    values
        (n, D).
    texts
        The texts of names, by their codes.

    """
    rows: list[list[Any]] = values.tolist()
    known: dict[int, float | str] = {}
    bits = np.ascontiguousarray(values).view(np.int64)
    for i, j in np.argwhere(bits >= FIRST_BOX).tolist():
        box = int(bits[i, j])
        if box not in known:
            known[box] = readable(rows[i][j], texts)
        rows[i][j] = known[box]
    return rows


def as_records(
    names: Sequence[str], values: NDArray[np.float64], texts: Mapping[int, str]
) -> list[dict[str, Any]]:
    """Return rows as records; what is missing is not named.

    Parameters
    ----------
    names, values
        The names of the features, and a row of values each.
    texts
        The texts of names, by their codes.

    """
    return [
        {name: value for name, value in zip(names, row, strict=True) if not is_missing(value)}
        for row in readable_rows(values, texts)
    ]


def readable_record(record: dict[str, Any]) -> dict[str, Any]:
    """Return a record with texts for its times.

    Parameters
    ----------
    record
        As a source hands it out.

    """
    if not any(type(value) is float and isnan(value) for value in record.values()):
        return record
    return {
        name: readable(value, {}) if type(value) is float else value
        for name, value in record.items()
    }


def is_missing(value: object) -> bool:
    """Whether a value of a row that can be read is missing."""
    return isinstance(value, float) and isnan(value)
