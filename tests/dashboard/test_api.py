"""Asking the model: any body gets an answer, and none disturbs the run."""

from __future__ import annotations

import json
import math
import socket
import time
from typing import Any
from urllib.parse import urlsplit

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from river import naive_bayes, preprocessing

from stream_llsvm import CommitteeClassifier, SAPLClassifier
from tests.dashboard.live import Live, live, rows, wait_for
from tests.learners.support import everything

JSON = {"Content-Type": "application/json"}


@pytest.fixture(scope="module")
def run() -> Any:
    with live(rows(300, classes=3), CommitteeClassifier()) as running:
        running.until(lambda frame: frame["status"]["records"] == 300 and frame["model"])
        yield running


def test_predictions_are_those_of_the_model(run: Live) -> None:
    records: list[dict[str, float | None]] = [
        {"x": 1.0, "y": 2.0},
        {"x": -1.0, "y": 0.5},
        {"x": 0.3, "y": None},
        {},
    ]
    told = run.post("/api/predict", {"records": records}).json()
    assert told["records_learned"] == 300
    for record, one in zip(records, told["predictions"], strict=True):
        known: dict[Any, Any] = {k: v for k, v in record.items() if v is not None}
        proba = run.engine.model.predict_proba_one(known)
        assert one["proba"] == pytest.approx(proba)
        assert one["label"] == max(proba, key=proba.__getitem__)


def test_values_are_read_as_a_source_reads_them(run: Live) -> None:
    alike: list[Any] = [
        {"x": 1.0, "y": 0.0},
        {"x": "1.0", "y": False},
        {"x": " 1", "y": "0", "z": "?", "w": []},
    ]
    told = run.post("/api/predict", {"records": alike}).json()["predictions"]
    assert told[0]["proba"] == told[1]["proba"] == told[2]["proba"]
    assert told[2]["known_features"] == 2 and told[2]["unknown_features"] == []


def test_an_answer_says_what_of_the_record_the_model_knows(run: Live) -> None:
    """A typo in a client must not look like a confident answer, and nothing is warned of here."""
    many = {f"n{i}": 1.0 for i in range(90)}
    records = [{"x": 1.0, "y": 2.0}, {"foo": 1.5, "x": 1.0}, {"foo": 1.5}, {}, many]
    told = run.post("/api/predict", {"records": records}).json()["predictions"]
    assert [one["known_features"] for one in told] == [2, 1, 0, 0, 0]
    assert [one["unknown_features"] for one in told[:4]] == [[], ["foo"], ["foo"], []]
    assert told[4]["unknown_features"] == [f"n{i}" for i in range(20)]


def test_asking_teaches_nothing(run: Live) -> None:
    before = everything(run.engine.model)
    for _ in range(20):
        run.post("/api/predict", {"records": [{"x": 5.0, "new": 1.0}] * 50})
        run.post("/api/explain", {"record": {"x": 5.0, "new": 1.0}})
    assert everything(run.engine.model) == before


def test_an_explanation_adds_up_and_looks_like_those_of_the_page(run: Live) -> None:
    why = run.post("/api/explain", {"record": {"x": 1.0, "y": 2.0}}).json()
    parts = why["bias"] + why["memory"] + why["rest"] + sum(p for _, p in why["contributions"])
    assert parts == pytest.approx(why["score"], abs=1e-3)
    assert sum(why["members"].values()) == pytest.approx(why["score"], abs=1e-3)
    assert set(why) == set(run.snapshot()["model"]["whys"][0])
    assert why["label"] == max(told(run, {"x": 1.0, "y": 2.0}).items(), key=lambda kv: kv[1])[0]


def told(run: Live, record: dict[str, float]) -> dict[str, float]:
    proba: dict[str, float] = run.post("/api/predict", {"records": [record]}).json()["predictions"][
        0
    ]["proba"]
    return proba


def test_any_label_that_was_seen_can_be_explained(run: Live) -> None:
    record = {"x": 1.0, "y": 2.0}
    for label, sure in told(run, record).items():
        why = run.post("/api/explain", {"record": record, "label": label}).json()
        assert why["label"] == label
        assert why["sure"] == pytest.approx(sure, abs=1e-3)
    answer = run.post("/api/explain", {"record": record, "label": "never"})
    assert (answer.status_code, answer.json()) == (
        400,
        {"error": "the label never has not been seen"},
    )


