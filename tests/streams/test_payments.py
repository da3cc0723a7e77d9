"""The payments: the same for a seed, the file in examples/, and a ring that fields tell together.

``python -m tests.streams.test_payments`` writes examples/payments.csv anew.
"""

from __future__ import annotations

import csv
import io
from collections import defaultdict
from datetime import datetime
from itertools import islice
from typing import Any

from stream_llsvm.connectors.base import Batch
from stream_llsvm.streams.catalog import STREAMS
from stream_llsvm.streams.payments import COUNTRIES, DEVICES, payments
from tests.cli.support import ROOT

FILE = ROOT / "examples" / "payments.csv"
_SEED, _FIRST, _EVERY = 4, 8_000, 48_000  # as the demo has it at its usual pace
_RECORDS = 3_000


def written() -> str:
    """Return what the file holds."""
    out = io.StringIO()
    rows = [{**x, "fraud": y} for x, y in islice(payments(_SEED, _FIRST, _EVERY), _RECORDS)]
    writer = csv.DictWriter(out, rows[0], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def shares(begin: int, end: int, *fields: str) -> dict[tuple[Any, ...], float]:
    """Return which share was fraud, of each combination of these fields' values that came often."""
    came = defaultdict[tuple[Any, ...], list[bool]](list)
    for x, y in islice(payments(_SEED, 4_000, 4_000), begin, end):
        came[tuple(x[name] for name in fields)].append(y == "yes")
    return {values: sum(of) / len(of) for values, of in came.items() if len(of) >= 20}


def test_the_file_is_what_the_stream_gives() -> None:
    text = FILE.read_text(encoding="utf-8")
    assert text == written()
    assert len(text) < 250_000


def test_fields_are_names_times_and_numbers() -> None:
    x, y = next(payments(0, 10, 10))
    assert x["country"] in COUNTRIES and x["device"] in DEVICES and x["member"] in ("yes", "no")
    assert datetime.fromisoformat(x["time"]).year == 2026
    assert type(x["amount"]) is float and x["amount"] > 0
    assert y in ("yes", "no")
    times = [one["time"] for one, _ in islice(payments(0, 10, 10), 1_200)]
    assert times == sorted(times)


def test_the_ring_shows_in_two_fields_together_and_moves_on() -> None:
    pairs = shares(0, 4_000, "country", "device")
    caught = {pair for pair, share in pairs.items() if share > 0.75}
    assert len(caught) == 3 and len({device for _, device in caught}) == 1
    assert max(share for pair, share in pairs.items() if pair not in caught) < 0.3
    # Neither of the two fields tells by itself.
    for field in ("country", "device"):
        assert max(shares(0, 4_000, field).values()) < 0.5
    later = {
        pair for pair, share in shares(4_000, 8_000, "country", "device").items() if share > 0.75
    }
    assert len(later) == 3 and later != caught


def test_what_comes_does_not_hang_on_when_the_ring_moves() -> None:
    one, other = (list(islice(payments(7, first, 100), 1_500)) for first in (300, 900))
    assert [x for x, _ in one] == [x for x, _ in other]
    assert [y for _, y in one[:300]] == [y for _, y in other[:300]]
    assert one != other
    assert list(islice(payments(8, 300, 100), 50)) != one[:50]


def test_the_source_reads_what_the_fields_say() -> None:
    batch = STREAMS["payments"].make(_SEED, _FIRST, _EVERY).poll(5, 0.0)
    assert isinstance(batch, Batch)
    assert batch.records is not None
    x, _ = next(payments(_SEED, _FIRST, _EVERY))
    said = batch.record(0)
    assert {k: v for k, v in said.items() if k != "time"} == {
        k: v for k, v in x.items() if k != "time"
    }
    assert said["time"].split("T")[1] == x["time"].split("T")[1]
    assert isinstance(batch.records[0]["time"], float)
    assert batch.labels[0] in ("yes", "no")


if __name__ == "__main__":
    FILE.write_text(written(), encoding="utf-8")
