"""What a request's body says: records or labels, checked one by one."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import orjson

from stream_llsvm import limits
from stream_llsvm.connectors.object_codec import MOST_FIELDS
from stream_llsvm.dashboard.guard import JSON
from stream_llsvm.records.values import NO_LABEL, show
from stream_llsvm.serve.refusal import RefusedError

LINES = (
    "application/x-ndjson",
    "application/ndjson",
    "application/jsonl",
    "application/x-jsonlines",
)
DURABILITY = ("disk", "memory")
_SHOWN = 60
_SHORT = min(limits.ID_BYTES, limits.LABEL_BYTES) // 4  # letters, of at most 4 bytes each
_TOO_DEEP = f"it is nested too deeply, more than {limits.LEVELS} levels"


class Names(NamedTuple):
    """What the label and the id are called in records."""

    label: str
    id: str


class Asked(NamedTuple):
    """What a request holds: each record or label as the log keeps it, in order.

    ``bodies`` are None where there is an error. ``ids`` are None where there is none, and so are
    ``labels``, as JSON has them.
    """

    bodies: list[bytes | None]
    ids: list[Any]
    labelled: list[bool]
    errors: dict[int, str]
    durable: bool = True
    labels: Sequence[Any] = ()


def records_of(body: bytes, kind: str, query: Mapping[str, str], names: Names) -> Asked:
    """Return the records of a request's body. Raises RefusedError if it is none."""
    if kind in LINES:
        given: dict[str, Any] = dict(query)
        lines = [line for line in body.split(b"\n") if line.strip(b" \t\r")]
        found: list[Any] = lines
        read: Callable[[Any], Any] = orjson.loads
    else:
        given = _object(body, kind, "records", ("records", "label", "id", "durability"))
        found, read = given.pop("records"), _as_it_is
    wanted = Names(_name(given, "label", names.label), _name(given, "id", names.id))
    durable = _durable(given)
    labels: list[Any] = []
    asked = Asked([], [], [], {}, durable, labels)
    for i, one in enumerate(_listed(found, "records")):
        try:
            record = read(one)
            key, label = _checked(record, wanted, names)
            raw = one if wanted == names and type(one) is bytes else _written(record)
            if (b"[" in raw or raw.find(b"{", 1) > 0) and _depth(record) > limits.LEVELS:
                raise _WrongError(_TOO_DEEP)
        except orjson.JSONDecodeError as error:
            asked.errors[i] = f"record {i}: {_not_json(one, error)}"
        except _WrongError as error:
            asked.errors[i] = f"record {i}: {error}"
        else:
            _add(asked, raw, key, label is not None)
            labels.append(label)
            continue
        _add(asked, None, None, False)
        labels.append(None)
    return asked


def labels_of(body: bytes, kind: str, query: Mapping[str, str], names: Names) -> Asked:
    """Return the labels of a request's body, each with the id of its record. Raises RefusedError.

    In it they are called ``id`` and ``label``, whatever they are called in records.
    """
    if kind in LINES:
        given: dict[str, Any] = dict(query)
        lines = [line for line in body.split(b"\n") if line.strip(b" \t\r")]
        found: list[Any] = lines
        read: Callable[[Any], Any] = orjson.loads
    else:
        given = _object(body, kind, "labels", ("labels", "durability"))
        found, read = given.pop("labels"), _as_it_is
    labels: list[Any] = []
    asked = Asked([], [], [], {}, _durable(given), labels)
    for i, one in enumerate(_listed(found, "labels")):
        try:
            key, label = _label(read(one))
        except orjson.JSONDecodeError as error:
            asked.errors[i] = f"label {i}: {_not_json(one, error)}"
        except _WrongError as error:
            asked.errors[i] = f"label {i}: {error}"
        else:
            _add(asked, orjson.dumps({names.id: key, names.label: label}), key, True)
            labels.append(label)
            continue
        _add(asked, None, None, False)
        labels.append(None)
    return asked


def without_label(body: bytes, names: Names) -> bytes:
    """Return a record as it is asked again, without being learned."""
    record = orjson.loads(body)
    return orjson.dumps({k: v for k, v in record.items() if k not in names})


def only_label(body: bytes, names: Names) -> bytes:
    """Return the label of a record as one that comes later."""
    record = orjson.loads(body)
    return orjson.dumps({name: record[name] for name in (names.id, names.label)})


def id_of(body: bytes, names: Names) -> tuple[Any, bool]:
    """Return the id of what a log holds, None if it has none, and whether it has a label."""
    record = orjson.loads(body)
    key = record.get(names.id)
    if type(key) is str and len(key) > limits.ID_BYTES:  # an older version took any
        key = None
    return key, _label_in(record, names.label) is not None


class _WrongError(Exception):
    """A record that cannot be taken."""


def _written(record: dict[str, Any]) -> bytes:
    """Return a record as JSON; what writes it goes down to 254 levels, and what reads it deeper."""
    try:
        return orjson.dumps(record)
    except orjson.JSONEncodeError:
        raise _WrongError(_TOO_DEEP) from None


def _depth(value: Any) -> int:
    """Return how many lists and objects are within each other, at the deepest place."""
    depth, level = 0, [value]
    while level := [one for one in level if type(one) in (dict, list)]:
        depth += 1
        level = [
            one for outer in level for one in (outer.values() if type(outer) is dict else outer)
        ]
    return depth


def _as_it_is(one: Any) -> Any:
    return one


def _add(asked: Asked, raw: bytes | None, key: Any, labelled: bool) -> None:
    asked.bodies.append(raw)
    asked.ids.append(key)
    asked.labelled.append(labelled)


