"""What a server answers, described for machines: OpenAPI 3.1."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stream_llsvm import limits
from stream_llsvm.serve.bodies import DURABILITY, LINES
from stream_llsvm.serve.inference import DATATYPES
from stream_llsvm.version import __version__

_OBJECT = {"type": "object"}
_KEY = {"type": ["string", "integer"]}
_LABEL = {"type": ["string", "number", "boolean"]}
_ERRORS = {
    "400": "the body is not what it must be",
    "401": "the token is missing or wrong",
    "403": "the token may not do that",
    "404": "there is no such model",
    "408": "the body came too slowly",
    "413": "the body is too long",
    "415": "the content type is not known",
    "422": "nothing of it could be used",
    "429": "too much at once: send it again after Retry-After seconds",
    "503": "the model has stopped, or did not answer in time",
    "507": "the disk is full",
}


def _listed(of: dict[str, Any], what: str, **more: Any) -> dict[str, Any]:
    """Return the schema of a body with a list."""
    items = {"type": "array", "items": of, "minItems": 1, "maxItems": limits.RECORDS}
    durability = {"type": "string", "enum": list(DURABILITY)}
    return {
        "type": "object",
        "properties": {what: items, **more, "durability": durability},
        "required": [what],
        "additionalProperties": False,
    }


_RECORDS = _listed(
    _OBJECT,
    "records",
    label={"type": "string", "minLength": 1},
    id={"type": "string", "minLength": 1},
)
_LABELS = _listed(
    {
        "type": "object",
        "properties": {"id": _KEY, "label": _LABEL},
        "required": ["id", "label"],
        "additionalProperties": False,
    },
    "labels",
)
_EXPLAIN = {
    "type": "object",
    "properties": {"record": _OBJECT, "label": {}},
    "required": ["record"],
    "additionalProperties": False,
}
_TENSOR = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "shape": {"type": "array", "items": {"type": "integer"}, "minItems": 1, "maxItems": 2},
        "datatype": {"type": "string", "enum": list(DATATYPES)},
        "data": {"type": "array"},
        "parameters": _OBJECT,
    },
    "required": ["name", "shape", "datatype", "data"],
}
_INFER = {
    "type": "object",
    "properties": {
        "id": {"type": ["string", "integer", "null"]},
        "inputs": {"type": "array", "items": _TENSOR, "minItems": 1},
    },
    "required": ["inputs"],
}


def described(models: Sequence[str]) -> dict[str, Any]:
    """Return the description of a server with these models.

    Examples
    --------
    >>> sorted(described(["default"])["paths"])[:2]
    ['/healthz', '/readyz']

    """
    posts = {
        "records": _post("Predict records; learn those with a label", _RECORDS, lines=True),
        "labels": _post("Learn labels that come later, by id", _LABELS, lines=True),
        "explain": _post("Say why a record is answered as it is", _EXPLAIN),
        "checkpoint": _post("Write a checkpoint now"),
    }
    paths: dict[str, Any] = {f"/v1/{name}": {"post": one} for name, one in posts.items()}
    paths |= {
        f"/v1/models/{{name}}/{name}": _named({"post": one}, models) for name, one in posts.items()
    }
    for path, summary in {
        "/v1/models": "How the models are doing",
        "/healthz": "Whether all is well: if not, start it anew",
        "/readyz": "Whether all models can answer now: if not, wait",
        "/v2": "The Open Inference Protocol: the server",
        "/v2/health/live": "Whether the server is there",
        "/v2/health/ready": "Whether the server is ready",
    }.items():
        paths[path] = {"get": _get(summary)}
    for path, summary in {
        "/v1/models/{name}": "How a model is doing",
        "/v2/models/{name}": "A model's inputs and outputs",
        "/v2/models/{name}/ready": "Whether a model is ready",
    }.items():
        paths[path] = _named({"get": _get(summary)}, models)
    infer = {"post": _post("Predict tensors; nothing is learned", _INFER)}
    paths["/v2/models/{name}/infer"] = _named(infer, models)
    return {
        "openapi": "3.1.0",
        "info": {"title": "stream_llsvm", "version": __version__},
        "paths": paths,
        "components": {"securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
        "security": [{}, {"token": []}],
    }


def _answers(more: dict[str, str]) -> dict[str, Any]:
    content = {"application/json": {"schema": _OBJECT}}
    return {code: {"description": text, "content": content} for code, text in more.items()}


def _get(summary: str) -> dict[str, Any]:
    errors = {code: _ERRORS[code] for code in ("401", "403", "404", "503")}
    return {"summary": summary, "responses": _answers({"200": "well"} | errors)}


def _post(
    summary: str, body: dict[str, Any] | None = None, *, lines: bool = False
) -> dict[str, Any]:
    said: dict[str, Any] = {
        "summary": summary,
        "responses": _answers({"200": "all, or some, was taken", **_ERRORS}),
    }
    if body is not None:
        content: dict[str, Any] = {"application/json": {"schema": body}}
        if lines:
            content[LINES[0]] = {"schema": {"type": "string"}}
        said["requestBody"] = {"required": True, "content": content}
    return said


def _named(said: dict[str, Any], models: Sequence[str]) -> dict[str, Any]:
    name = {"type": "string", "enum": list(models)}
    return {
        **said,
        "parameters": [{"name": "name", "in": "path", "required": True, "schema": name}],
    }
