"""``run --standby`` between files: owners are killed and paused, and nobody sees it afterwards."""

from __future__ import annotations

import random
import re
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from stream_llsvm.engine.lease import Lease, newest_term
from tests.cli.pair import ALLOWED, TIMES, Pair, Run
from tests.cli.support import csv_file, newest, refused, rows, told, wait_for
from tests.cli.test_signals import arguments, predicted, predictions


@contextmanager
def growing(data: Path, chance: random.Random) -> Iterator[None]:
    """Append records as time goes by, also in the middle of lines."""
    ended = threading.Event()

    def write() -> None:
        left, block = "", 0
        with data.open("a") as file:
            while not ended.wait(0.05):
                if len(left) < 4_000:
                    block += 1
                    left += rows(1_000, seed=block)
                size = chance.randrange(4_000)
                file.write(left[:size])
                file.flush()
                left = left[size:]
            file.write(left[: left.find("\n") + 1])  # the rest of the last line

    thread = threading.Thread(target=write)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def test_owners_are_killed_and_paused_and_each_record_is_learned_once(tmp_path: Path) -> None:
    data, to, folder = tmp_path / "data.csv", tmp_path / "out.jsonl", tmp_path / "kept"
    csv_file(data, 200)
    chance = random.Random(3)
    more = ["--every", 0.1, "--max-batch", 50]
    pair = Pair(arguments(data, "--follow", "--to", to, *more), folder, tmp_path / "log")
    try:
        with growing(data, chance):
            pair.torment(chance)
        records = data.read_bytes().count(b"\n") - 1
        pair.stop(lambda: predicted(to) == records and pair.learned() == records)
    finally:
        pair.end()
    assert max(pair.waited) < ALLOWED, pair.waited
    terms = pair.terms()
    assert len(terms) == len(set(terms)) == newest_term(folder).number > TIMES
    model, alone = tmp_path / "alone.llsvm", tmp_path / "alone.jsonl"
    assert told(*arguments(data, "--save", model, "--to", alone))["learned"] == records
    assert told(*arguments(data), "--checkpoints", folder, "--save", tmp_path / "m")
    assert (tmp_path / "m").read_bytes() == model.read_bytes()
    assert predictions(to) == predictions(alone)


def test_the_next_one_goes_on_at_once_when_the_owner_leaves(tmp_path: Path) -> None:
    data, folder = csv_file(tmp_path / "data.csv", 300), tmp_path / "kept"
    shared = [*arguments(data, "--follow"), "--checkpoints", folder, "--standby", "--lease", 3600]
    first = Run(shared, tmp_path / "first.log")
    second = None
    try:
        wait_for(lambda: "owner: term 1" in first.said)
        second = Run(shared, tmp_path / "second.log")
        wait_for(lambda: "standing by: process" in second.said)
        first.process.terminate()
        assert first.ended() == 0, first.said
        wait_for(lambda: "owner: term 2" in second.said)
        assert "which has left it" in second.said
        second.process.send_signal(signal.SIGINT)
        assert second.ended() == 130, second.said
    finally:
        for one in (first, second):
            if one is not None and one.process.poll() is None:
                one.process.kill()
    assert newest(folder)["progress"]["counts"]["learned"] == 300


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_one_that_waits_ends_when_it_is_told_to(
    tmp_path: Path, number: signal.Signals, code: int
) -> None:
    data, folder = csv_file(tmp_path / "data.csv", 30), tmp_path / "kept"
    lease = Lease(folder, 3600)
    assert lease.take()
    run = Run([*arguments(data), "--checkpoints", folder, "--standby"], tmp_path / "log")
    wait_for(lambda: "standing by" in run.said)
    run.process.send_signal(number)
    assert run.ended() == code, run.said
    lease.release()


def test_what_cannot_be_shared_is_refused(tmp_path: Path) -> None:
    data, folder = csv_file(tmp_path / "data.csv", 30), tmp_path / "kept"
    shared = ["--checkpoints", folder, "--standby"]
    assert "give --checkpoints" in refused(*arguments(data, "--standby"))
    assert "standard output cannot be taken back" in refused(*arguments(data, "--to", "-", *shared))
    topic = ["--to", "kafka://localhost:1/out"]
    assert "give --transactional-id" in refused(*arguments(data, *topic, *shared))
    assert not folder.exists()
    lease = Lease(folder)
    assert lease.take()
    said = refused(*arguments(data, *shared[:2]))
    assert "was last used with a standby" in said and "go on with --standby" in said
    lease.release()
    assert told(*arguments(data, *shared[:2]))["learned"] == 30


def test_who_could_not_take_over_does_not_stand_by(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A mistake is told when the command is typed: the owner has the folder meanwhile."""
    data, folder = csv_file(tmp_path / "data.csv", 30), tmp_path / "kept"
    (tmp_path / "file").write_text("")
    monkeypatch.setitem(sys.modules, "kafka", None)
    shared = ["--checkpoints", folder, "--standby", "--lease", 1]
    lease = Lease(folder, 3600)
    assert lease.take()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        for more, why in (
            (["--dashboard", port], f"127.0.0.1:{port} cannot be listened to"),
            (["--dashboard", "0.0.0.0:0"], "the page needs a token there"),
            (["--save", tmp_path / "none" / "m"], "--save: there is no folder"),
            (["--publish", tmp_path / "file"], "--publish: .*file is a file"),
            (["--dead-letters", "kafka://localhost:1/bad"], "kafka is not installed"),
        ):
            assert re.search(why, refused(*arguments(data), *more, *shared))
        assert "there is no column 'z'" in refused("run", "--from", data, "--label", "z", *shared)
    assert newest_term(folder).number == 1
    lease.release()
    here = ["--save", folder / "m", "--dashboard", "0"]
    assert told(*arguments(data), *here, *shared)["learned"] == 30
