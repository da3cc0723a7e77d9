"""Terms of a folder: one owner, also where one was held up at the worst moment."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from stream_llsvm.connectors.file.line_writer import LineWriter, shut_out
from stream_llsvm.engine.checkpoints import CheckpointError, Checkpoints
from stream_llsvm.engine.lease import Lease, LeaseError, TermOverError, newest_term


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "kept"


def silent(folder: Path, seconds: float) -> Lease:
    """Return the lease of an owner that was held up: its beats come no more."""
    lease = Lease(folder, seconds)
    assert lease.take()
    lease._ended.set()
    return lease


def test_terms_grow_and_who_left_is_followed_at_once(folder: Path) -> None:
    for term in (1, 2, 3):
        lease = Lease(folder, 3_600)
        assert lease.take()
        assert lease.term == newest_term(folder).number == term
        lease.release()
        assert newest_term(folder).left
    assert [path.name for path in folder.iterdir()] == ["term-0000000003"]


def test_an_owner_that_lives_is_waited_for(folder: Path) -> None:
    owner, watcher, stop = Lease(folder, 0.5), Lease(folder, 0.5), threading.Event()
    assert owner.take()
    threading.Timer(2.0, stop.set).start()
    assert not watcher.take(stop)
    owner.confirm()
    watcher.release()  # which has nothing to let go of
    assert not newest_term(folder).left
    owner.release()


def test_who_is_silent_is_replaced_and_finds_out(folder: Path) -> None:
    first, second = silent(folder, 0.3), Lease(folder, 60.0)
    seen: list[str] = []
    begin = time.monotonic()
    assert second.take(waiting=lambda term: seen.append(term.owner))
    assert time.monotonic() - begin > 0.3
    assert set(seen) == {f"process {os.getpid()} on {os.uname().nodename}"}
    first._ended.clear()
    with pytest.raises(TermOverError, match=r"in term 2: this run, in term 1, had been silent"):
        first.check()
    second.check()
    first.release()
    assert not newest_term(folder).left
    second.release()


def test_of_several_that_wait_one_goes_on(folder: Path) -> None:
    silent(folder, 0.3)
    stop, leases = threading.Event(), [Lease(folder, 60.0) for _ in range(6)]
    threads = [threading.Thread(target=one.take, args=(stop,)) for one in leases]
    for one in threads:
        one.start()
    while not any(one.term for one in leases):
        time.sleep(0.01)
    stop.set()
    for one in threads:
        one.join()
    assert sorted(one.term for one in leases) == [0, 0, 0, 0, 0, 2]
    for lease in leases:
        lease.release()


def test_a_folder_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(LeaseError, match="cannot use"):
        Lease(tmp_path / "file").take()


def test_a_damaged_beat_is_waited_for(folder: Path) -> None:
    silent(folder, 3_600)
    (folder / "term-0000000001" / "beat").write_bytes(b"\xff{")
    assert newest_term(folder)[:3] == (1, "another process", False)


HELD_UP = """
import os, signal, sys
from pathlib import Path
from stream_llsvm.connectors.file.line_writer import LineWriter
from stream_llsvm.engine.checkpoints import Checkpoints
from stream_llsvm.engine.lease import Lease

folder, where = Path(sys.argv[1]), sys.argv[2]
lease = Lease(folder, 0.5)
lease.take()
kept, lines = Checkpoints(folder, lease=lease), LineWriter(folder / "out.jsonl")
lines.write_lines([b"one"])
lines.flush()
kept.write({"i": 1}, wait=True)
replace, fsync = os.replace, os.fsync

def stop():
    print("held up", flush=True)
    os.kill(os.getpid(), signal.SIGSTOP)

def stopped(*given):  # all is looked at and written, and only the name is missing
    stop()
    replace(*given)

try:
    if where == "rename":
        os.replace = stopped
        kept.write({"i": 2}, wait=True)
    elif where == "lines":
        kept.check()
        stop()
        lines.write_lines([b"late"] * 10_000)
        lines.flush()
        kept.check()
    print("went on")
except Exception as error:
    print(type(error).__name__, error)
"""


def held_up(folder: Path, where: str) -> subprocess.Popen[str]:
    """Start an owner that stops there; return it when it has stopped."""
    command = [sys.executable, "-c", HELD_UP, str(folder), where]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stdout.readline() == "held up\n"
    return process


@pytest.mark.parametrize("where", ["rename", "lines"])
def test_an_owner_held_up_behind_its_last_look_writes_nothing(folder: Path, where: str) -> None:
    process, lease = held_up(folder, where), Lease(folder, 60.0)
    try:
        assert lease.take()
        shut_out(folder / "out.jsonl", lease.confirm)
        kept, lines = Checkpoints(folder, lease=lease), LineWriter(folder / "out.jsonl")
        found: Any = next(kept.newest_first())
        assert (found.number, found.contents) == (1, {"i": 1})
        lines.truncate(4)
        process.send_signal(signal.SIGCONT)
        said = process.communicate(timeout=60)[0]
        assert said.startswith("TermOverError process"), said
        lines.write_lines([b"two"])
        lines.close()
        assert kept.write({"i": "mine"}, wait=True) == 2
        numbers = [(one.number, one.contents) for one in kept.newest_first()]
        assert numbers == [(2, {"i": "mine"}), (1, {"i": 1})]
        kept.close()
        assert (folder / "out.jsonl").read_bytes() == b"one\ntwo\n"
        assert list(folder.rglob("*.tmp")) == list(folder.rglob("*.copy")) == []
    finally:
        process.kill()
        process.communicate()
    lease.release()


def test_a_file_taken_over_is_not_renamed_by_the_former_owner(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    former = LineWriter(path, max_bytes=20)
    former.write_lines([b"one"])
    former.flush()
    shut_out(path, lambda: None)
    with pytest.raises(Exception, match="another run has taken the file over"):
        former.write_lines([b"late"] * 10)
    former.close()
    assert path.read_bytes() == b"one\n"
    assert [one.name for one in tmp_path.iterdir()] == ["out.jsonl"]


def test_who_is_no_owner_any_more_takes_no_file_over(tmp_path: Path) -> None:
    path, second = tmp_path / "out.jsonl", tmp_path / "second"
    path.write_bytes(b"one\n")

    def overtaken() -> None:  # another one does the same meanwhile, and writes
        shut_out(path, lambda: None)
        with path.open("ab") as file:
            file.write(b"two\n")
        second.touch()

    with pytest.raises(FileNotFoundError):
        shut_out(path, overtaken)
    assert second.exists() and path.read_bytes() == b"one\ntwo\n"


def test_a_run_without_a_lease_does_not_begin_beside_one(folder: Path) -> None:
    lease = Lease(folder)
    assert lease.take()
    with pytest.raises(CheckpointError, match="go on with --standby"):
        Checkpoints(folder)
    lease.release()
    Checkpoints(folder).close()
