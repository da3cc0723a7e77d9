"""What users of other learning daemons report, each as a test of real processes.

A model that pressure corrupts, two saves at once that lose it, saving that changes what is
answered, and one model for each process.
"""

from __future__ import annotations

import asyncio
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from stream_llsvm.cli.serve import _tokens
from stream_llsvm.client import Client
from tests.cli.support import refused, wait_for
from tests.disk import fill, small_disk
from tests.serve.load import Client as Sender
from tests.serve.support import Served, calm_model, record, records, served_model

FLAGS = ("--label", "y", "--model", "llsvm")


def test_ten_clients_do_to_a_model_what_a_calm_run_does(tmp_path: Path) -> None:
    clients = [Sender(i) for i in range(10)]
    with Served(tmp_path, *FLAGS, "--every", "0.1") as served:
        for client in clients:
            client.address = served.address
            client.start()
        wait_for(lambda: min(len(client.taught) for client in clients) > 100)
        for client in clients:
            client.over.set()
        for client in clients:
            client.join()
            client.settle(served.address)
        assert [client.wrong for client in clients] == [[]] * 10
        served.stop()
    assert served_model(tmp_path / "default") == calm_model(tmp_path / "default")


def test_saves_at_once_are_all_whole(tmp_path: Path) -> None:
    with Served(tmp_path, *FLAGS, "--keep", "1000") as served:
        served.post("/v1/records", records(0, 500))
        with ThreadPoolExecutor(8) as pool:
            asked = [
                pool.submit(httpx.post, served.address + "v1/checkpoint", json=None, timeout=400)
                for _ in range(40)
            ]
            for i in range(50):
                served.post("/v1/records", records(1_000 + 10 * i, 10))
            assert {one.result().status_code for one in asked} == {200}
            names = {one.result().json()["file"] for one in asked}
        assert names <= {path.name for path in (tmp_path / "default" / "checkpoints").iterdir()}
        served.kill()
    with Served(tmp_path, *FLAGS) as served:
        assert "unreadable" not in served.text
        wait_for(lambda: served.learned() == 1_000)
        served.stop()
    assert served_model(tmp_path / "default") == calm_model(tmp_path / "default")


def test_saving_changes_no_answer(tmp_path: Path) -> None:
    """Also a restart: the same records get the same answers, whether it was saved or not."""
    told = []
    for saves in (False, True):
        folder = tmp_path / str(saves)
        with Served(folder, *FLAGS) as served:
            found = []
            for i in range(20):
                found.append(served.post("/v1/records", records(20 * i, 20))["predictions"])
                if saves:
                    served.post("/v1/checkpoint", None)
            served.stop(signal.SIGINT)
        if saves:
            with Served(folder, *FLAGS) as served:
                found.append(served.post("/v1/records", records(400, 20, False))["predictions"])
                served.stop()
        told.append(found)
    with Served(tmp_path / "False", *FLAGS) as served:
        told[0].append(served.post("/v1/records", records(400, 20, False))["predictions"])
        served.stop()
    assert told[0] == told[1]


def test_several_models_learn_apart_in_one_process(tmp_path: Path) -> None:
    pipeline = tmp_path / "models.toml"
    pipeline.write_text(
        '[source]\nlabel = "y"\n[checkpoints]\nevery = 0.5\n'
        '[models.first]\nclass = "sapl"\n[models.second]\nclass = "llsvm"\nn_anchors = 20\n'
    )
    with Served(tmp_path / "kept", pipeline) as served:
        assert [one["name"] for one in served.get("/v1/models")["models"]] == ["first", "second"]
        served.post("/v1/models/first/records", records(0, 200))
        served.post("/v1/models/second/records", records(1_000, 100))
        assert served.post("/v1/records", records(0, 200))["duplicates"] == 200
        wait_for(lambda: served.get("/v1/models/second")["counts"]["learned"] == 100)
        assert served.get("/v1/models/first")["counts"]["learned"] == 200
        assert served.get("/models/second/api/snapshot")["status"]["model"] == "LLSVMClassifier"
        assert served.get("/api/snapshot")["status"]["model"] == "SAPLClassifier"
        served.kill()
    with Served(tmp_path / "kept", pipeline) as served:
        assert served.post("/v1/models/second/records", records(1_000, 100))["duplicates"] == 100
        text = served.stop()
    assert "model first: 200 records learned" in text
    assert "model second: 100 records learned" in text
    assert served_model(tmp_path / "kept" / "first") != served_model(tmp_path / "kept" / "second")


