"""The client: batches, retries with the same ids, labels, and what the server refuses."""

from __future__ import annotations

import contextlib
import ssl
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from itertools import islice
from pathlib import Path

import httpx
import pytest

from stream_llsvm.client import Client, ServerError
from tests.cli.support import wait_for
from tests.serve.support import Served, certificate, record

FLAGS = ("--label", "y", "--model", "llsvm")


def explained(client: Client) -> str | None:
    """Return the label that is explained; None while there is no copy of the model to ask."""
    try:
        return str(client.explain({"a": 1.0, "b": 1.0})["label"])
    except ServerError:
        return None


def test_large_inputs_are_sent_in_batches_and_once(tmp_path: Path) -> None:
    with (
        Served(tmp_path, *FLAGS) as served,
        Client(served.address, batch=70, timeout=400) as client,
    ):
        told = list(client.send(record(i) for i in range(200)))
        assert len(told) == 200
        assert told[0]["prediction"] is None
        assert list(client.send(record(i) for i in range(200))) == told
        assert client.models()[0]["counts"]["learned"] == 200
        lazy = client.send(record(i) for i in range(10**9))  # nobody can hold that
        assert len(list(islice(lazy, 100))) == 100
        nobody = [{"a": 0.1, "b": 0.2, "y": "up"} for _ in range(3)]  # without ids
        assert len(list(client.send(nobody))) == 3
        wait_for(lambda: served.learned() == 203)
        assert client.predict({"a": 1.0, "b": 1.0})["prediction"] in ("up", "down")
        client.predict(record(900, label=False))
        assert client.label([("r900", "up"), ("r0", "up")]) == 1
        wait_for(lambda: explained(client) in ("up", "down"))
        wrong = client.predict({"a": 1.0, "id": "w", "y": {}})
        assert wrong["error"] == "record 0: odd label: 'label': {}"
        with (
            pytest.raises(ServerError, match="no model 'other'") as caught,
            Client(served.address, model="other") as other,
        ):
            other.predict({"a": 1.0})
        assert caught.value.status == 404
        served.stop()
    with pytest.raises(OSError, match="refused"):
        Client(served.address, retries=1).models()


def test_tokens_have_rights_and_tls_hides_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, key = certificate(tmp_path)
    tokens = tmp_path / "tokens.toml"
    tokens.write_text(
        '[shop]\ntoken = {env = "SHOP_TOKEN"}\nright = "predict"\n'
        '[teacher]\ntoken = "a-teacher-s-token"\nright = "learn"\n'
        '[screen]\ntoken = "a-screen-s-token"\nright = "look"\n'
    )
    monkeypatch.setenv("SHOP_TOKEN", "a-shop-s-token")
    monkeypatch.setenv("STREAM_LLSVM_TOKEN", "all-may-be-done")
    flags = (*FLAGS, "--tokens", tokens, "--tls-cert", made, "--tls-key", key)
    with (
        Served(tmp_path / "kept", *flags, tokens="a-shop-s-token") as served,
        contextlib.ExitStack() as stack,
    ):
        assert served.address.startswith("https://")
        trusted = ssl.create_default_context(cafile=str(made))

        def client(token: str | None) -> Client:
            made = Client(served.address, token=token, context=trusted, retries=0, timeout=400)
            return stack.enter_context(made)

        unlabelled = {"a": 1.0, "b": 1.0}
        for token in (None, "wrong-token", "a-shop-s-toke"):
            with pytest.raises(ServerError, match="the token is missing or wrong"):
                client(token).predict(unlabelled)
        assert client("a-shop-s-token").predict(unlabelled)["prediction"] is None
        with pytest.raises(ServerError, match="may not teach: leave labels out"):
            client("a-shop-s-token").predict(record(1))
        with pytest.raises(ServerError, match="this token may predict, and not learn"):
            client("a-shop-s-token").label([("a", "up")])
        client("a-teacher-s-token").predict(record(1))
        with pytest.raises(ServerError, match="this token may learn, predict, and not admin"):
            client("a-teacher-s-token")._ask("POST", "/v1/checkpoint")
        assert client("all-may-be-done")._ask("POST", "/v1/checkpoint")["lost"] is None
        page = httpx.Client(base_url=served.address, verify=trusted)
        assert page.get("/").status_code == 401
        assert page.get("/healthz").status_code == 200
        opened = page.get("/?token=all-may-be-done")
        assert opened.status_code == 303
        assert "Secure" in opened.headers["set-cookie"], "it is sent over TLS alone"
        assert page.get("/").status_code == 200
        for token in ("a-shop-s-token", "a-teacher-s-token", "a-screen-s-token"):
            looking = httpx.Client(base_url=served.address, verify=trusted)
            looks = token == "a-screen-s-token"
            assert looking.get(f"/?token={token}").status_code == (303 if looks else 403)
            assert looking.get("/").status_code == (200 if looks else 401)
            for path in ("/api/checkpoint", "/api/promote", "/models/default/api/checkpoint"):
                refused = looking.post(path, json={"name": "mine"})
                assert refused.status_code == (403 if looks else 401), path
            looking.close()
        kept = page.post("/api/checkpoint", json={"name": "before"})
        assert kept.status_code == 200, kept.text
        page.close()
        served.stop()
        secrets = ("a-shop-s", "a-teacher-s", "a-screen-s", "all-may-be")
        assert not any(one in line for one in secrets for line in served.said)


def test_a_redirect_is_not_followed_with_the_token() -> None:
    asked = list[str]()

    class Redirects(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked.append(f"{self.path} {self.headers['Authorization']}")
            self.send_response(307)
            self.send_header("Location", "/elsewhere")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Redirects)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        address = f"http://127.0.0.1:{server.server_port}"
        with (
            Client(address, token="a-secret-token", retries=0) as client,
            pytest.raises(ServerError, match="redirects to /elsewhere: if that is right") as caught,
        ):
            client.predict({"a": 1.0})
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
    assert caught.value.status == 307
    assert asked == ["/v1/records Bearer a-secret-token"]
