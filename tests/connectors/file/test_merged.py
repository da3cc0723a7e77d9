"""Several files are one stream in the order of time."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from stream_llsvm.connectors import MergedFiles, SourceError
from stream_llsvm.connectors.base import Batch
from tests.connectors.kafka.support import numbers


def deal(folder: Path, count: int, files: int, kind: str) -> list[Path]:
    """Write numbers in the order of time to files by chance, with a broken line now and then."""
    chance = random.Random(3)
    lines: list[list[str]] = [["at,a,label"] if kind == "csv" else [] for _ in range(files)]
    dealt = sorted((chance.randrange(10 * count), chance.randrange(files)) for _ in range(count))
    for number, (time, file) in enumerate(dealt):
        if kind == "csv":
            lines[file].append(f"{time},{number},{number % 3}")
        else:
            record = {"a": number, "label": number % 3, "at": time}
            lines[file].append(json.dumps(record if number % 7 else dict(reversed(record.items()))))
        if number % 100 == 50:
            lines[file].append("poison, to be sure" if kind == "csv" else "{poison")
        if number % 100 == 70:
            lines[file].append(",7,1" if kind == "csv" else '{"a": 7, "label": 1}')
    paths = [folder / f"{file}.{kind}" for file in range(files)]
    for path, some in zip(paths, lines, strict=True):
        path.write_text("".join(f"{line}\n" for line in some))
    return paths


def source(paths: list[Path], **options: Any) -> MergedFiles:
    return MergedFiles(paths, **({"time": "at", "label": "label", "ignore": "at"} | options))


def rest(one: MergedFiles, at_once: int = 113) -> list[Batch]:
    found = []
    while not one.ended:
        if (batch := one.poll(at_once, 0.0)) is not None:
            assert len(batch) <= at_once
            found.append(batch)
    return found


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_files_are_merged_by_time(tmp_path: Path, kind: str) -> None:
    one = source(deal(tmp_path, 5_000, 3, kind))
    batches = rest(one)
    assert numbers(batches) == list(range(5_000))
    assert [y for batch in batches for y in batch.labels] == [n % 3 for n in range(5_000)]
    bad = [each for batch in batches for each in batch.rejected]
    broken = "wrong number of fields" if kind == "csv" else "invalid JSON"
    assert Counter(each.reason for each in bad) == {"no time": 50, broken: 50}
    assert all(b.disorder is not None and b.disorder[:2] == (0, ()) for b in batches)
    lines = {
        (place.source, place.number) for batch in batches for place in batch.places
    } | {(each.place.source, each.place.number) for each in bad}  # fmt: skip
    assert len(lines) == 5_100
    one.close()


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_it_goes_on_behind_every_batch(tmp_path: Path, kind: str) -> None:
    paths = deal(tmp_path, 3_000, 3, kind)
    whole = rest(source(paths))
    dead = sorted(each for batch in whole for each in batch.rejected)
    chance = random.Random(0)
    seen: list[int] = []
    bad: list[Any] = []
    position = None
    while True:
        one = source(paths)
        if position is not None:
            one.seek(json.loads(json.dumps(position)))
            assert one.position == position
        for _ in range(chance.randrange(1, 6)):
            batch = one.poll(chance.randrange(1, 90), 0.0)
            if batch is None:
                break
            seen += numbers([batch])
            bad += batch.rejected
            assert batch.position == one.position
            position = batch.position
        ended = one.ended
        one.close()
        if ended:
            break
    assert seen == list(range(3_000))
    assert sorted(bad) == dead


def test_files_that_are_followed_hold_nobody_up(tmp_path: Path) -> None:
    paths = [tmp_path / "a.jsonl", tmp_path / "b.jsonl"]
    for path in paths:
        path.write_text("")
    one = source(paths, follow=True)
    assert one.poll(10, 0.1) is None and not one.ended
    with paths[1].open("a") as file:
        file.write('{"a": 1, "label": 0, "at": "2026-11-19T10:00Z"}\n')
    batch = one.poll(10, 5.0)
    assert batch is not None and numbers([batch]) == [1]
    with paths[0].open("a") as file:
        file.write('{"a": 2, "label": 0, "at": "2026-11-19T09:00Z"}\n')
    batch = one.poll(10, 5.0)
    assert batch is not None and batch.disorder is not None and batch.disorder.late == 1
    one.close()


def test_what_is_wrong_is_said(tmp_path: Path) -> None:
    paths = deal(tmp_path, 30, 2, "csv")
    one = source(paths, time="when")
    with pytest.raises(SourceError, match="no column 'when'"):
        one.poll(10, 0.0)
    with pytest.raises(ValueError, match="named twice"):
        source([paths[0], paths[0]])
    with pytest.raises(ValueError, match="only CSV and JSON Lines"):
        source([tmp_path / "a.parquet", tmp_path / "b.parquet"])
    with pytest.raises(SourceError, match="name the same files"):
        source(paths).seek({"files": []})
    with pytest.raises(SourceError, match="not a position"):
        source(paths).seek({"files": [{"file": 0, "path": str(p), "done": -1} for p in paths]})
