"""The Open Inference Protocol: tensors in, tensors out, as KServe and its clients speak it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import orjson

from stream_llsvm import limits
from stream_llsvm.dashboard.guard import JSON
from stream_llsvm.records.values import show
from stream_llsvm.serve.bodies import Asked, Names
from stream_llsvm.serve.refusal import RefusedError

_SIGNED = ("FP64", "FP32", "FP16", "INT64", "INT32", "INT16", "INT8")
_NUMBERS = (*_SIGNED, "UINT64", "UINT32", "UINT16", "UINT8")
DATATYPES = {**dict.fromkeys(_NUMBERS, (int, float)), "BOOL": (bool,), "BYTES": (str,)}


#: Kinds of fields that come as texts; also a time that is a number may. The others are numbers.
_TEXTS = ("name", "text", "time")


def metadata(name: str, fields: Mapping[str, str], of_numbers: bool) -> dict[str, Any]:
    """Return what a model's inputs and outputs are; the inputs are fields, each with its kind."""
    label = {"name": "prediction", "datatype": "FP64" if of_numbers else "BYTES", "shape": [-1]}
    sure = {"name": "probability", "datatype": "FP64", "shape": [-1]}
    return {
        "name": name,
        "versions": [],
        "platform": "stream_llsvm",
        "inputs": [
            {"name": field, "datatype": "BYTES" if kind in _TEXTS else "FP64", "shape": [-1]}
            for field, kind in fields.items()
        ],
        "outputs": [label] if of_numbers else [label, sure],
    }


def records_of(body: bytes, kind: str, fields: Sequence[str], names: Names) -> tuple[Asked, Any]:
    """Return the records of an inference, and its id: an input for each field, or one for all.

    Raises RefusedError if it is none.
    """
    if kind != JSON:
        said = f"the content type is {kind or 'missing'}"
        raise RefusedError(415, f"{said}: send the header Content-Type: {JSON}")
    try:
        given = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise RefusedError(400, f"the body is not JSON: {error}") from None
    inputs = given.get("inputs") if isinstance(given, dict) else None
    if not isinstance(inputs, list) or not inputs:
        raise RefusedError(400, 'the body must be an object: write {"inputs": [{...}]}')
    asked = given.get("id")
    if asked is not None and type(asked) not in (str, int):
        raise RefusedError(400, f"the id must be text; got {show(asked)}")
    columns: dict[str, list[Any]] = {}
    for i, one in enumerate(inputs):
        for field, column in _columns(one, i, fields).items():
            if field in columns:
                raise RefusedError(400, f"input {i}: {show(field)} has come before")
            columns[field] = column
    if set(columns) & set(names):
        raise RefusedError(400, f"{names.label!r} and {names.id!r} are no inputs: leave them out")
    lengths = {len(column) for column in columns.values()}
    if len(lengths) != 1 or not 1 <= max(lengths) <= limits.RECORDS:
        raise RefusedError(400, f"all inputs must have the same 1 to {limits.RECORDS:,} rows")
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    bodies: list[bytes | None] = [orjson.dumps(row) for row in rows]
    nothing = [None] * len(rows)
    return Asked(bodies, nothing, [False] * len(rows), {}), asked


def _columns(one: Any, i: int, fields: Sequence[str]) -> dict[str, list[Any]]:
    """Return the columns of an input by their names."""
    if not isinstance(one, dict) or not {"name", "shape", "datatype", "data"} <= set(one):
        raise RefusedError(400, f"input {i} must have name, shape, datatype and data")
    kind, shape, name = one["datatype"], one["shape"], one["name"]
    if not isinstance(name, str):
        raise RefusedError(400, f"input {i}: the name must be text; got {show(name)}")
    if not isinstance(kind, str) or kind not in DATATYPES:
        raise RefusedError(400, f"input {i}: {show(kind)} is none of {', '.join(DATATYPES)}")
    sizes = isinstance(shape, list) and all(type(n) is int and 0 <= n <= 10**8 for n in shape)
    if not sizes or len(shape) not in (1, 2):
        raise RefusedError(400, f"input {i}: the shape must be [rows] or [rows, columns]")
    data: list[Any] = []
    for part in one["data"] if isinstance(one["data"], list) else [None]:
        data += part if isinstance(part, list) else [part]
    if len(data) != prod(shape):
        raise RefusedError(400, f"input {i}: {len(data):,} values do not fit the shape {shape}")
    for value in data:
        if type(value) not in DATATYPES[kind]:
            raise RefusedError(400, f"input {i}: {show(value)} is no {kind}")
    width = shape[1] if len(shape) == 2 else 1
    if width == 1:
        return {name: data}
    parameters = one.get("parameters")
    told = parameters.get("names") if isinstance(parameters, Mapping) else None
    known = list(fields) if told is None else told
    if not isinstance(known, list) or not all(isinstance(field, str) for field in known):
        raise RefusedError(400, f"input {i}: parameters.names must be a list of texts")
    if len(known) != width or len(set(known)) != width:
        raise RefusedError(
            400,
            f"input {i} has {width:,} columns, and {len(known):,} names are known: give theirs in "
            '"parameters": {"names": [...]}',
        )
    return {field: data[at::width] for at, field in enumerate(known)}


def outputs(name: str, learned: int, asked: Any, answers: Sequence[Any]) -> dict[str, Any]:
    """Return what was predicted. Raises RefusedError if that is nothing, or a record is wrong."""
    for one in answers:
        if "error" in one:
            raise RefusedError(400, one["error"])
        if one["prediction"] is None:
            raise RefusedError(503, "nothing has been learned yet: send records with labels first")
    told = [one["prediction"] for one in answers]
    kinds = {bool: "BOOL", int: "INT64", float: "FP64"}
    found = set(map(type, told))
    kind = kinds.get(found.pop(), "BYTES") if len(found) == 1 else "BYTES"
    rows = [len(told)]
    data = list(map(str, told)) if kind == "BYTES" else told
    made = [{"name": "prediction", "datatype": kind, "shape": rows, "data": data}]
    if "probability" in answers[0]:
        sure = [one["probability"] for one in answers]
        made.append({"name": "probability", "datatype": "FP64", "shape": rows, "data": sure})
    said = {"model_name": name, "model_version": str(learned), "outputs": made}
    return said if asked is None else said | {"id": asked}
