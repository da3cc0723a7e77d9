"""A folder of checkpoints, with real files, real damage and real processes."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from stream_llsvm.connectors.log.writer import LogWriter
from stream_llsvm.dashboard import past
from stream_llsvm.engine import checkpoints as module
from stream_llsvm.engine.checkpoints import CheckpointError, Checkpoints
from stream_llsvm.engine.lease import Lease
from tests.cli.support import refused


def newest(folder: Path) -> Any:
    kept = Checkpoints(folder)
    try:
        return next(kept.newest_first(), None)
    finally:
        kept.close()


def filled(folder: Path, n: int, keep: int = 3) -> None:
    kept = Checkpoints(folder, keep=keep)
    for i in range(1, n + 1):
        kept.commit(kept.write({"i": i}, wait=True) or 0)
    kept.close()


def test_the_last_few_are_kept(tmp_path: Path) -> None:
    filled(tmp_path, 5, keep=2)
    names = sorted(p.name for p in tmp_path.glob("checkpoint-*"))
    assert names == ["checkpoint-0000000004.llsvm", "checkpoint-0000000005.llsvm"]
    assert newest(tmp_path).contents == {"i": 5}


def test_one_that_is_committed_stays_however_many_come_after_it(tmp_path: Path) -> None:
    """A run that dies before each commit goes back to the last one that was committed."""
    kept = Checkpoints(tmp_path, keep=2)
    committed = kept.write({"i": 0}, wait=True)
    assert committed is not None
    for i in range(1, 5):
        kept.write({"i": i}, wait=True)
        kept.commit(committed)  # as each process does that goes on from it
        kept.finish()
    assert [found.contents["i"] for found in kept.newest_first()] == [4, 3, 0]
    kept.commit(committed + 4)
    kept.finish()
    assert [found.contents["i"] for found in kept.newest_first()] == [4, 3]
    kept.close()


def test_numbers_go_on_after_a_restart(tmp_path: Path) -> None:
    filled(tmp_path, 2)
    filled(tmp_path, 1)
    assert newest(tmp_path).number == 3


@pytest.mark.parametrize("damage", ["truncated", "flipped", "empty"])
def test_a_damaged_one_is_passed_over_and_named(tmp_path: Path, damage: str) -> None:
    filled(tmp_path, 2)
    last = tmp_path / "checkpoint-0000000002.llsvm"
    data = bytearray(last.read_bytes())
    if damage == "flipped":
        data[-1] ^= 1
    last.write_bytes(bytes({"truncated": data[:-3], "flipped": data, "empty": b""}[damage]))
    found = newest(tmp_path)
    assert found.contents == {"i": 1}
    assert len(found.skipped) == 1
    assert found.skipped[0].startswith(f"{last}: ")
    assert found.skipped[0].count(last.name) == 1


def test_when_none_can_be_read_nothing_is_begun_anew(tmp_path: Path) -> None:
    filled(tmp_path, 2)
    for path in tmp_path.glob("checkpoint-*"):
        path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(CheckpointError, match=r"can be read: .*truncated.*Move them away"):
        newest(tmp_path)
    assert len(list(tmp_path.glob("checkpoint-*"))) == 2


def test_an_empty_folder_has_none(tmp_path: Path) -> None:
    assert newest(tmp_path / "new") is None


def test_what_a_killed_writer_left_is_cleared_away(tmp_path: Path) -> None:
    (tmp_path / ".model-abc.tmp").write_bytes(b"half")
    Checkpoints(tmp_path).close()
    assert not list(tmp_path.glob(".model-*"))


OWNER = """
import sys
from stream_llsvm.engine.checkpoints import CheckpointError, Checkpoints
try:
    Checkpoints(sys.argv[1])
except CheckpointError as error:
    print(error)
