"""What columns were taken for: counted in bounded memory, and kept over restarts."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
import pytest

from stream_llsvm.connectors.base import Batch
from stream_llsvm.connectors.codec import Codec
from stream_llsvm.connectors.csv_codec import CsvCodec
from stream_llsvm.connectors.json_codec import JsonCodec
from stream_llsvm.engine import census as rules
from stream_llsvm.engine.census import Census
from stream_llsvm.model.file import ModelFileError, dumps, loads
from tests.connectors.support import decoded

LINE = b"%d,u%d,2026-01-31T12:00,"


def counted(*batches: Batch) -> Census:
    census = Census()
    for batch in batches:
        census.take(batch)
    return census


def test_each_kind_is_counted() -> None:
    codec = CsvCodec(["a", "user", "when", "none"])
    census = counted(decoded(codec, *[LINE % (i, i % 7) for i in range(60)], b"x,,7,"))
    found = census.fields()
    assert found["a"].counts == {"number": 60, "name": 1}
    assert found["user"].counts == {"name": 60, "missing": 1}
    assert (found["user"].distinct, found["user"].example) == (7, "u0")
    assert found["when"].counts == {"time": 60, "number": 1}
    assert [one.usual for one in found.values()] == ["number", "name", "time", "missing"]


def test_seconds_since_1970_are_times_where_the_name_says_so() -> None:
    row = b'{"ts": %d, "amount": 1700000000}'
    rows = [row % (1_700_000_000 + i) for i in range(40)] + [row % 7]
    for more in ([], [b'{"ts": null, "amount": ["a", "b"]}']):
        found = counted(decoded(JsonCodec(), *rows, *more)).fields()
        assert found["ts"].counts["time"] == 40 and found["ts"].counts["number"] == 1
        assert found["amount"].counts["number"] == 41


def test_a_batch_of_records_counts_the_same() -> None:
    """The words of one record keep its batch out of a matrix."""
    codec: Codec = JsonCodec()
    rows = [b'{"a": %d, "b": "n%d", "t": "2026-01-31"}' % (i, i % 5) for i in range(50)]
    matrix = counted(decoded(codec, *rows))
    words = decoded(codec, *rows, b'{"a": null, "b": "to be or not", "t": null}')
    assert words.records is not None
    found = counted(words).fields()
    assert found["b"].counts == {"name": 50, "text": 1}
    for name in ("a", "t"):
        assert found[name].counts == matrix.fields()[name].counts | {"missing": 1}


def test_records_as_somebody_made_them_are_read() -> None:
    day = datetime.datetime(2026, 1, 31, 12)
    records: list[dict[str, Any]] = [
        {"a": True, "t": "2026-01-31 12:00", "n": "12.5", "w": "to be or not", "odd": 1j},
        {"a": 2, "t": day, "n": "DE", "w": ["x", "y"], "odd": None},
    ]
    found = counted(Batch([None] * 2, [], {}, records=records)).fields()
    assert {name: one.counts for name, one in found.items()} == {
        "a": {"number": 2},
        "t": {"time": 2},
        "n": {"number": 1, "name": 1},
        "w": {"text": 2},
        "odd": {"missing": 1},
    }


def test_distinct_names_are_counted_about_right_in_little_memory() -> None:
    codec = CsvCodec(["user", "b"])
    for n in (30, 1_000, 20_000):
        census = counted(decoded(codec, *[b"u%d,1" % i for i in range(n)] * (1 if n > 99 else 5)))
        found = census.fields()["user"]
        assert found.distinct == pytest.approx(n, rel=0.03) and found.about == (n > 256)
        assert census.report()["user"].get("about", False) == (n > 256)
        kept = Census()
        kept.restore(loads(dumps(census.payload())))
        assert kept.report() == census.report()


def test_few_names_are_counted_exactly_and_many_are_no_more_than_were_seen() -> None:
    for seed in range(40):
        rows = [b"u%d-%d,1" % (seed, i) for i in range(256)]
        census = counted(decoded(CsvCodec(["user", "b"]), *rows[:100], *rows))
        assert census.fields()["user"][1:] == (256, f"u{seed}-0", False)
        many = counted(
            decoded(CsvCodec(["user", "b"]), *[b"%b%d,1" % (rows[0][:4], i) for i in range(2_000)])
        )
        assert 1_900 < many.fields()["user"].distinct <= 2_000


def test_what_an_older_version_kept_is_about() -> None:
    census = counted(decoded(CsvCodec(["user", "b"]), *[b"u%d,1" % (i % 9) for i in range(50)]))
    payload = census.payload()
    for one in payload.values():
        del one["codes"]
    kept = Census()
    kept.restore(payload)
    user, b = kept.fields().values()
    assert (user.distinct, user.about) == (9, True) and not b.about


def test_fields_are_bounded_and_later_batches_are_sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules, "_ALL_OF_FIRST", 100)
    names = tuple(f"f{i}" for i in range(3_000))
    batch = Batch([None] * 50, [], {}, names=names, values=np.zeros((50, 3_000)))
    census = counted(*[batch] * 34)
    assert len(census.fields()) == 1_000
    assert census.fields()["f0"].counts == {"number": 200}  # the first two, and two later ones


def test_the_first_of_many_fields_may_be_asked_for() -> None:
    census = counted(decoded(CsvCodec(["a", "b", "c"]), b"1,x,2", b"1,,2"))
    assert list(census.fields(2)) == ["a", "b"]
    assert (len(census), census.records) == (3, 2)
    assert [taken.said for taken in census.fields().values()] == [2, 1, 2]


def test_it_goes_on_where_it_was() -> None:
    codec = CsvCodec(["a", "user"])
    batches = [decoded(codec, *[b"%d,u%d" % (i, i) for i in range(k, k + 40)]) for k in (0, 40)]
    kept = Census()
    kept.restore(loads(dumps(counted(batches[0]).payload())))
    kept.take(batches[1])
    assert kept.report() == counted(*batches).report()


@pytest.mark.parametrize(
    "wrong",
    [
        {"a": 1},
        {1: {}},
        {"a": {"counts": {"odd": 1}, "example": "", "places": None}},
        {"a": {"counts": {}, "example": 1, "places": None}},
        {"a": {"counts": {}, "example": "", "places": np.zeros(3, dtype=np.uint8)}},
        {"a": {"counts": {}, "example": "", "places": None, "codes": np.zeros(3)}},
        {"a": {"counts": {}, "example": "", "places": None, "codes": np.zeros(300, np.int64)}},
    ],
)
def test_what_does_not_fit_is_refused(wrong: object) -> None:
    with pytest.raises(ModelFileError, match=r"fields|counts|example"):
        Census().restore(wrong)  # type: ignore[arg-type]
