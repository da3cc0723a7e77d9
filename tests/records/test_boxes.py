"""Names and times survive wherever float64 goes; the hash is the one that is documented."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_llsvm.kernels.boxes import NAME, TIME
from stream_llsvm.records.boxes import (
    boxed_name,
    boxed_time,
    name_code,
    name_codes,
    time_of,
    unboxed,
)

ALL = 2**64 - 1


def by_the_book(text: str) -> int:
    """FNV-1a, then the final mix of MurmurHash3, cut to 48 bits."""
    h = 0xCBF29CE484222325
    for byte in text.encode("utf-8", "surrogatepass"):
        h = (h ^ byte) * 0x100000001B3 & ALL
    h = (h ^ h >> 33) * 0xFF51AFD7ED558CCD & ALL
    h = (h ^ h >> 33) * 0xC4CEB9FE1A85EC53 & ALL
    return (h ^ h >> 33) & (2**48 - 1)


@given(st.text(st.characters(), max_size=50))
def test_a_name_is_the_hash_of_its_bytes(text: str) -> None:
    assert name_code(text) == by_the_book(text)
    assert unboxed(boxed_name(text)) == (NAME, by_the_book(text))


@given(st.lists(st.text(st.characters(), max_size=9)))
def test_many_names_are_each_the_hash_of_their_bytes(texts: list[str]) -> None:
    assert name_codes(texts).tolist() == [by_the_book(text) for text in texts]


@given(st.floats())
def test_a_number_is_no_box(value: float) -> None:
    assert unboxed(value) == (0, 0)


@given(st.integers(0, 6), st.integers(0, 86_399))
def test_a_time_is_its_hour_and_weekday(weekday: int, second: int) -> None:
    kind, content = unboxed(boxed_time(weekday, second))
    assert kind == TIME
    assert time_of(content) == (second / 3600, weekday)


@pytest.mark.parametrize(
    "moved",
    [
        lambda a: np.concatenate([a, a])[:2],
        lambda a: np.array(a.tolist()),
        lambda a: np.take(a, [0, 1]),
        lambda a: np.where(a == 5.0, np.nan, a),
        lambda a: np.frombuffer(a.tobytes()),
        lambda a: np.asfortranarray(np.tile(a, (3, 1)))[1].copy(),
    ],
)
def test_boxes_outlive_what_rows_go_through(moved: object) -> None:
    row = np.array([boxed_name("DE"), 1.0])
    assert callable(moved)
    assert unboxed(moved(row)[0]) == (NAME, name_code("DE"))
