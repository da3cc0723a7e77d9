"""kill -9 under load: what was acknowledged is learned once, as in a run that nobody disturbed."""

from __future__ import annotations

import os
import random
import re
import shutil
import time
from pathlib import Path

from tests.cli.support import started, wait_for
from tests.serve.load import Client
from tests.serve.support import Served, calm_model, in_log, record, records, served_model

FLAGS = ("--label", "y", "--model", "llsvm")
KILLS = int(os.environ.get("SERVE_KILLS", "3"))


def test_all_that_was_acknowledged_is_learned_once(tmp_path: Path) -> None:
    chance = random.Random(0)
    clients = [Client(i) for i in range(10)]
    for i in range(KILLS + 1):
        with Served(tmp_path, *FLAGS, "--every", "0.2") as served:
            for client in clients:
                client.address = served.address
                if i == 0:
                    client.start()
            acknowledged = sum(len(client.taught) for client in clients)
            wait_for(lambda: sum(len(one.taught) for one in clients) > acknowledged + 50)  # noqa: B023
            time.sleep(chance.uniform(0.0, 1.0))  # killed at any moment
            if i < KILLS:
                served.kill()
                continue
            for client in clients:
                client.over.set()
            for client in clients:
                client.join()
                client.settle(served.address)
            assert [client.wrong for client in clients] == [[]] * 10
            # What is sent again is known, whichever of the processes had acknowledged it.
            last = records(clients[0].sent - 50, 50)
            assert served.post("/v1/records", last)["duplicates"] == 50
            checked = served.get("/v1/models/default")
            served.stop()
    taught, labelled = in_log(tmp_path / "default")
    sent = {one for client in clients for one in client.taught}
    late = {one for client in clients for one in client.labelled}
    assert len(sent) > 50 * (KILLS + 1)
    assert sent <= set(taught) and late <= set(labelled)
    assert set(taught.values()) == {1} and set(labelled.values()) <= {1}
    assert checked["counts"]["learned"] <= len(taught) + len(labelled)
    assert served_model(tmp_path / "default") == calm_model(tmp_path / "default")


def test_records_are_remembered_by_the_next_process(tmp_path: Path) -> None:
    with Served(tmp_path, *FLAGS) as served:
        first = served.post("/v1/records", records(0, 50))
        served.post("/v1/checkpoint", None)
        second = served.post("/v1/records", records(50, 50))
        served.kill()
    with Served(tmp_path, *FLAGS) as served:
        # Those behind the checkpoint are learned again, and their answers known.
        assert served.post("/v1/records", records(50, 50)) == second | {
            "learned": 0,
            "duplicates": 50,
        }
        # Those before it are answered by the model as it is now, and not learned.
        again = served.post("/v1/records", records(0, 50))
        assert (again["duplicates"], again["learned"]) == (50, 0)
        assert all(one["prediction"] in ("up", "down") for one in again["predictions"])
        assert first["predictions"][0]["prediction"] is None
        wait_for(lambda: served.learned() == 100)
        served.stop()
    assert served_model(tmp_path / "default") == calm_model(tmp_path / "default")


def test_a_torn_tail_is_told(tmp_path: Path) -> None:
    with Served(tmp_path, *FLAGS, "--every", "1000") as served:
        served.post("/v1/records", records(0, 20))
        served.kill()
    (segment,) = (tmp_path / "default" / "log").glob("*.log")
    with segment.open("ab") as file:
        file.write(b"\x07" * 11)
    with Served(tmp_path, *FLAGS) as served:
        wait_for(lambda: served.learned() == 20)
        assert served.post("/v1/records", {"records": [record(20)]})["learned"] == 1
        assert "the log's last 11 bytes were cut away" in served.stop()
    assert served_model(tmp_path / "default") == calm_model(tmp_path / "default")


def test_a_copy_of_a_live_folder_loses_nothing_though_its_log_was_copied_first(
    tmp_path: Path,
) -> None:
    live, copy = tmp_path / "live" / "default", tmp_path / "copy" / "default"
    with Served(tmp_path / "live", *FLAGS) as served:
        served.post("/v1/records", records(0, 50))
        shutil.copytree(live / "log", copy / "log")
        served.post("/v1/records", records(50, 50))
        served.post("/v1/checkpoint", None)
        shutil.copytree(live / "checkpoints", copy / "checkpoints")
    with Served(tmp_path / "copy", *FLAGS) as served:
        assert "entries 50 to 99 are missing in the log" in served.text
        assert served.post("/v1/records", records(100, 50))["learned"] == 50
        assert served.learned() == 150
        served.kill()
    with Served(tmp_path / "copy", *FLAGS, "--every", "1000") as served:
        wait_for(lambda: served.learned() == 150)
        assert "missing" not in served.stop()


def test_a_log_that_is_damaged_before_its_end_is_refused_and_not_touched(tmp_path: Path) -> None:
    with Served(tmp_path, *FLAGS, "--every", "1000") as served:
        served.post("/v1/records", records(0, 100))
        served.kill()
    (segment,) = (tmp_path / "default" / "log").glob("*.log")
    damaged = bytearray(segment.read_bytes())
    damaged[len(damaged) // 2] ^= 1
    segment.write_bytes(damaged)
    process = started("serve", "--folder", tmp_path, "--port", 0, *FLAGS)
    said = process.communicate(timeout=600)[1]
    assert process.returncode == 2
    assert (
        re.search(rf"{segment}: entry \d+, at byte [\d,]+, is damaged", said) and "truncate" in said
    )
    assert segment.read_bytes() == damaged
