r"""What is written of a prediction: the same fields in files, in Kafka and on standard output.

========================== ===========================================================
``source``                 the file, or the topic, that the record came from
``partition``, ``offset``  where in it: of a file, null and the line
``key``, ``label``         the record's, null where it has none
``prediction``             the likeliest label, null where nothing had been learned yet
``probability``            its probability
``probabilities``          of every label, only if that was asked for
``decision``, ``set``      what was decided, and the labels that hold the truth as often as
                           promised, if a run decides
``time``                   when it was predicted, in UTC
``model_version``          the version of this package
``records_learned``        how many records the model had learned before this one
``model_age``              how many seconds ago that was, only of readers' answers
========================== ===========================================================
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

import numpy as np
import orjson

from stream_llsvm.connectors.base import Place, Result

FIELDS = (
    "source", "partition", "offset", "key", "label", "prediction", "probability",
    "probabilities", "time", "model_version", "records_learned", "decision", "set",
)  # fmt: skip
_OPTIONS = orjson.OPT_NON_STR_KEYS | orjson.OPT_SERIALIZE_NUMPY


def place_fields(place: Place) -> dict[str, Any]:
    """Return where a record came from, as it is written."""
    source, partition, offset = place
    return {"source": source, "partition": partition, "offset": offset}


def as_line(result: Result) -> bytes:
    r"""Return a result as a JSON object on one line, without its end.

    Examples
    --------
    >>> place = Place("wind.csv", None, 2)
    >>> result = Result(place, 7, "calm", "storm", 0.75, None, 0.5, "0.1.0", 80)
    >>> print(as_line(result).decode().replace(',"time', ',\n "time'))
    {"source":"wind.csv","partition":null,"offset":2,"key":7,"label":"calm","prediction":"storm","probability":0.75,
     "time":"1970-01-01T00:00:00.500Z","model_version":"0.1.0","records_learned":80}

    """
    (
        place, key, label, prediction, probability, probabilities, time, version, learned, age,
        decided,
    ) = result  # fmt: skip
    fields = {
        "source": place[0], "partition": place[1], "offset": place[2], "key": key, "label": label,
        "prediction": prediction, "probability": probability,
    }  # fmt: skip
    if probabilities is not None:
        fields["probabilities"] = probabilities
    if decided is not None:
        fields["decision"], labels = decided
        if labels is not None:
            fields["set"] = labels
    if age is not None:
        fields["model_age"] = age
    # What a batch has in common is put behind: a copy also costs less than the room that is kept
    # for an object of unknown length.
    count = b"null" if learned is None else b"%d" % learned
    return b"%b%b%b}" % (as_json(fields)[:-1], _common(time, version), count)


def as_lines(results: Iterable[Result]) -> list[bytes]:
    """Return results as JSON objects, each on one line without its end."""
    return list(map(as_line, results))


def as_csv(results: Iterable[Result]) -> list[bytes]:
    r"""Return results as lines of CSV, without their ends; what a line cannot hold is JSON in it.

    Examples
    --------
    >>> place = Place("wind.csv", None, 2)
    >>> as_csv([Result(place, 7, None, "a,b", 0.75, {"a,b": 0.75}, 0.5, "0.1.0", 80)])
    [b'wind.csv,,2,7,,"a,b",0.75,"{""a,b"":0.75}",1970-01-01T00:00:00.500Z,0.1.0,80,,']

    """
    lines = []
    for result in results:
        text = io.StringIO()
        place, *middle, time, version, learned, _, decided = result
        row = [*place, *map(_cell, middle), _utc(time), version, learned]
        row += map(_cell, decided or (None, None))
        csv.writer(text, lineterminator="").writerow(row)
        # A line end within a cell would be two lines to all who cut files back by lines.
        line = text.getvalue().replace("\r", "\\r").replace("\n", "\\n")
        lines.append(line.encode(errors="surrogatepass"))
    return lines


def csv_header() -> bytes:
    """Return the first line of a CSV file of predictions."""
    return ",".join(FIELDS).encode()


def as_json(fields: dict[str, Any]) -> bytes:
    """Write an object on one line, whatever the labels are."""
    try:
        return orjson.dumps(fields, _as_text, _OPTIONS)
    except TypeError:  # a whole number beyond 64 bits, half a character, a name that is no name
        named = {
            key: {str(_plain(name)): float(p) for name, p in value.items()}
            if isinstance(value, dict)
            else value
            for key, value in fields.items()
        }
        try:
            return orjson.dumps(named, _as_text, _OPTIONS)
        except TypeError:
            return json.dumps(named, default=_as_text, separators=(",", ":")).encode()


@lru_cache(8)  # a batch has one time
def _common(seconds: float, version: str) -> bytes:
    """Return the fields that all of a batch have in common, and the name of the last one."""
    common = orjson.dumps({"time": _utc(seconds), "model_version": version})
    return b',%b,"records_learned":' % common[1:-1]


@lru_cache(8)
def _utc(seconds: float) -> str:
    when = datetime.fromtimestamp(seconds, UTC)
    return f"{when:%Y-%m-%dT%H:%M:%S}.{when.microsecond // 1000:03d}Z"


def _cell(value: Any) -> Any:
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, dict | list | tuple):
        return as_json({"": value})[4:-1].decode()
    return _as_text(_plain(value))


def _plain(label: Any) -> Any:
    return label.item() if isinstance(label, np.generic) else label


def _as_text(value: Any) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)
