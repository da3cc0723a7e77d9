"""Every route for every right: who is let in, from where, and with what; docs/serve.md has it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from stream_llsvm.dashboard.guard import FORM, JSON
from stream_llsvm.dashboard.rights import ADMIN, ANY, NONE, RIGHTS, Address, declared
from stream_llsvm.serve.server import Server
from tests.cli.support import wait_for
from tests.serve.support import record, records, serving

SERVE = Path(__file__).resolve().parents[2] / "docs" / "serve.md"
TOKENS = {right: f"a-token-to-{right}" for right in RIGHTS}
ELSEWHERE = {"origin": "https://evil.example"}
#: What changes something by a page's cookie, or without a body that says what it is.
CHANGES = {"/v1/checkpoint", "/api/checkpoint", "/api/promote"}


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Serve with a token for each right."""
    tokens = {token: right for right, token in TOKENS.items()}
    with serving(tmp_path_factory.mktemp("guarded"), tokens) as server:
        post(server, "/v1/records", records(0, 50), "learn")
        wait_for(server.models[0].page.metrics)
        yield server


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Serve this machine, without tokens."""
    with serving(tmp_path_factory.mktemp("local")) as server:
        post(server, "/v1/records", records(0, 50))
        yield server


def post(server: Server, path: str, body: Any, right: str = "", status: int = 200) -> Any:
    """Send JSON, and return what comes back."""
    address = server.address.rstrip("/") + path
    answer = httpx.post(address, json=body, headers=bearer(right), timeout=400, trust_env=False)
    assert answer.status_code == status, answer.text
    return answer.json()


def bearer(right: str) -> dict[str, str]:
    """Return the header of a token; of no known one if there is no such right, none if empty."""
    token = TOKENS.get(right, "not-a-token-at-all")
    return {"authorization": f"Bearer {token}"} if right else {}


def routes(server: Server) -> list[Address]:
    """Return all that a server answers: its own, and each model's page, also below its name."""
    own = list(server.app.addresses)
    known = {one.path for one in own}
    page = server.models[0].page.addresses
    below = [one._replace(path=f"/models/{{name}}{one.path}") for one in page]
    return own + [one for one in page if one.path not in known] + below


def plain(path: str) -> str:
    """Return the same address without the name of a model, as the table has it."""
    unnamed = re.sub(r"^(/v1)?/models/\{name\}(?=/)", r"\1", path)
    return re.sub(r"\{(\w+)(:int)?\}", lambda found: found[1].upper(), unnamed)


def table() -> dict[str, str]:
    """Return the right of each address, as the documentation tells it."""
    text = SERVE.read_text(encoding="utf-8").partition("## Who may ask")[2]
    found: dict[str, str] = {}
    for right, paths in re.findall(r"^\| `?(\w+)`? \|.*\| (.*) \|$", text, re.MULTILINE):
        if right in (*RIGHTS, ANY, NONE):
            assert not found.keys() & set(re.findall(r"`(/[^`]*)`", paths)), right
            found |= dict.fromkeys(re.findall(r"`(/[^`]*)`", paths), right)
    return found


def test_the_documentation_has_the_right_of_every_route(guarded: Server) -> None:
    assert {plain(one.path): one.right for one in routes(guarded)} == table()


def status(client: httpx.Client, method: str, path: str, headers: dict[str, str]) -> int:
    """Ask, and return the status; of an answer that never ends its begin is enough."""
    path = path.replace("models/{name}", "models/default").replace("{name}", "index.html")
    path = path.replace("{number:int}", "999999999")
    content = b"{}" if method == "POST" else None
    with client.stream(method, path, headers=headers, content=content) as answer:
        return answer.status_code


#: What a request says beside its token.
SAID = [
    {"content-type": JSON},
    {"content-type": JSON, "host": "evil.example"},
    {"content-type": JSON, **ELSEWHERE},
    {"content-type": "text/plain"},
    {"content-type": FORM, **ELSEWHERE},
]


def expected(one: Address, right: str, said: dict[str, str]) -> int:
    """Return with what status a request with an empty object is answered."""
    path = plain(one.path)
    if right not in RIGHTS and one.right != NONE:
        return 401
    if one.right not in (ANY, NONE, *RIGHTS.get(right, ())):
        return 403
    if path in CHANGES and "origin" in said:
        return 403
    if one.method == "POST" and path != "/v1/checkpoint":  # which has no body
        return 400 if said["content-type"] == JSON else 415
    return 404 if path == "/api/records/NUMBER" else 200


def test_every_route_asks_for_its_right(guarded: Server) -> None:
    with httpx.Client(base_url=guarded.address, timeout=400, trust_env=False) as client:
        for one in routes(guarded):
            for right in ("", "wrong", *RIGHTS):
                for said in SAID:
                    found = status(client, one.method, one.path, said | bearer(right))
                    assert found == expected(one, right, said), (one.path, right, said)


