"""The page's points outlast the process, up to the checkpoint; a spoilt file costs only them."""

from __future__ import annotations

import time
from contextlib import closing
from pathlib import Path
from typing import Any

import orjson
import pytest

from stream_llsvm import Engine, LLSVMClassifier
from stream_llsvm.connectors import ListSource
from stream_llsvm.dashboard import past
from stream_llsvm.dashboard.run_page import RunPage
from stream_llsvm.engine.checkpoints import Checkpoints

ROWS: list[dict[str, Any]] = [{"x": float(i % 7), "y": i % 7 > 3} for i in range(600)]


def page_of(folder: Path, most: int | None) -> RunPage:
    """Run so many records with a page, from a folder's checkpoint on."""
    with closing(Checkpoints(folder)) as kept:
        engine = Engine(ListSource(ROWS, label="y"), LLSVMClassifier(), checkpoints=kept)
        with RunPage(engine, folder / past.NAME) as page:
            engine.run(most)
    return page


def test_points_and_events_go_on_after_a_restart(tmp_path: Path) -> None:
    first = page_of(tmp_path, 300)
    before = [one["id"] for one in first.builder.history.points()]
    kinds = [one["kind"] for one in first.builder.events()]
    second = page_of(tmp_path, None)
    after = [one["id"] for one in second.builder.history.points()]
    assert after[: len(before)] == before
    assert after == sorted(set(after))
    assert len(after) > len(before)
    assert [one["kind"] for one in second.builder.events()][: len(kinds)] == kinds


def test_what_came_after_the_checkpoint_comes_again(tmp_path: Path) -> None:
    path, now = tmp_path / past.NAME, int(1_000 * time.time())
    points = [{"id": now - 9 + i, "records": 100 * i} for i in range(6)]
    past.write(path, points, [{"id": 5, "record": 900}, {"id": 6, "record": 200}])
    assert past.read(path, 300) == (points[:4], [{"id": 6, "record": 200}])
    assert past.read(path, None) == ([], [])
    assert [one.name for one in tmp_path.iterdir()] == [past.NAME]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"[]",
        b'{"points": 3, "events": []}',
        b'{"points": [[]], "events": []}',
        b'{"points": [{"id": 1}], "events": []}',
        orjson.dumps({"points": [{"id": 1, "records": "many"}], "events": []}),
    ],
)
def test_a_file_of_anything_else_is_no_past(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / past.NAME
    path.write_bytes(data)
    assert past.read(path, 300) == ([], [])


def test_points_out_of_order_or_of_the_future_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / past.NAME
    ids = [3, 2, "4", 5, int(2_000 * time.time()), 6]
    past.write(path, [{"id": i, "records": 1} for i in ids], [])
    assert [one["id"] for one in past.read(path, 1)[0]] == [3, 5, 6]


def test_a_folder_that_cannot_be_written_costs_nothing(tmp_path: Path) -> None:
    past.write(tmp_path / "none" / past.NAME, [], [])
