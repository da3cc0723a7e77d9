"""What a log keeps, what a crash or a full disk leaves of it, and what is read of it again."""

from __future__ import annotations

import gc
import os
import random
import threading
from pathlib import Path

import pytest

from stream_llsvm.connectors.base import Batch, SourceError
from stream_llsvm.connectors.columns import Places
from stream_llsvm.connectors.log.segments import LABEL, MAGIC, RECORD, segments
from stream_llsvm.connectors.log.source import LogSource
from stream_llsvm.connectors.log.writer import LogError, LogWriter
from stream_llsvm.connectors.registry import describe
from tests.disk import fill, small_disk


def record(i: int) -> tuple[int, bytes]:
    return RECORD, b'{"x": %d, "id": "r%d"}' % (i, i)


def label(i: int) -> tuple[int, bytes]:
    return LABEL, b'{"id": "r%d", "y": 1}' % i


def written(folder: Path, n: int, at_once: int = 10, **how: int) -> LogWriter:
    log = LogWriter(folder, **how)
    for begin in range(log.end, log.end + n, at_once):
        log.append([record(i) for i in range(begin, begin + at_once)])
    return log


def read(source: LogSource, most: int = 1_000) -> list[Batch]:
    batches = []
    while (batch := source.poll(most, 0.0)) is not None:
        batches.append(batch)
    return batches


def ids(batches: list[Batch]) -> list[int]:
    return [int(key[1:]) for batch in batches for key in batch.keys or []]


def test_what_is_appended_is_read_in_order_whatever_the_batches(tmp_path: Path) -> None:
    written(tmp_path, 1_000, segment_bytes=5_000).close()
    assert len(segments(tmp_path)) > 5
    for most in (1, 7, 1_000):
        source = LogSource(tmp_path, key="id")
        batches = read(source, most)
        assert ids(batches) == list(range(1_000))
        assert [place.number for one in batches for place in one.places] == list(range(1_000))
        assert source.ended and source.position == {"log": 1_000}
        source.close()


@pytest.mark.parametrize("at", [0, 1, 499, 500, 999, 1_000])
def test_a_source_goes_on_from_any_position(tmp_path: Path, at: int) -> None:
    written(tmp_path, 1_000, segment_bytes=5_000).close()
    source = LogSource(tmp_path, key="id")
    read(source)
    source.seek({"log": at})
    assert ids(read(source)) == list(range(at, 1_000))
    source.close()


@pytest.mark.parametrize("position", [{"log": 1_001}, {"log": -1}, {"log": "1"}, {"row": 1}])
def test_a_position_that_is_none_of_the_log_is_refused(
    tmp_path: Path, position: dict[str, object]
) -> None:
    written(tmp_path, 1_000).close()
    source = LogSource(tmp_path)
    with pytest.raises(SourceError, match=r"ends before entry 1,000|not a position"):
        source.seek(position)
    source.close()


def test_labels_come_between_the_records_that_they_came_between(tmp_path: Path) -> None:
    log = LogWriter(tmp_path)
    log.append([record(0), record(1), label(0), label(1), record(2)])
    log.append([label(2)])
    log.close()
    for most, expected in (
        (1_000, [([0, 1], [0, 1]), ([2], [2])]),
        (1, [([0], []), ([1], [0]), ([], [1]), ([2], [2])]),
    ):
        source = LogSource(tmp_path, label="y", key="id")
        batches = read(source, most)
        assert [(ids([one]), ids([one.late] if one.late else [])) for one in batches] == expected
        assert all(one.late is None or set(one.late.labels) == {1} for one in batches)
        source.close()


def test_times_are_those_of_the_records_that_could_be_read(tmp_path: Path) -> None:
    log = LogWriter(tmp_path)
    for body in (b'{"x": 1}', b"not JSON", b'{"x": 2}'):
        log.append([(RECORD, body)])
    log.close()
    whole = LogSource(tmp_path)
    (batch,) = read(whole)
    assert [one.reason for one in batch.rejected] == ["invalid JSON"]
    assert batch.times is not None and len(batch.times) == len(batch) == 2
    again = LogSource(tmp_path)
    assert [t for one in read(again, 1) if one.times is not None for t in one.times] == list(
        batch.times
    )
    whole.close()
    again.close()


@pytest.mark.parametrize("cut", [1, 5, 20, 30])
def test_a_tail_that_is_cut_off_is_cut_away_and_kept_beside(tmp_path: Path, cut: int) -> None:
    written(tmp_path, 100).close()
    (segment,) = segments(tmp_path)
    whole = segment.path.read_bytes()
    segment.path.write_bytes(whole[:-cut])
    reader = LogSource(tmp_path, key="id")  # before anybody has repaired it
    assert ids(read(reader)) == list(range(reader.position["log"]))
    log = LogWriter(tmp_path)
    assert log.torn > 0 and log.end == reader.position["log"] in (98, 99)
    assert "cut off" in log.torn_why
    (torn,) = tmp_path.glob("*.torn")
    assert torn.stat().st_size == log.torn
    log.append([record(log.end)])
    log.close()
    source = LogSource(tmp_path, key="id")
    assert ids(read(source)) == list(range(reader.position["log"] + 1))
    reader.close()
    source.close()


