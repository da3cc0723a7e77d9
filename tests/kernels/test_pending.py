"""What was foretold is found again however the record is written, and takes bounded room."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stream_llsvm.kernels import pending as foretold
from stream_llsvm.kernels.pending import DIGEST, ENTRY, SINCE, TOO_OLD, place_of
from stream_llsvm.kernels.scaling import ABSENT
from tests.kernels.alone import alone

digest_of = alone(foretold.digest_of)
find = alone(foretold.find)
is_young = alone(foretold.is_young)
keep = alone(foretold.keep)
release = alone(foretold.release)

NOTHING = np.zeros(0, dtype=np.int64)
RECORDS = st.lists(st.floats(allow_nan=True, allow_infinity=False), min_size=1, max_size=9)


def digest(values: list[float], columns: list[int] | None = None) -> int:
    at = NOTHING if columns is None else np.array(columns, dtype=np.int64)
    return int(digest_of(np.array(values), at, 0, len(values)))


@given(RECORDS, st.randoms())
def test_a_record_has_one_digest_however_it_is_written(values: list[float], rng: object) -> None:
    whole = digest(values)
    assert whole == digest([*values, ABSENT, np.nan])
    named = [(v, i) for i, v in enumerate(values) if not np.isnan(v)]
    rng.shuffle(named)  # type: ignore[attr-defined]
    if named:
        assert whole == digest([v for v, _ in named], [i for _, i in named])
    else:
        assert whole == 0, "one that names nothing cannot be told from another"


def test_values_columns_and_order_tell_records_apart() -> None:
    rng = np.random.default_rng(0)
    whole = {digest(row.tolist()) for row in rng.integers(0, 3, (400, 12)).astype(float)}
    assert len(whole) > 395
    assert digest([1.0, 2.0]) != digest([2.0, 1.0])
    assert digest([1.0], [3]) != digest([1.0], [4])
    places = place_of(np.array(sorted(whole)), 64)
    assert len(set(places.tolist())) > 60, "records crowd into few places"


def test_one_of_several_rows_is_digested_alone() -> None:
    rows = np.arange(12.0)
    assert digest_of(rows, NOTHING, 4, 8) == digest([4.0, 5.0, 6.0, 7.0])


def test_a_kept_record_is_found_until_it_is_released_or_a_newer_one_takes_its_place() -> None:
    entries, kept = np.zeros((4, ENTRY), dtype=np.int64), np.zeros((4, 2, 3), dtype=np.float32)
    one, other = 5 << 7, (5 + 4) << 7
    scores = np.arange(6, dtype=np.float32).reshape(2, 3)
    assert keep(entries, kept, 0, 9, scores) == 0, "nothing is kept of a record of nothing"
    assert keep(entries, kept, one, 9, scores) == 1
    place = find(entries, one)
    assert (place, find(entries, other), find(entries, 0)) == (1, -1, -1)
    assert np.array_equal(kept[place], scores)
    assert keep(entries, kept, other, 10, scores + 1) == 0
    assert (find(entries, one), find(entries, other)) == (-1, 1)
    assert entries[1, DIGEST] == other
    assert entries[1, SINCE] == 10
    release(entries, kept, 1)
    assert not entries.any()
    assert not kept.any()


def test_what_was_foretold_long_ago_is_of_no_use() -> None:
    entries = np.array([[1, 50]])
    assert is_young(entries, 0, 50.0 + TOO_OLD)
    assert not is_young(entries, 0, 51.0 + TOO_OLD)
