"""The Open Inference Protocol, and the description of all addresses, which is true to them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.cli.support import wait_for
from tests.serve.support import Served, record, records, serving


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("served")
    with Served(folder, "--label", "y", "--model", "llsvm") as one:
        early = one.http.post("/v2/models/default/infer", json={"inputs": [tensor("a", [1.0])]})
        assert early.status_code == 503
        assert "nothing has been learned yet" in early.json()["error"]
        one.post("/v1/records", records(0, 300))
        yield one


def test_who_is_ready_is_told_without_a_token(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STREAM_LLSVM_TOKEN", "correct horse battery")
    flags = ("--label", "y", "--model", "a=llsvm", "--model", "b=llsvm", "--ready-lag", "1000")
    with Served(tmp_path, *flags) as one:
        seen = list[Any]()

        def ready() -> bool:
            answer = one.http.get("/readyz")
            seen.append(answer.json())
            assert seen[-1]["ready"] == (answer.status_code == 200) == (not seen[-1]["not_ready"])
            return answer.status_code == 200

        wait_for(ready)
        assert seen[-1] == {"ready": True, "not_ready": {}}
        assert one.get("/healthz")["ok"]
        assert one.get("/v2/health/ready") == seen[-1]
        assert one.http.get("/v1/models").status_code == 401


def tensor(name: str, data: list[Any], kind: str = "FP64", **more: Any) -> dict[str, Any]:
    return {"name": name, "shape": [len(data)], "datatype": kind, "data": data} | more


def test_tensors_are_predicted_as_records_are(served: Served) -> None:
    before = served.learned()
    assert served.get("/v2")["name"] == "stream_llsvm"
    assert served.get("/v2/health/live") == {"live": True}
    wait_for(lambda: served.http.get("/v2/health/ready").status_code == 200)
    assert served.get("/v2/models/default/ready")["ready"]
    told = served.get("/v2/models/default")
    assert [one["name"] for one in told["inputs"]] == ["a", "b"]
    some = [record(i, label=False) for i in range(1_000, 1_020)]
    a, b = [one["a"] for one in some], [one["b"] for one in some]
    plain = served.post("/v1/records", {"records": [{"a": x, "b": z} for x, z in zip(a, b)]})  # noqa: B905
    expected = [one["prediction"] for one in plain["predictions"]]
    pairs = [[x, z] for x, z in zip(a, b, strict=True)]
    matrix = {"name": "x", "shape": [20, 2], "datatype": "FP32"}
    turned = [[z, x] for x, z in pairs]
    for inputs in (
        [tensor("a", a), tensor("b", b)],
        [matrix | {"data": pairs}],
        [matrix | {"data": [value for pair in pairs for value in pair]}],
        [matrix | {"data": turned, "parameters": {"names": ["b", "a"]}}],
    ):
        answer = served.post("/v2/models/default/infer", {"id": "7", "inputs": inputs})
        assert (answer["id"], answer["model_name"]) == ("7", "default")
        labels, sure = answer["outputs"]
        assert (labels["name"], labels["datatype"], labels["shape"]) == (
            "prediction",
            "BYTES",
            [20],
        )
        assert labels["data"] == expected
        assert sure["data"] == pytest.approx([p["probability"] for p in plain["predictions"]])
    names = tensor("c", ["red", "blue"], "BYTES")
    assert served.post("/v2/models/default/infer", {"inputs": [names]})["outputs"]
    assert served.learned() == before


@pytest.mark.parametrize(
    ("one", "why"),
    [
        (5, "input 0 must have name, shape, datatype and data"),
        (tensor("a", [1.0]) | {"shape": [2]}, "1 values do not fit the shape [2]"),
        (tensor("a", [1.0]) | {"shape": [-1]}, "the shape must be [rows] or [rows, columns]"),
        (tensor("a", [1.0], "FP8"), "'FP8' is none of FP64, FP32"),
        (tensor("a", ["1"]), "'1' is no FP64"),
        (tensor("a", [1], "BYTES"), "1 is no BYTES"),
        (tensor("y", [1.0]), "are no inputs: leave them out"),
        (tensor("a", []), "the same 1 to 10,000 rows"),
        (tensor("a", [1.0] * 5) | {"shape": [1, 5]}, "has 5 columns, and"),
    ],
)
def test_a_wrong_tensor_is_refused_in_words(served: Served, one: Any, why: str) -> None:
    assert why in served.post("/v2/models/default/infer", {"inputs": [one]}, 400)["error"]


def example(schema: dict[str, Any]) -> Any:
    """Return the least that a schema allows."""
    if "enum" in schema:
        return schema["enum"][0]
    kind = schema.get("type", "string")
    kind = kind[0] if isinstance(kind, list) else kind
    if kind == "object":
        needed, known = schema.get("required", ()), schema.get("properties", {})
        return {name: example(known[name]) for name in needed}
    if kind == "array":
        return [example(schema.get("items", {"type": "number"}))] * schema.get("minItems", 1)
    return {"string": "a", "integer": 1, "number": 1.0, "boolean": True}[kind]


def test_the_description_is_true(served: Served) -> None:
    description = served.get("/openapi.json")
    assert description["openapi"].startswith("3.1")
    asked = 0
    for path, methods in description["paths"].items():
        for method, said in methods.items():
            if method == "parameters":
                continue
            names = methods.get("parameters", [])
            assert bool(names) == ("{name}" in path)
            where = path.replace("{name}", names[0]["schema"]["enum"][0] if names else "")
            content = said.get("requestBody", {}).get("content", {})
            schema = content.get("application/json", {}).get("schema")
            body = None if schema is None else example(schema)
            answer = served.http.request(method.upper(), where, json=body)
            assert str(answer.status_code) in said["responses"], (path, answer.text)
            assert answer.status_code == 200, (path, answer.text)
            assert isinstance(answer.json(), dict)
            if schema is not None:  # what it forbids is refused, by a status that it names
                wrong = served.http.post(where, json={"nobody knows this": 1})
                assert 400 <= wrong.status_code < 500
                assert str(wrong.status_code) in said["responses"]
                assert wrong.json()["error"]
            other = served.http.request("DELETE", where)
            assert other.status_code == 405 or path in ("/healthz", "/readyz")
            asked += 1
    assert asked == 18


def test_inputs_are_told_by_the_types_they_come_in(tmp_path: Path) -> None:
    some = {"a": 1.5, "city": "Oslo", "at": "2026-11-20T10:00:00", "said": "go home at once"}
    with serving(tmp_path) as server:
        address = server.address.rstrip("/")
        records = {"records": [some | {"y": "up"}, some | {"a": None}]}
        httpx.post(f"{address}/v1/records", json=records, timeout=400).raise_for_status()
        told = httpx.get(f"{address}/v2/models/default").json()["inputs"]
        kinds = {one["name"]: one["datatype"] for one in told}
        assert kinds == {"a": "FP64", "city": "BYTES", "at": "BYTES", "said": "BYTES"}
        inputs = [tensor(name, [some[name]], kind) for name, kind in kinds.items()]
        infer = f"{address}/v2/models/default/infer"
        assert httpx.post(infer, json={"inputs": inputs}, timeout=400).status_code == 200
