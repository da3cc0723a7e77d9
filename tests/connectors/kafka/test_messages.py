"""What was fetched is handed out in its order, in any portions."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

pytest.importorskip("kafka", reason="comes with the extra 'test'")

from kafka.consumer.fetcher import ConsumerRecord

from stream_llsvm.connectors.flat.message_sets import COLUMNS, OFFSET
from stream_llsvm.connectors.kafka.buffer import FetchBuffer
from stream_llsvm.connectors.kafka.messages import MessagePlaces, Messages


def piece(partition: int, offsets: range) -> Messages:
    table = np.full((len(offsets), COLUMNS), -1, dtype=np.int64)
    table[:, OFFSET] = offsets
    return Messages("t", partition, 0, 0, b"", table)


def record(partition: int, offset: int) -> Any:
    """Return a record as kafka-python makes them by itself."""
    return ConsumerRecord("t", partition, 0, offset, 0, 0, None, b"{}", [], None, -1, 2, -1)


@pytest.mark.parametrize("seed", range(5))
def test_portions_of_several_partitions(seed: int) -> None:
    chance = random.Random(seed)
    held = FetchBuffer()
    held.put({"a": [piece(0, range(7)), piece(0, range(9, 30))], "b": [piece(1, range(12))]})
    held.put({"a": [record(0, offset) for offset in range(30, 40)]})
    found: list[tuple[str, int]] = []
    while len(found) < 50:
        most = chance.randint(1, 9)
        taken = held.take(most)
        assert taken is not None
        assert len(taken) == min(most, 50 - len(found))
        places = [("ab"[place.part or 0], place.number) for place in MessagePlaces(taken)]
        assert taken.ends() == {("t", "ab".index(name)): n + 1 for name, n in places}
        found += places
        assert held.held == {name for name in "ab" if (name, {"a": 39, "b": 11}[name]) not in found}
    first = [("a", offset) for offset in [*range(7), *range(9, 30)]]
    rest = [("a", offset) for offset in range(30, 40)]
    assert found == [*first, *(("b", offset) for offset in range(12)), *rest]
    assert held.take(5) is None and held.held == set()
