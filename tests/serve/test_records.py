"""What a server answers: predictions, labels, explanations, the page; and what it refuses."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from stream_llsvm import CommitteeClassifier
from tests.cli.support import wait_for
from tests.serve.support import JSON, LINES, Served, calm_model, record, records, served_model


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with Served(tmp_path_factory.mktemp("served"), "--label", "y") as one:
        assert one.post("/v1/records", records(0, 500))["learned"] == 500
        yield one


def test_a_record_is_predicted_before_it_is_learned(tmp_path: Path) -> None:
    with Served(tmp_path, "--label", "y") as one:
        first = one.post("/v1/records", records(0, 1))
        assert first["predictions"] == [{"prediction": None, "probability": None}]
        again = one.post("/v1/records", records(1, 300))
        assert again["learned"] == 300
        later = one.post("/v1/records", records(5_000, 100, label=False))
        right = sum(
            told["prediction"] == record(5_000 + i)["y"]
            for i, told in enumerate(later["predictions"])
        )
        assert right > 70
        assert all(0.5 <= told["probability"] <= 1 for told in later["predictions"])
        assert (later["learned"], later["rejected"], later["duplicates"]) == (0, 0, 0)
        one.stop()
    assert served_model(tmp_path / "default") == calm_model(
        tmp_path / "default", CommitteeClassifier()
    )


def test_labels_that_come_later_are_learned(served: Served) -> None:
    before = served.learned()
    served.post("/v1/records", records(10_000, 10, label=False))
    labels = [{"id": f"r{i}", "label": "up"} for i in range(10_000, 10_010)]
    told = served.post("/v1/labels", {"labels": labels})
    assert told == {"model": "default", "taken": 10, "duplicates": 0, "rejected": 0, "errors": []}
    assert served.post("/v1/labels", {"labels": labels})["duplicates"] == 10
    wait_for(lambda: served.learned() == before + 10)
    assert served.post("/v1/records", records(10_000, 10))["duplicates"] == 10
    assert served.learned() == before + 10
    served.post("/v1/records", records(10_100, 5, label=False))
    again = served.post("/v1/records", records(10_100, 5))  # the same, with the labels by now
    assert (again["duplicates"], again["learned"]) == (5, 5)
    wait_for(lambda: served.learned() == before + 15)


def test_a_record_that_is_sent_again_has_its_first_answer(served: Served) -> None:
    before = served.learned()
    first = served.post("/v1/records", records(11_000, 20))
    again = served.post("/v1/records", records(10_990, 40))
    assert again["predictions"][10:30] == first["predictions"]
    assert (first["learned"], again["learned"], again["duplicates"]) == (20, 20, 20)
    twice = served.post("/v1/records", {"records": [record(12_000)] * 3})
    assert (twice["learned"], twice["duplicates"]) == (1, 2)
    assert twice["predictions"][0] == twice["predictions"][1] == twice["predictions"][2]
    wait_for(lambda: served.learned() == before + 41)


def test_what_is_called_otherwise_in_a_request_is_the_same(served: Served) -> None:
    body = {
        "records": [{"a": 1.0, "b": 1.0, "who": 7, "truth": "up"}],
        "label": "truth",
        "id": "who",
    }
    assert served.post("/v1/records", body)["learned"] == 1
    assert served.post("/v1/records", body)["duplicates"] == 1
    again = {"records": [{"a": 1.0, "b": 1.0, "id": 7, "y": "up"}]}
    assert served.post("/v1/records", again)["duplicates"] == 1
    both = {"records": [{"a": 1.0, "y": "up", "truth": "up"}], "label": "truth"}
    assert "leave one out" in served.post("/v1/records", both, 422)["error"]


def test_lines_are_records(served: Served) -> None:
    lines = b'{"a": 1, "b": 2, "id": "l1", "y": "up"}\n\n{"a": 1, "b"\n{"a": "?", "id": 5}\n'
    answer = served.http.post("/v1/records", content=lines, headers=LINES)
    told = answer.json()
    assert answer.status_code == 200
    assert (told["learned"], told["rejected"], len(told["predictions"])) == (1, 1, 3)
    assert told["predictions"][1]["error"].startswith("record 1: it is not JSON: ")
    named = served.http.post(
        "/v1/records?label=truth&durability=memory",
        content=b'{"a": 1, "b": 2, "truth": "up"}',
        headers=LINES,
    )
    assert named.json()["learned"] == 1
    wrong = served.http.post("/v1/records", content=b'{"records": [{"a": 1}]}', headers=LINES)
    assert wrong.status_code == 422
    assert "it is a request, not a record: send Content-Type: application/json" in wrong.text


def test_one_bad_record_is_rejected_alone(served: Served) -> None:
    wide = record(13_002) | {f"k{i}": i for i in range(10_001)}
    wrong = [5, {"a": 1, "id": 1.5}, {"a": 1, "y": {}}, wide]
    told = served.post("/v1/records", {"records": [record(13_000), *wrong, record(13_001)]})
    assert (told["learned"], told["rejected"]) == (2, 4)
    errors = [one.get("error") for one in told["predictions"]]
    assert errors[0] is errors[5] is None
    assert errors[1:5] == [
        'record 1: it is no object: write {"field": value}; got 5',
        "record 2: 'id' must be text or a whole number; got 1.5",
        "record 3: odd label: 'label': {}",
        f"record 4: it has {10_001 + len(record(0)) - 2:,} fields: send at most 10,000",
    ]


DEEP = b'{"records": [{"a": ' + b"[" * 2_000 + b"]" * 2_000 + b"}]}"


@pytest.mark.parametrize(
    ("body", "status", "why"),
    [
        (b"", 400, "the body: it is empty"),
        (b"{", 400, "the body: it is not JSON"),
        (b'{"a": 1}\n{"a": 2}\n', 400, "send Content-Type: application/x-ndjson"),
        (b'\xff{"records": []}', 400, "the body: byte 1 is not UTF-8"),
        (b'{"records": [{"a": NaN}]}', 400, "write null for what is missing"),
        (b'{"records": [{"a": 1e999}]}', 400, "write null for what is missing"),
        (DEEP, 400, "it is nested too deeply"),
        (b"[1]", 400, "the body must be an object"),
        (b"{}", 400, "records are missing: write"),
        (b'{"records": {}}', 400, "records must be a list; got {}"),
        (b'{"records": []}', 400, "records are 0: send 1 to 10,000 at once"),
        (b'{"records": [1]}', 422, "record 0: it is no object"),
        (b'{"records": [{}], "lable": "y"}', 400, "unknown: 'lable'; known are records, label"),
        (b'{"records": [{}], "label": 3}', 400, "label must be the name of a field; got 3"),
        (b'{"records": [{}], "durability": "disc"}', 400, "durability is disk or memory"),
        (b'{"records": [{"id": [1]}]}', 422, "record 0: 'id' must be text or a whole number"),
        (b'{"records": [{"a": 1, "id": 36893488147419103232}]}', 422, "text or a whole number"),
    ],
)
def test_a_wrong_body_is_refused_in_words(
    served: Served, body: bytes, status: int, why: str
) -> None:
    answer = served.http.post("/v1/records", content=body, headers=JSON)
    assert answer.status_code == status, answer.text
    assert why in answer.json()["error"]


@pytest.mark.parametrize(
    ("label", "why"),
    [
        (5, "label 0: it is no object"),
        ({"id": "x"}, "'label' must be text, a number, true or false; it is missing"),
        ({"label": 1}, "'id' must be the text or the whole number of its record; it is missing"),
        ({"id": "x", "label": [1]}, "'label' must be text"),
        ({"id": "x", "label": 1, "y": 1}, "unknown: 'y': write"),
    ],
)
def test_a_wrong_label_is_refused_in_words(served: Served, label: Any, why: str) -> None:
    assert why in served.post("/v1/labels", {"labels": [label]}, 422)["error"]


@pytest.mark.parametrize(
    ("method", "path", "status", "why"),
    [
        ("POST", "/v1/models/nobody/records", 404, "no model 'nobody'; there are default"),
        ("GET", "/v1/models/nobody", 404, "no model 'nobody'"),
        ("POST", "/v1/nothing", 404, "there is no /v1/nothing; there are /v1/records"),
        ("GET", "/v1/records", 405, "/v1/records takes POST, not GET"),
        ("DELETE", "/v1/models/default", 405, "takes GET, not DELETE"),
    ],
)
def test_a_wrong_address_is_refused_in_words(
    served: Served, method: str, path: str, status: int, why: str
) -> None:
    answer = served.http.request(method, path, json={"records": [{}]} if method == "POST" else None)
    assert (answer.status_code, why in answer.json()["error"]) == (status, True), answer.text


def test_a_form_is_refused(served: Served) -> None:
    answer = served.http.post("/v1/records", data={"a": "1"})
    assert answer.status_code == 400
    assert "it is not JSON" in answer.json()["error"]
    text = {"content-type": "text/plain"}
    answer = served.http.post("/v1/records", content=b'{"records": [{}]}', headers=text)
    assert answer.status_code == 415
    wanted = "send the header Content-Type: application/json, or application/x-ndjson"
    assert wanted in answer.json()["error"]


def test_a_body_that_is_too_long_is_refused(served: Served) -> None:
    for content in (bytes(8_000_001), iter([bytes(4_000_000)] * 3)):
        answer = served.http.post("/v1/records", content=content, headers=JSON)
        assert answer.status_code == 413
        assert "send fewer at once" in answer.json()["error"]


def test_a_name_of_elsewhere_is_refused(served: Served) -> None:
    for path in ("/v1/models", "/", "/api/snapshot"):
        answer = served.http.get(path, headers={"host": "evil.example"})
        assert answer.status_code == 403


def test_models_say_how_they_are(served: Served) -> None:
    wait_for(lambda: served.get("/v1/models/default")["state"] == "running")
    (one,) = served.get("/v1/models")["models"]
    assert one == served.get("/v1/models/default")
    assert (one["name"], one["class"], one["state"]) == (
        "default",
        "CommitteeClassifier",
        "running",
    )
    assert one["log"]["synced"] <= one["log"]["end"]
    assert served.get("/healthz")["ok"]
    assert "stream_llsvm_records_total" in served.http.get("/metrics").text
    assert "<html" in served.http.get("/").text
    assert served.http.get("/models/default/").text == served.http.get("/").text
    assert served.http.get("/static/app.js").status_code == 200
    assert served.http.get("/models/default/static/app.js").status_code == 200
    # The page's numbers come once a second, so a run that has just begun may show none yet.
    wait_for(
        lambda: served.http.get("/models/default/api/snapshot").json()["status"]["records"] > 0
    )


def test_why_is_said(served: Served) -> None:
    told = served.post("/v1/explain", {"record": {"a": 1.0, "b": 1.0}})
    assert told["label"] in ("up", "down")
    assert {name for name, _ in told["contributions"]} <= {"a", "b"}
    named = served.post("/v1/models/default/explain", {"record": {"a": 1.0, "b": 1.0}})
    assert named["label"] == told["label"]
    wrong = served.http.post("/v1/explain", json={"records": []})
    assert wrong.status_code == 400


def test_a_checkpoint_is_written_when_it_is_asked_for(served: Served) -> None:
    served.post("/v1/records", records(20_000, 5))
    told = served.post("/v1/checkpoint", None)
    path = served.folder / "default" / "checkpoints" / told["file"]
    assert path.is_file()
    assert told["records"] == served.get("/v1/models/default")["counts"]["records"]


def test_slow_and_broken_requests_hold_nobody_up(served: Served) -> None:
    port = httpx.URL(served.address).port
    assert port is not None
    slow = [socket.create_connection(("127.0.0.1", port)) for _ in range(50)]
    for i, one in enumerate(slow):
        one.sendall(
            b"POST /v1/records HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n"[: 20 + i]
        )
    endless = socket.create_connection(("127.0.0.1", port))
    endless.settimeout(30)
    with pytest.raises(OSError, match=r"reset|Broken"):
        endless.sendall(b"GET / HTTP/1.1\r\n")
        while True:
            endless.sendall(b"X-A: " + b"a" * 1_000 + b"\r\n")
    assert served.post("/v1/records", records(30_000, 5))["learned"] == 5
    for one in (*slow, endless):
        one.close()


def test_many_at_once_are_all_answered(served: Served) -> None:
    async def all_of_them() -> list[httpx.Response]:
        async with httpx.AsyncClient(base_url=served.address, timeout=60) as http:
            asked = [http.post("/v1/records", json=records(40_000 + i, 1)) for i in range(200)]
            return await asyncio.gather(*asked)

    answers = asyncio.run(all_of_them())
    assert all(one.status_code == 200 and one.json()["learned"] == 1 for one in answers)


def test_a_label_that_reads_nan_is_none(served: Served) -> None:
    before = served.learned()
    told = served.post("/v1/records", {"records": [record(35_000) | {"y": "NaN"}]})
    assert (told["learned"], told["rejected"]) == (0, 0)
    key = record(35_000)["id"]
    wrong = served.post("/v1/labels", {"labels": [{"id": key, "label": "nan"}]}, 422)
    assert wrong["rejected"] == 1 and "it is missing" in wrong["errors"][0]["error"]
    served.post("/v1/labels", {"labels": [{"id": key, "label": "up"}]})
    wait_for(lambda: served.learned() == before + 1)