def _object(body: bytes, kind: str, what: str, known: Sequence[str]) -> dict[str, Any]:
    """Return a body that is an object with a list, and nothing that nobody knows."""
    if kind != JSON:
        raise RefusedError(
            415,
            f"the content type is {kind or 'missing'}: send the header Content-Type: {JSON}, or "
            f"{LINES[0]} with a JSON object a line",
        )
    try:
        given = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        several = b"}\n{" in body
        hint = f"; for one record a line, send Content-Type: {LINES[0]}" if several else ""
        raise RefusedError(400, f"the body: {_not_json(body, error)}{hint}") from None
    example = f'{{"{what}": [{{...}}]}}'
    if not isinstance(given, dict):
        raise RefusedError(400, f"the body must be an object: write {example}")
    if unknown := set(given) - set(known):
        name = min(unknown)
        raise RefusedError(
            400, f"unknown: {show(name)[:_SHOWN]}; known are {', '.join(known)}: write {example}"
        )
    if what not in given:
        raise RefusedError(400, f"{what} are missing: write {example}")
    return given


def _listed(found: Any, what: str) -> list[Any]:
    if not isinstance(found, list):
        raise RefusedError(400, f"{what} must be a list; got {show(found)[:_SHOWN]}")
    if not 1 <= len(found) <= limits.RECORDS:
        raise RefusedError(400, f"{what} are {len(found):,}: send 1 to {limits.RECORDS:,} at once")
    return found


def _name(given: Mapping[str, Any], what: str, usual: str) -> str:
    name = given.get(what)
    if name is None:
        return usual
    if not isinstance(name, str) or not name:
        raise RefusedError(400, f"{what} must be the name of a field; got {show(name)[:_SHOWN]}")
    return name


def _durable(given: Mapping[str, Any]) -> bool:
    chosen = given.get("durability", DURABILITY[0])
    if chosen not in DURABILITY:
        one_of = " or ".join(DURABILITY)
        raise RefusedError(400, f"durability is {one_of}; got {show(chosen)[:_SHOWN]}")
    return bool(chosen == DURABILITY[0])


def _checked(record: Any, wanted: Names, names: Names) -> tuple[Any, Any]:
    """Return a record's id and its label, None without; it is renamed as the log wants it."""
    if type(record) is not dict:
        raise _WrongError(f'it is no object: write {{"field": value}}; got {show(record)[:_SHOWN]}')
    if wanted != names:
        for asked, own in zip(wanted, names, strict=True):
            if asked != own and asked in record:
                if own in record:
                    raise _WrongError(
                        f"it has {asked!r}, which the request names, and {own!r}, which the server "
                        "does: leave one out"
                    )
                record[own] = record.pop(asked)
    if "records" in record and type(record["records"]) is list:
        raise _WrongError(f"it is a request, not a record: send Content-Type: {JSON}")
    fields = len(record) - sum(name in record for name in names)
    if fields > MOST_FIELDS:
        raise _WrongError(f"it has {fields:,} fields: send at most {MOST_FIELDS:,}")
    key = record.get(names.id)
    if key is not None and type(key) not in (str, int):
        raise _WrongError(f"{names.id!r} must be text or a whole number; got {show(key)[:_SHOWN]}")
    label = _label_in(record, names.label)
    if type(key) is str and len(key) > _SHORT:
        _check_length(names.id, key, limits.ID_BYTES)
    if type(label) is str and len(label) > _SHORT:
        _check_length(names.label, label, limits.LABEL_BYTES)
    return key, label


def _label_in(record: Mapping[str, Any], name: str) -> Any:
    label = record.get(name)
    return None if type(label) is str and label in NO_LABEL else label


def _check_length(name: str, value: Any, most: int) -> None:
    """Raise _WrongError if a text has too many bytes."""
    if type(value) is str and (n := len(value.encode())) > most:
        raise _WrongError(f"{name!r} has {n:,} bytes, at most {most:,}: send a shorter one")


def _label(one: Any) -> tuple[Any, Any]:
    example = '{"id": ..., "label": ...}'
    if type(one) is not dict:
        raise _WrongError(f"it is no object: write {example}; got {show(one)[:_SHOWN]}")
    if unknown := set(one) - {"id", "label"}:
        raise _WrongError(f"unknown: {show(min(unknown))[:_SHOWN]}: write {example}")
    key, label = one.get("id"), _label_in(one, "label")
    if type(key) not in (str, int):
        said = "it is missing" if key is None else f"got {show(key)[:_SHOWN]}"
        raise _WrongError(f"'id' must be the text or the whole number of its record; {said}")
    if type(label) not in (str, int, float, bool) or (
        type(label) is float and not math.isfinite(label)
    ):
        said = "it is missing" if label is None else f"got {show(label)[:_SHOWN]}"
        raise _WrongError(f"'label' must be text, a number, true or false; {said}")
    _check_length("id", key, limits.ID_BYTES)
    _check_length("label", label, limits.LABEL_BYTES)
    return key, label


def _not_json(raw: bytes, error: orjson.JSONDecodeError) -> str:
    """Return what is wrong with bytes that are no JSON, and what to do."""
    if not raw.strip():
        return "it is empty"
    try:
        raw.decode()
    except UnicodeDecodeError as bad:
        return f"byte {bad.start + 1} is not UTF-8"
    said = str(error)
    if "depth" in said:
        return _TOO_DEEP
    if b"NaN" in raw or b"Infinity" in raw or "infinity" in said:
        return f"JSON has no NaN and no infinity: write null for what is missing ({said})"
    return f"it is not JSON: {said}"