@pytest.mark.parametrize(
    ("body", "status", "why"),
    [
        (b"", 400, "not JSON"),
        (b"{", 400, "not JSON"),
        (b"\xff\xfe", 400, "not JSON"),
        (b"[]", 400, "must be a JSON object"),
        (b"null", 400, "must be a JSON object"),
        (b"{}", 400, "1 to 1,000"),
        (b'{"records": []}', 400, "1 to 1,000"),
        (b'{"records": {}}', 400, "1 to 1,000"),
        (b'{"records": [1]}', 400, "record 1: a record must be"),
        (
            b'{"records": [{"x": 1}, {"x": [1.5]}]}',
            400,
            "record 2: feature 'x' has the value [1.5]",
        ),
        (b'{"records": [{"x": "1e999"}]}', 400, "record 1: feature 'x' has the value '1e999'"),
        (b'{"records": [{"x": NaN}]}', 400, "not JSON"),
        (b'{"records": [{"x": 1e999}]}', 400, ""),
        (b'{"records": [{}], "more": 1}', 400, "unknown: more"),
        (b'{"records": [' + b"{}," * 1000 + b"{}]}", 400, "1 to 1,000"),
        (b"[" * 200_000, 400, "not JSON"),
        (b" " * 8_000_001, 413, "8,000,001 bytes, and at most 8,000,000"),
    ],
)
def test_what_is_wrong_is_said_in_a_line(run: Live, body: bytes, status: int, why: str) -> None:
    answer = run.client.post("/api/predict", content=body, headers=JSON)
    assert answer.status_code == status
    assert why in answer.json()["error"]
    assert "\n" not in answer.json()["error"]


@pytest.mark.parametrize("kind", ["text/plain", "multipart/form-data", "", "json"])
def test_only_json_is_taken(run: Live, kind: str) -> None:
    answer = run.client.post("/api/predict", content=b"{}", headers={"Content-Type": kind})
    assert answer.status_code == 415
    assert answer.json()["error"] == "send the header Content-Type: application/json"