"""


def refused_elsewhere(folder: Path) -> str:
    """Return what another process is told that wants the folder; nothing if it gets it."""
    command = [sys.executable, "-c", OWNER, str(folder)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_another_process_is_told_who_the_owner_is(tmp_path: Path) -> None:
    kept = Checkpoints(tmp_path)
    assert f"in use by process {os.getpid()} on" in refused_elsewhere(tmp_path)
    kept.close()
    assert refused_elsewhere(tmp_path) == ""


def test_an_idle_owner_lets_go_in_its_own_process_and_a_busy_one_does_not(tmp_path: Path) -> None:
    """A cell of a notebook may be run twice, but not while the first one still runs."""
    first = Checkpoints(tmp_path)
    first.write({"i": 1})
    second = Checkpoints(tmp_path)
    found = next(second.newest_first())
    assert found.contents == {"i": 1}, "the first was not finished"
    assert "in use by process" in refused_elsewhere(tmp_path)
    second.ownership.busy = True
    with pytest.raises(CheckpointError, match="in use by a run of this process"):
        Checkpoints(tmp_path)
    with pytest.raises(CheckpointError, match="in use by a run of this process"):
        first.write({"i": 2})
    second.ownership.busy = False
    second.write({"i": 3}, wait=True)
    with pytest.raises(CheckpointError, match="another run went on"):
        first.write({"i": 2})
    second.close()


def test_the_lock_dies_with_its_process(tmp_path: Path) -> None:
    code = (
        "import os, sys; from stream_llsvm.engine.checkpoints import Checkpoints;"
        "c = Checkpoints(sys.argv[1]); c.write({'i': 1}, wait=True); os.kill(os.getpid(), 9)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False)
    assert done.returncode == -9
    assert newest(tmp_path).contents == {"i": 1}


def test_a_full_disk_is_told_and_the_old_one_stays_good(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[OSError] = []
    kept = Checkpoints(tmp_path, on_error=told.append)
    kept.write({"i": 1}, wait=True)

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(module, "write", full)
    kept.write({"i": 2})
    kept.finish()
    assert kept.failures == 1
    assert told[0].errno == errno.ENOSPC
    monkeypatch.undo()
    kept.write({"i": 3})
    kept.close()
    assert newest(tmp_path).contents == {"i": 3}


def test_a_file_in_the_way_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CheckpointError, match="cannot use"):
        Checkpoints(tmp_path / "file")


def test_a_name_is_not_written_through_a_planted_link(tmp_path: Path) -> None:
    victim, folder = tmp_path / "victim", tmp_path / "kept"
    victim.write_text("precious")
    kept = Checkpoints(folder)
    number = kept.write({"i": 1}, wait=True)
    assert number is not None
    (folder / ".name-good.tmp").symlink_to(victim)
    kept.name(number, "good")
    kept.close()
    assert victim.read_text() == "precious"
    assert kept.names() == {"good": number}


def test_what_holds_records_is_for_its_owner_alone(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        filled(tmp_path / "kept", 1)
        LogWriter(tmp_path / "log").close()
        past.write(tmp_path / "kept" / past.NAME, [], [])
        assert Lease(tmp_path / "shared").take()
    finally:
        os.umask(before)
    made = [tmp_path / name for name in ("kept", "log", "shared")]
    assert [one.stat().st_mode & 0o777 for one in made] == [0o700] * 3
    files = [*made[0].glob("checkpoint-*"), made[0] / past.NAME, *made[1].glob("*.log")]
    assert [one.stat().st_mode & 0o777 for one in files] == [0o600] * 3


@pytest.mark.parametrize("kind", ["pipe", "device"])
def test_what_is_no_file_is_passed_over(tmp_path: Path, kind: str) -> None:
    filled(tmp_path, 1)
    odd = tmp_path / "checkpoint-0000000009.llsvm"
    if kind == "pipe":
        os.mkfifo(odd)
    else:
        odd.symlink_to("/dev/zero")
    assert newest(tmp_path).contents == {"i": 1}
    assert "it is no regular file" in refused("inspect", odd)