def test_every_cut_leaves_a_log_that_goes_on(tmp_path: Path) -> None:
    """However the last file ends, what is whole before it is read, and nothing else."""
    written(tmp_path / "whole", 20, 1).close()
    (segment,) = segments(tmp_path / "whole")
    content = segment.path.read_bytes()
    chance = random.Random(0)
    for case in range(75):
        folder = tmp_path / f"case {case}"
        folder.mkdir()
        cut = chance.randrange(len(MAGIC), len(content))
        (folder / segment.path.name).write_bytes(content[:cut] + bytes(case % 3 * 30))
        log = LogWriter(folder)
        assert log.end < 20 and not log.failed
        log.append([record(log.end)])
        source = LogSource(folder, key="id")
        assert ids(read(source)) == list(range(log.end))
        source.close()
        log.close()


@pytest.mark.parametrize("zeros", [0, 1, 60])
def test_what_whole_entries_follow_is_not_cut_away(tmp_path: Path, zeros: int) -> None:
    """A flipped bit, or a piece that was never written: no byte is touched, or only behind it."""
    written(tmp_path / "whole", 20, 1).close()
    (segment,) = segments(tmp_path / "whole")
    content = segment.path.read_bytes()
    chance = random.Random(0)
    for case in range(75):
        damaged = bytearray(content)
        at = chance.randrange(len(MAGIC), len(damaged) - 100)
        damaged[at] ^= 1 << chance.randrange(8)
        damaged[at : at + zeros] = bytes(zeros)
        folder = tmp_path / f"case {case}"
        folder.mkdir()
        path = folder / segment.path.name
        path.write_bytes(damaged)
        if damaged == content:
            continue
        offline = LogSource(folder, key="id")
        with pytest.raises(SourceError, match="not the end of the log: restore the file"):
            read(offline)
        first = offline.position["log"]  # that is damaged
        offline.close()
        log = LogWriter(folder)
        match = (
            rf"{segment.path.name}: entry {first}, at byte \d+, is damaged, and whole ones follow"
        )
        with pytest.raises(LogError, match=match):
            log.append([record(20)])
        source = LogSource(folder, key="id")
        with pytest.raises(SourceError, match=match):
            source.seek({"log": first})
        assert log.failed and log.end == 20
        log.close()
        assert path.read_bytes() == damaged and not list(folder.glob("*.torn"))
        log = LogWriter(folder)
        whole = int(log.failed.partition("from ")[2].partition(" ")[0])
        source = LogSource(folder, key="id")
        source.seek({"log": whole})  # a checkpoint stands behind the damage
        assert f"entry {whole - 1} is damaged" in log.passed_over
        assert log.append([record(20)]) == 20
        assert ids(read(source)) == list(range(whole, 21))
        assert path.read_bytes() == damaged and segments(folder)[-1].first == 20
        source.close()
        log.close()
        again = LogWriter(folder)
        assert again.end == 21 and not again.failed
        again.close()


def test_a_checkpoint_behind_the_log_begins_a_new_file(tmp_path: Path) -> None:
    """As in a copy of a folder whose log was copied first."""
    written(tmp_path, 10).close()
    log = LogWriter(tmp_path)
    source = LogSource(tmp_path, key="id")
    source.seek({"log": 15})
    assert log.passed_over == "entries 10 to 14 are missing"
    assert log.append([record(15)]) == 15
    assert ids(read(source)) == [15]
    with pytest.raises(SourceError, match="entry 10 is cut off or missing"):
        read(LogSource(tmp_path, key="id"))
    source.close()
    log.close()
    again = LogWriter(tmp_path)
    assert (again.end, again.failed, again.passed_over) == (16, "", "")
    again.close()


def test_a_file_that_was_begun_before_the_last_was_synced(tmp_path: Path) -> None:
    """The machine died just then: the last file is empty, and the one before it is cut off."""
    written(tmp_path, 100).close()
    (segment,) = segments(tmp_path)
    segment.path.write_bytes(segment.path.read_bytes()[:-5])
    (tmp_path / f"{100:020}.log").write_bytes(MAGIC)
    log = LogWriter(tmp_path)
    assert log.end == 99
    log.append([record(99)])
    assert segments(tmp_path) == [segment]
    source = LogSource(tmp_path, key="id")
    assert ids(read(source)) == list(range(100))
    source.close()
    log.close()