def test_without_tokens_only_this_machine_is_answered(local: Server) -> None:
    with httpx.Client(base_url=local.address, timeout=400, trust_env=False) as client:
        for one in routes(local):
            said = {"content-type": JSON}
            for host in ("evil.example", "localhost.evil.example"):
                found = status(client, one.method, one.path, said | {"host": host})
                assert found == 403, (one.path, host)
            probed = status(client, one.method, one.path, said | {"host": "10.1.2.3:8766"})
            assert probed == (200 if one.right == NONE else 403), one.path
            there = status(client, one.method, one.path, said)
            assert there == expected(one, ADMIN, said), one.path


@pytest.mark.parametrize("end", ["%0A", "%0D%0A", "%00", "%7F", "%E2%80%A8"])
def test_what_cannot_be_printed_is_no_path(guarded: Server, end: str) -> None:
    with httpx.Client(base_url=guarded.address, timeout=400, trust_env=False) as client:
        for one in routes(guarded):
            for right in ("predict", ADMIN):
                headers = {"content-type": JSON} | bearer(right)
                assert status(client, one.method, one.path + end, headers) == 404, one.path


def test_models_are_named_to_those_who_have_a_right(guarded: Server, local: Server) -> None:
    probes = ["/healthz", "/readyz", "/v2/health/ready", "/models/x/healthz"]
    others = ["/v2", "/models/x/", "/v1/models/x", "/v2/models/x", "/openapi.json", "/v1/x", "/x"]
    for path in probes + others:
        asked = guarded.address.rstrip("/") + path
        stranger = httpx.get(asked, trust_env=False)
        assert "default" not in stranger.text, path
        assert "version" not in stranger.text, path
        foreign = httpx.get(
            local.address.rstrip("/") + path, headers={"host": "evil.example"}, trust_env=False
        )
        assert (foreign.status_code, "default" in foreign.text) == (403, False), path
    for path in ("/healthz", "/models/x/", "/v1/models/x", "/v2/models/x"):
        asked = guarded.address.rstrip("/") + path
        known = httpx.get(asked, headers=bearer("look"), trust_env=False)
        assert "default" in known.text, path


@pytest.mark.parametrize("right", ["", "everything"])
def test_a_route_without_a_right_is_not_served(right: str) -> None:
    async def answer() -> None: ...

    with pytest.raises(ValueError, match="/new: the route declares no right"):
        declared([Address("GET", "/new", right, answer)])
    with pytest.raises(ValueError, match="/new: the route is declared twice"):
        declared([Address("GET", "/new", ANY, answer)] * 2)


def test_a_right_to_predict_leaves_no_trace(guarded: Server) -> None:
    model = guarded.models[0]
    wait_for(lambda: model.done == model.log.end)
    before = model.log.end, dict(model.engine.progress.counts)
    few = records(700, 5, label=False)
    told = post(guarded, "/v1/records", few, "predict")
    assert (told["learned"], told["duplicates"], told["rejected"]) == (0, 0, 0)
    tensor = {"name": "a", "shape": [1], "datatype": "FP64", "data": [0.5]}
    post(guarded, "/v2/models/default/infer", {"inputs": [tensor]}, "learn")
    wrong = {"records": [{"a": 1.0, "id": "w"}, 5, {"a": 1.0, "id": 1.5}, {"a": 1.0, "z": [{}]}]}
    wrong = post(guarded, "/v1/records", wrong, "predict")
    assert ["error" in one for one in wrong["predictions"]] == [False, True, True, False]
    labelled = {"records": [record(700)]}
    assert "may not teach" in post(guarded, "/v1/records", labelled, "predict", 403)["error"]
    assert (model.log.end, dict(model.engine.progress.counts)) == before
    # The owner's records of the same ids are new, with the owner's features.
    again = post(guarded, "/v1/records", few, "learn")
    assert again["duplicates"] == 0
    assert again["predictions"] == told["predictions"]
    assert model.log.end == before[0] + 5
    labels = {"labels": [{"id": "r700", "label": "up"}, {"id": "w", "label": "up"}]}
    post(guarded, "/v1/labels", labels, "learn")
    wait_for(lambda: model.done == model.log.end)
    assert model.engine.progress.counts["learned"] == before[1]["learned"] + 1, "the owner's"
    # Whose answers are not those of others: an id that has come is asked anew.
    stranger = {"records": [{"a": 9.0, "b": -9.0, "id": "r1"}, {"a": 9.0, "b": -9.0}]}
    mine, unnamed = post(guarded, "/v1/records", stranger, "predict")["predictions"]
    assert mine == unnamed


def test_a_cookie_is_kept_to_what_its_token_may(guarded: Server) -> None:
    for right in RIGHTS:
        with httpx.Client(base_url=guarded.address, timeout=400, trust_env=False) as page:
            opened = page.get("/", params={"token": TOKENS[right]})
            assert opened.status_code == (303 if "look" in RIGHTS[right] else 403), right
            looks = "look" in RIGHTS[right]
            assert "secure" not in opened.headers.get("set-cookie", "").lower()
            assert page.get("/api/snapshot").status_code == (200 if looks else 401)
            assert page.get("/metrics").status_code == (200 if looks else 401)
            done = page.post("/api/checkpoint", json={"name": f"by-{right}"})
            assert done.status_code == {"look": 403, "admin": 200}.get(right, 401)
            # What programs ask for is not for cookies, which a browser sends by itself.
            assert page.post("/v1/records", json=records(0, 1)).status_code == 401
