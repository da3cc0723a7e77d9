"""Files that grow, are renamed, or are emptied while they are read."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from stream_llsvm.connectors import FileSource
from stream_llsvm.connectors.base import Batch, SourceError
from tests.connectors.support import values_of

WRITER = """
import os, sys
path, n, a_file = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
file = open(path, "ab", buffering=0)
for i in range(n):
    if i and i % a_file == 0:
        # Like logrotate: name.1 becomes name.2, and so on; the new file is there before it is used.
        olds = sorted(int(f.rsplit(".", 1)[1]) for f in os.listdir(os.path.dirname(path))
                      if f.startswith(os.path.basename(path) + "."))
        for old in reversed(olds):
            os.rename(f"{path}.{old}", f"{path}.{old + 1}")
        os.rename(path, path + ".1")
        fresh = open(path, "ab", buffering=0)
        file.write(b'{"a": %d' % i)
        file.write(b"}\\n")
        file.close()
        file = fresh
        continue
    line = b'{"a": %d}\\n' % i
    file.write(line[:4])
    file.write(line[4:])
"""


def lines(*numbers: int) -> str:
    return "".join(f'{{"a": {i}}}\n' for i in numbers)


def append(path: Path, text: str) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write(text)


def following(path: Path, **options: Any) -> FileSource:
    return FileSource(path, "jsonl", follow=True, **options)


def polled(source: FileSource, most: int = 1000) -> list[Batch]:
    """Poll until nothing is there any more."""
    batches = []
    while (batch := source.poll(most, 0.0)) is not None:
        batches.append(batch)
    # The steps of a rotation take a poll each, and none of them waits.
    while (batch := source.poll(most, 0.01)) is not None:
        batches.append(batch)
    return batches


def until(source: FileSource, n: int, most: int = 1000) -> list[Batch]:
    """Poll until so many records have come."""
    batches: list[Batch] = []
    end = time.monotonic() + 20
    while sum(map(len, batches)) < n:
        assert time.monotonic() < end, f"only {sum(map(len, batches))} of {n} came"
        if (batch := source.poll(most, 0.2)) is not None:
            batches.append(batch)
    return batches


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "log"


def test_a_line_waits_for_its_end(path: Path) -> None:
    path.write_text(lines(1) + '{"a"')
    source = following(path)
    assert values_of(polled(source)) == [1]
    append(path, ": 2")
    assert polled(source) == [] and not source.ended
    append(path, "}\n" + lines(3))
    assert values_of(polled(source)) == [2, 3]
    other = following(path)
    other.seek(source.position)
    assert polled(other) == []
    append(path, lines(4))
    assert values_of(polled(other)) == values_of(polled(source)) == [4]


def test_it_waits_no_longer_than_it_may(path: Path) -> None:
    path.write_text("")
    source = following(path)
    before = time.monotonic()
    assert source.poll(5, 0.15) is None
    assert 0.1 < time.monotonic() - before < 5


def test_a_header_that_comes_later(path: Path) -> None:
    path.write_text("a")
    source = FileSource(path, "csv", follow=True)
    assert polled(source) == []
    append(path, ",b\n1,")
    assert polled(source) == []
    append(path, "2\n")
    assert values_of(polled(source), "b") == [2]


def test_a_renamed_file_is_read_to_its_end(path: Path) -> None:
    path.write_text(lines(1))
    source = following(path)
    assert values_of(polled(source)) == [1]
    path.rename(path.with_name("log.1"))
    assert polled(source) == []  # there is no new one yet
    append(path.with_name("log.1"), lines(2))
    assert values_of(polled(source)) == [2]
    path.write_text("")  # made, but the writer has not turned to it
    append(path.with_name("log.1"), lines(3) + '{"a": 4}')
    assert values_of(polled(source)) == [3]
    append(path, lines(5))
    batches = polled(source)
    assert values_of(batches) == [4, 5]
    assert [str(p) for b in batches for p in b.places] == [f"{path}:4", f"{path}:1"]
    append(path, lines(6))
    assert values_of(polled(source)) == [6]


@pytest.mark.parametrize("tick", [0, 10**8])  # file systems may give all of them one time
@pytest.mark.parametrize("seen", [1, 2, 3])
def test_going_on_after_files_were_renamed(path: Path, seen: int, tick: int) -> None:
    path.write_text(lines(0, 1, 2))
    source = following(path)
    position = source.poll(1, 0.0).position  # type: ignore[union-attr]
    for _ in range(seen - 1):
        position = source.poll(1, 0.0).position  # type: ignore[union-attr]
    now = time.time_ns()
    os.utime(path, ns=(now, now - 2 * tick))
    path.rename(path.with_name("log.2"))
    path.with_name("log.1").write_text(lines(3, 4))
    os.utime(path.with_name("log.1"), ns=(now, now - tick))
    path.with_name("log.bak").write_text(lines(99))
    path.with_name("log.3").write_text(lines(98))
    os.utime(path.with_name("log.3"), ns=(now, now - 3 * tick))
    path.write_text(lines(5))
    other = following(path)
    other.seek(position)
    assert values_of(polled(other, most=1)) == list(range(seen, 6))


def test_a_renamed_file_that_is_gone(path: Path) -> None:
    path.write_text(lines(*range(50)))
    source = following(path)
    batch = source.poll(30, 0.0)
    assert batch is not None
    path.with_name("new").write_text(lines(*range(100, 200)))
    path.with_name("new").rename(path)
    with pytest.raises(SourceError, match=r"not the file that it was.*start without the position"):
        following(path).seek(batch.position)


@pytest.mark.parametrize("new", [lines(7), lines(7, 8, 9, 10)])
def test_a_file_that_is_emptied_in_place(path: Path, new: str) -> None:
    path.write_text(lines(1, 2) + '{"a')
    source = following(path)
    assert values_of(polled(source)) == [1, 2]
    path.write_text(new)  # the same inode, shorter or longer than it was
    batches = polled(source)
    assert values_of(batches) == ([7] if new == lines(7) else [7, 8, 9, 10])
    (told,) = [one for batch in batches for one in batch.rejected]
    assert told.reason == "file truncated" and told.raw == b'{"a'
    assert told.detail == f"read to byte 21, now {len(new)} bytes; going on from its start"
    other = following(path)
    other.seek(batches[0].position)
    assert values_of(polled(other)) == values_of(batches)


@pytest.mark.parametrize("most", [1, 1000])
def test_a_writer_that_rotates(path: Path, most: int) -> None:
    """Every record comes once and in order, also with a source that starts anew in between."""
    path.touch()
    n, a_file = 600, 50
    source = following(path)
    with subprocess.Popen([sys.executable, "-c", WRITER, str(path), str(n), str(a_file)]) as writer:
        batches = until(source, n // 3, most)
        source.close()
        source = following(path)
        source.seek(batches[-1].position)
        batches += until(source, n - sum(map(len, batches)), most)
        assert writer.wait(20) == 0
    assert polled(source) == []
    assert values_of(batches) == list(range(n))
    assert not any(batch.rejected for batch in batches)


def test_only_the_last_of_several_is_followed(path: Path) -> None:
    old = path.with_name("old")
    old.write_text(lines(1) + '{"a": 2}')
    path.write_text(lines(3))
    source = FileSource([old, path], "jsonl", follow=True)
    assert values_of(polled(source)) == [1, 2, 3]
    append(path, lines(4))
    assert values_of(polled(source)) == [4]