def test_an_empty_last_file_is_begun_anew(tmp_path: Path) -> None:
    written(tmp_path, 10).close()
    (tmp_path / f"{10:020}.log").write_bytes(MAGIC[:3])
    log = LogWriter(tmp_path)
    assert log.end == 10
    log.append([record(10)])
    log.close()
    source = LogSource(tmp_path, key="id")
    assert ids(read(source)) == list(range(11))
    source.close()


def test_damage_before_the_end_is_no_end(tmp_path: Path) -> None:
    written(tmp_path, 1_000, segment_bytes=5_000).close()
    path = segments(tmp_path)[1].path
    content = bytearray(path.read_bytes())
    content[100] ^= 1
    path.write_bytes(content)
    source = LogSource(tmp_path)
    with pytest.raises(SourceError, match="not the end of the log: restore the file"):
        read(source)
    source.close()


def test_two_writers_are_refused(tmp_path: Path) -> None:
    log = LogWriter(tmp_path)
    with pytest.raises(LogError, match=f"in use by process {os.getpid()}"):
        LogWriter(tmp_path)
    log.close()
    LogWriter(tmp_path).close()
    with pytest.raises(LogError, match="closed"):
        log.append([record(0)])


def test_a_full_disk_takes_nothing_and_half_of_nothing(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk") as disk:
        if disk is None:
            pytest.skip("no disk can be mounted here")
        log = LogWriter(disk / "log")
        source = LogSource(disk / "log", key="id")
        log.append([record(i) for i in range(10)])
        assert ids(read(source)) == list(range(10))
        filling = fill(disk, leave=4_096)
        before = segments(disk / "log")[0].path.stat().st_size
        with pytest.raises(OSError, match="No space left"):
            log.append([record(i) for i in range(10, 2_000)])
        assert log.end == 10
        assert segments(disk / "log")[0].path.stat().st_size == before
        assert ids(read(source)) == []
        filling.unlink()
        for i in range(10, 500):  # over the place where others were half written
            assert log.append([record(i)]) == i
        assert ids(read(source)) == list(range(10, 500))
        source.close()
        log.close()


def test_a_reader_follows_a_writer_of_its_process(tmp_path: Path) -> None:
    log = LogWriter(tmp_path, segment_bytes=20_000)
    source = LogSource(tmp_path, key="id")

    def write() -> None:
        chance = random.Random(0)
        while log.end < 20_000:
            log.append([record(i) for i in range(log.end, log.end + chance.randint(1, 50))])
            if chance.random() < 0.01:
                log.sync()
        log.close()

    writing = threading.Thread(target=write)
    writing.start()
    batches = []
    while not source.ended:
        if (batch := source.poll(100, 1.0)) is not None:
            batches.append(batch)
    writing.join()
    assert ids(batches) == list(range(log.end))
    source.close()


def test_what_no_checkpoint_needs_is_removed_by_size_and_age(tmp_path: Path) -> None:
    log = written(tmp_path, 2_000, segment_bytes=5_000, keep_bytes=20_000, checkpoints=2)
    log.kept(1_900)
    assert segments(tmp_path)[0].first == 0, "an older checkpoint may be gone back to"
    log.kept(2_000)
    left = segments(tmp_path)
    assert 0 < left[0].first <= 1_900
    assert sum(one.path.stat().st_size for one in left) <= 20_000
    source = LogSource(tmp_path, key="id")
    with pytest.raises(SourceError, match="was removed as the log's size and age ask for"):
        source.seek({"log": 5})
    assert ids(read(source))[0] == left[0].first
    source.close()
    log.close()
    old = LogWriter(tmp_path, keep_seconds=0.0, checkpoints=1)
    old.kept(2_000)
    assert len(segments(tmp_path)) == 1
    assert old.end == 2_000
    old.close()


def test_the_command_line_knows_its_positions() -> None:
    assert describe({"log": 1_234}) == "before entry 1,234 of a log"


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="only Linux lists descriptors")
def test_a_source_that_nobody_closes_keeps_no_file_open(tmp_path: Path) -> None:
    writer = LogWriter(tmp_path)
    writer.append([(RECORD, b'{"a": 1}')])
    writer.close()
    source = LogSource(tmp_path, label="y")
    assert source.poll(1, 0.0) is not None
    del source
    gc.collect()
    links = [f"/proc/self/fd/{name}" for name in os.listdir("/proc/self/fd")]
    opened = [os.readlink(one) for one in links if os.path.islink(one)]
    assert not [one for one in opened if one.startswith(str(tmp_path))]


def test_another_codec_reads_as_the_source_does(tmp_path: Path) -> None:
    source = LogSource(tmp_path, key="id", ignore=["b"])
    codec = source.codec()
    raws, places = [b'{"a": "1", "b": 2, "id": "x"}'], Places("log", None, [0])
    assert codec.decode(raws, places, {}).record(0) == {"a": 1.0}
    source.keep_text()
    for one in (codec, source.codec()):
        assert one.decode(raws, places, {}).record(0) == {"a": "1"}
    source.close()