def test_a_full_disk_is_an_error_for_who_sends_and_for_nobody_else(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk") as disk:
        if disk is None:
            pytest.skip("no disk can be mounted here")
        with Served(disk, *FLAGS, "--keep", "2") as served:
            served.post("/v1/records", records(0, 50))
            filling = fill(disk, leave=100)
            many = {"records": [record(i) for i in range(100, 400)]}
            told = served.post("/v1/records", many, 507)
            assert "the disk is full: nothing was taken; make room in" in told["error"]
            assert served.get("/healthz")["ok"]
            assert served.post("/v1/explain", {"record": {"a": 1.0}})["label"] in ("up", "down")
            filling.unlink()
            assert served.post("/v1/records", many)["learned"] == 300, "nothing was taken before"
            served.stop()
        assert served_model(disk / "default") != b""


def test_what_comes_too_fast_is_told_to_come_again(tmp_path: Path) -> None:
    async def at_once(address: str) -> list[httpx.Response]:
        async with httpx.AsyncClient(base_url=address, timeout=400) as http:
            asked = [http.post("/v1/records", json=records(90 * i, 90)) for i in range(40)]
            return await asyncio.gather(*asked)

    with Served(tmp_path, *FLAGS, "--waiting", "100") as served:
        assert "send fewer" in served.post("/v1/records", records(0, 101), 413)["error"]
        answers = asyncio.run(at_once(served.address))
        refusals = [one for one in answers if one.status_code == 429]
        assert refusals, "they came one after the other"
        assert {one.headers["retry-after"] for one in refusals} == {"1"}
        assert "send the same again in a moment" in refusals[0].json()["error"]
        with Client(served.address, batch=90, timeout=400) as client:  # which comes again
            assert len(list(client.send(record(i) for i in range(3_600)))) == 3_600
        wait_for(lambda: served.learned() == 3_600)
        served.stop()


def test_two_servers_on_one_folder_are_refused(tmp_path: Path) -> None:
    with Served(tmp_path, *FLAGS) as served:
        said = refused("serve", "--folder", tmp_path, "--label", "y", "--port", 0)
        assert "is in use by process" in said
        served.stop()


@pytest.mark.parametrize(
    ("flags", "why"),
    [
        (["--host", "0.0.0.0"], "can be reached from other machines, so tokens are needed"),
        (["--label", "y", "--id", "y"], "the label and the id are both 'y'"),
        (["--model", "a=sapl", "--model", "a=llsvm"], "there is a model 'a' already"),
        (["--model", "a/b=sapl"], "a model's name has up to 64 letters"),
        (["--model", "sapel"], "sapl"),
        (["--tls-cert", "nothing.pem"], "TLS needs a certificate and its key"),
        (["--tokens", "nothing.toml"], "nothing.toml cannot be read"),
    ],
)
def test_mistakes_are_told_before_anything_is_served(
    tmp_path: Path, flags: list[str], why: str
) -> None:
    assert why in refused("serve", "--folder", tmp_path / "kept", *flags)


def test_what_is_for_run_is_refused(tmp_path: Path) -> None:
    pipeline = tmp_path / "p.toml"
    for text, why in (
        ('[source]\nfrom = "a.csv"\n', "[source] from: records come over HTTP"),
        ("[dashboard]\nport = 1\n", "[dashboard]: it is for `run`, and not for `serve`"),
        ("[serve]\nprt = 1\n", 'unknown key "prt": did you mean "port"?'),
        ("[serve]\nport = -1\n", "[serve] port"),
        ("models = 1\n", "[models.NAME] is a section for each model"),
        ('[labels]\nfrom = "a.csv"\n', "labels come over HTTP"),
    ):
        pipeline.write_text(text)
        assert why in refused("serve", pipeline, "--folder", tmp_path / "kept")


def test_a_token_may_be_in_a_file(tmp_path: Path) -> None:
    secret, tokens = tmp_path / "secret", tmp_path / "tokens.toml"
    tokens.write_text(f'[shop]\ntoken = {{file = "{secret}"}}\nright = "learn"\n')
    given = ["serve", "--folder", tmp_path / "kept", "--label", "y", "--tokens", tokens]
    assert "[shop] token: the file" in refused(*given)
    secret.write_text("\n")
    assert "cannot be read, or is empty" in refused(*given)
    secret.write_text("a-shop-s-token\n")
    assert _tokens(str(tokens)) == {"a-shop-s-token": "learn"}
