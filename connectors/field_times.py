"""When records were, by one of their fields: read apart from the rest, before records are made."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from math import isfinite, nan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.connectors.base import Place
from stream_llsvm.connectors.codec import Codec

NO_TIME = "no time"
_PLACE = ""
_NUMBERS = {int, float}


class FieldTimes:
    """Reads times from a field: numbers as they are, dates and times in seconds since 1970.

    Parameters
    ----------
    codec
        What reads records of which the field is one.
    field
        Its name.

    Examples
    --------
    >>> from stream_llsvm.connectors.json_codec import JsonCodec
    >>> times = FieldTimes(JsonCodec(label="y"), "at")
    >>> times.read([b'{"at": 7.5, "a": 1}', b'{"at": "1970-01-01T01:00Z"}', b'{"at": "soon"}'])
    array([   7.5, 3600. ,    nan])

    """

    def __init__(self, codec: Codec, field: str) -> None:
        self.field, self.codec = field, codec
        self._codec = codec.only(field)

    def read(self, raws: Sequence[bytes | None]) -> NDArray[np.float64]:
        """Return the time of each record, NaN where it says none."""
        places = _Numbered(len(raws))
        batch = self._codec.decode(raws, places, {})
        found = np.full(len(raws), nan)
        kinds = set(map(type, batch.labels))
        told = batch.labels if kinds <= _NUMBERS else list(map(seconds_in, batch.labels))
        try:
            read = np.array(told, dtype=np.float64)
        except OverflowError:
            read = np.array(list(map(seconds_in, told)))
        if len(batch) == len(raws):
            return read
        found[[place.number for place in batch.places]] = read
        return found

    def missing(self, raw: bytes) -> str:
        """Say what is wrong with a record that says no time."""
        label = next(iter(self._codec.decode([raw], _Numbered(1), {}).labels), None)
        if label is None:
            return f"the field {self.field!r} is not there; order='arrival' needs none"
        return f"{self.field} = {label!r} is no time; order='arrival' needs none"


class _Numbered(Sequence[Place]):
    """Places that only count."""

    def __init__(self, count: int) -> None:
        self._count = count

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, index: Any) -> Any:
        numbers = range(self._count)[index]
        if isinstance(numbers, range):
            return [Place(_PLACE, None, i) for i in numbers]
        return Place(_PLACE, None, numbers)


def seconds_in(value: object) -> float:
    """Return the time that a value says, NaN if it says none.

    Examples
    --------
    >>> seconds_in("1970-01-02"), seconds_in("1970-01-01 00:01:00+00:00"), seconds_in("2.5")
    (86400.0, 60.0, 2.5)
    >>> seconds_in("tomorrow"), seconds_in(True), seconds_in(None)
    (nan, nan, nan)

    """
    if isinstance(value, bool):
        return nan
    if isinstance(value, int | float):
        return float(value) if abs(value) < 1e300 else nan
    if not isinstance(value, str) or "_" in value:
        return nan
    try:
        number = float(value)
    except ValueError:
        pass
    else:
        return number if isfinite(number) else nan
    try:
        moment = datetime.datetime.fromisoformat(value.strip())
    except ValueError:
        return nan
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=datetime.UTC)
    return (moment - _EPOCH).total_seconds()


_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
