"""Which ids a server reads from its log at a start: those that it remembered, and no more."""

from __future__ import annotations

import random
from pathlib import Path

import orjson
import pytest

from stream_llsvm.connectors.log import segments as module
from stream_llsvm.connectors.log.segments import LABEL, RECORD
from stream_llsvm.connectors.log.writer import LogWriter
from stream_llsvm.serve import ids as ids_module
from stream_llsvm.serve.bodies import Names, id_of
from stream_llsvm.serve.ids import Ids

NAMES = Names("y", "id")


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """Return which bodies are parsed from now on."""
    seen: list[bytes] = []

    def noted(body: bytes, names: Names) -> object:
        seen.append(body)
        return id_of(body, names)

    monkeypatch.setattr(ids_module, "id_of", noted)
    return seen


def remembered(ids: Ids, of: int) -> list[int | None]:
    return [ids.number(f"r{i}") for i in range(of)]


@pytest.mark.parametrize("share", [0.0, 0.03, 0.5, 1.0])
@pytest.mark.parametrize("most", [20, 1_000_000])
def test_a_start_remembers_what_was_remembered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, share: float, most: int
) -> None:
    """Whatever share of the records have an id, and wherever the last process died."""
    monkeypatch.setattr(ids_module, "_NOTED_EVERY", 50)
    chance, lasting, n = random.Random(0), Ids(most), 0
    for _ in range(8):
        log = LogWriter(tmp_path, segment_bytes=2_000)
        ids = Ids(most)
        ids.read(log, NAMES, log.end)
        assert remembered(ids, n) == remembered(lasting, n)
        for _ in range(chance.randrange(100)):
            fields: dict[str, object] = {"x": n}
            if chance.random() < share:
                fields["id"] = f"r{n}"
                ids.add(f"r{n}", log.end)
                lasting.add(f"r{n}", log.end)
            log.append([(RECORD, orjson.dumps(fields)), (LABEL, b'{"id": "r0", "y": 1}')])
            n += 1
            if chance.random() < 0.1:
                log.sync()
                ids.note(log)
        log.close()  # without a last note, as if it was killed


def test_records_without_ids_are_read_once(
    tmp_path: Path, parsed: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    log = LogWriter(tmp_path, segment_bytes=2_000)
    escaped = b'{"\\u0069d": "e", "x": 2}'
    log.append([(RECORD, escaped)])
    for i in range(500):
        log.append([(RECORD, b'{"x": %d}' % i)])
    log.sync()
    ids = Ids()
    ids.read(log, NAMES, 0)
    assert parsed == [escaped] and ids.number("e") == 0
    opened: list[Path] = []
    entries = module.entries

    def noted(segment: module.Segment) -> object:
        opened.append(segment.path)
        return entries(segment)

    monkeypatch.setattr(ids_module, "entries", noted)
    few = Ids(0)
    few.note(log, at_once=True)
    few.read(log, NAMES, 0)
    assert opened == []
    more = Ids(1)  # than were remembered when that was noted
    more.read(log, NAMES, 0)
    assert more.number("e") == 0
    log.close()


@pytest.mark.parametrize("noted", ["", "[]", '{"ids": 1}', '{"ids": 9, "first": 4, "end": 99}'])
def test_a_note_that_does_not_fit_costs_no_id(tmp_path: Path, noted: str) -> None:
    log = LogWriter(tmp_path)
    log.append([(RECORD, b'{"id": "r%d"}' % i) for i in range(5)])
    (tmp_path / "ids.json").write_text(noted)
    ids = Ids(5)
    ids.read(log, NAMES, 0)
    assert remembered(ids, 5) == [0, 1, 2, 3, 4]
    log.close()