@pytest.mark.parametrize("browser", [{}, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"}])
def test_what_curl_sends_is_json_unless_a_browser_sends_it(
    run: Live, browser: dict[str, str]
) -> None:
    headers = {"Content-Type": "application/x-www-form-urlencoded", **browser}
    answer = run.client.post("/api/predict", content=b'{"records": [{"x": 1}]}', headers=headers)
    assert answer.status_code == (415 if browser else 200)


@pytest.mark.parametrize("path", ["/api/predict", "/api/explain"])
def test_questions_are_posted(run: Live, path: str) -> None:
    assert run.get(path).status_code == 405
    assert run.client.post("/metrics").status_code == 405
    assert run.client.delete(path).status_code == 405


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip
names = st.sampled_from(["x", "y", "", "new", "\u2028", "x" * 500])
records = st.dictionaries(names, values, max_size=4)
bodies = st.one_of(
    values,
    st.fixed_dictionaries({"records": st.lists(records | values, max_size=3) | values}),
    st.fixed_dictionaries({"record": records | values}, optional={"label": values}),
)


@given(bodies, st.sampled_from(["/api/predict", "/api/explain"]))
@settings(max_examples=150)
def test_any_json_is_answered(run: Live, body: Any, path: str) -> None:
    answer = run.client.post(path, content=json.dumps(body), headers=JSON)
    assert answer.status_code in (200, 400)
    assert answer.status_code == 200 or set(answer.json()) == {"error"}
    for one in answer.json().get("predictions", ()):
        assert all(math.isfinite(p) for p in one["proba"].values())


@given(st.binary(max_size=200), st.sampled_from(["/api/predict", "/api/explain"]))
@settings(max_examples=50)
def test_any_bytes_are_answered(run: Live, body: bytes, path: str) -> None:
    assert run.client.post(path, content=body, headers=JSON).status_code == 400


def test_numbers_of_any_size_are_answered(run: Live) -> None:
    for size in (1e-320, 1e300, -1e308, 2**62, -(2**63)):
        answer = run.post("/api/predict", {"records": [{"x": size, "y": size}]})
        assert answer.status_code == 200
        assert run.post("/api/explain", {"record": {"x": size}}).status_code == 200


def raw(run: Live, head: bytes, *parts: bytes, pause: float = 0.0) -> bytes:
    """Send bytes piece by piece; return all that comes back."""
    where = urlsplit(run.page.address)
    with socket.create_connection((where.hostname or "", where.port or 0), timeout=60) as client:
        client.sendall(head)
        try:
            for part in parts:
                client.sendall(part)
                time.sleep(pause)
        except OSError:
            pass  # it hung up on us
        got = b""
        try:
            while part := client.recv(65_536):
                got += part
        except OSError:
            pass
        return got


HEAD = b"POST /api/predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


def test_a_long_body_is_cut_off_whatever_it_says_of_its_length(run: Live) -> None:
    chunk = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
    told = raw(run, HEAD + b"Transfer-Encoding: chunked\r\n\r\n", *[chunk] * 200)
    assert told == b"" or b" 413 " in told.splitlines()[0]
    told = raw(run, HEAD + b"Content-Length: 99999999\r\n\r\n")
    assert b" 413 " in told.splitlines()[0]


def test_as_many_records_as_are_allowed_fit_into_a_body(run: Live) -> None:
    record = {f"a_rather_long_feature_name_{i}": 0.1 + 0.2 * i for i in range(120)}
    for n in (300, 1_000):
        answer = run.post("/api/predict", {"records": [record] * n})
        assert answer.status_code == 200, answer.text
        assert len(answer.json()["predictions"]) == n


def test_what_all_bodies_hold_together_is_bounded(
    run: Live, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stream_llsvm.dashboard.questions.BODIES", 100_000)
    where = urlsplit(run.page.address)

    def refused_beside_another() -> bool:
        address = where.hostname or "", where.port or 0
        with socket.create_connection(address, timeout=60) as client:
            client.sendall(HEAD + b"Content-Length: 90001\r\n\r\n" + b" " * 90_000)
            refused = run.post("/api/predict", " " * 20_000).status_code == 503
            # What is small is still answered.
            assert run.post("/api/predict", {"records": [{"x": 1.0}]}).status_code == 200
        return refused

    wait_for(refused_beside_another)  # whichever comes second is refused: it may be the other
    wait_for(lambda: run.post("/api/predict", " " * 20_000).status_code == 400)


def test_a_body_that_never_comes_is_not_waited_for(
    run: Live, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stream_llsvm.dashboard.questions.SLOW", 0.3)
    told = raw(run, HEAD + b"Content-Length: 100\r\n\r\n", b"{")
    assert b" 408 " in told.splitlines()[0]
    told = raw(run, HEAD + b"Content-Length: 100\r\n\r\n", *[b" "] * 20, pause=0.05)
    assert b" 408 " in told.splitlines()[0]


def test_a_request_that_never_comes_is_hung_up_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stream_llsvm.dashboard.server._REQUEST_TIMEOUT", 0.3)
    with live() as running:
        assert raw(running, b"") == b""
        assert raw(running, b"GET /healthz HTTP/1.1\r\nHost: local") == b""


def test_nothing_learned_is_said() -> None:
    with live() as running:
        for path, body in (("/api/predict", {"records": [{}]}), ("/api/explain", {"record": {}})):
            answer = running.post(path, body)
            assert (answer.status_code, answer.json()["error"]) == (
                409,
                "nothing has been learned yet",
            )


def test_other_models_of_river_predict_and_cannot_explain() -> None:
    with live(rows(100), naive_bayes.GaussianNB()) as running:
        running.until(lambda frame: frame["status"]["records"] == 100)
        told = running.post("/api/predict", {"records": [{"x": 1.0, "y": 1.0}]}).json()
        expected = running.engine.model.predict_proba_one({"x": 1.0, "y": 1.0})
        assert told["predictions"][0]["proba"] == pytest.approx(expected)
        answer = running.post("/api/explain", {"record": {"x": 1.0}})
        assert answer.status_code == 400
        assert "GaussianNB cannot say why" in answer.json()["error"]
        assert running.until(lambda frame: frame["model"])["model"]["mixture"] == []


def test_a_pipeline_is_shown_by_the_model_at_its_end() -> None:
    model: Any = preprocessing.StandardScaler() | SAPLClassifier(n_anchors=10)
    with live(rows(100), model) as running:
        frame = running.until(lambda frame: frame["status"]["records"] == 100)
        assert frame["status"]["model"] == "SAPLClassifier"
        told = running.post("/api/predict", {"records": [{"x": 1.0, "y": 1.0}]}).json()
        expected = running.engine.model.predict_proba_one({"x": 1.0, "y": 1.0})
        assert told["predictions"][0]["proba"] == pytest.approx(expected)
        answer = running.post("/api/explain", {"record": {"x": 1.0}})
        assert answer.status_code == 400
        assert "cannot say why" in answer.json()["error"]
