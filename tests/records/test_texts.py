"""A text is one thing or another, by rules that a reader of bytes can follow."""

from __future__ import annotations

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_llsvm.kernels.boxes import TIME
from stream_llsvm.records.boxes import time_of, unboxed
from stream_llsvm.records.texts import BLANKS, MOST_WORDS, Name, as_name, from_text


@pytest.mark.parametrize(
    "text", ["", " ", "\t\n", "?", "-", "NA", "n/a", "N/A", "nan", "NaN", "null", "None", " none "]
)
def test_nothing(text: str) -> None:
    told = from_text(text)
    assert isinstance(told, float)
    assert math.isnan(told)
    assert unboxed(told) == (0, 0)


@pytest.mark.parametrize(
    ("text", "number"), [("12.5", 12.5), (" -3 ", -3.0), ("1e3", 1000.0), ("007", 7.0), (".5", 0.5)]
)
def test_a_number_in_text(text: str, number: float) -> None:
    assert from_text(text) == number


@pytest.mark.parametrize("text", ["inf", "-Infinity", "1e999"])
def test_an_infinite_number_is_for_others_to_refuse(text: str) -> None:
    told = from_text(text)
    assert isinstance(told, float)
    assert math.isinf(told)


@pytest.mark.parametrize(
    ("text", "hour", "weekday"),
    [
        ("2026-11-19", 0, 3),
        ("2026-11-19T13:30", 13.5, 3),
        ("2026-11-19 13:30:36", 13.51, 3),
        ("2026-11-19t13:30:36.999999", 13.51, 3),
        ("2026-11-19T13:30:36,5Z", 13.51, 3),
        ("2026-11-19 13:30:00 +01:00", 13.5, 3),
        ("2026-11-19T13:30:00-0800", 13.5, 3),
        ("2026-11-19 13:30:00 UTC", 13.5, 3),
        ("1999-12-31T23:59:60Z", 86_399 / 3600, 4),
        ("2024-02-29", 0, 3),
    ],
)
def test_a_time(text: str, hour: float, weekday: float) -> None:
    told = from_text(f" {text} ")
    assert isinstance(told, float)
    kind, content = unboxed(told)
    assert kind == TIME
    assert time_of(content) == pytest.approx((hour, weekday))


@pytest.mark.parametrize(
    "text",
    [
        "DE", "ice cream", "yes", "u1242", "1_000", "12 kg", "2026-02-30", "2026-13-01",
        "2026-11-19T24:00", "2026-11-19T13", "20261119", "١٢", "a, a, a", "a\u00a0b\u00a0c",
        "!!! ??? ...", "São Paulo", "\ud800", "0x10",
    ],
)  # fmt: skip
def test_a_name_is_the_text(text: str) -> None:
    if text == "20261119":
        assert from_text(text) == 20261119.0
    else:
        assert from_text(f"  {text}\n") == text


def test_names_that_differ_only_in_case_or_form_are_kept_apart() -> None:
    names = ["Zürich", "zürich", "Zu\u0308rich", "ZÜRICH"]
    assert [from_text(name) for name in names] == names
    assert len(set(names)) == 4


def test_words() -> None:
    assert from_text("FREE entry: reply WIN, free!") == ("free", "entry", "reply", "win")
    assert from_text("a b a c") == ("a", "b", "c")
    assert from_text("well-known thing") == "well-known thing"  # three words in two parts
    many = from_text(" ".join(f"w{i}" for i in range(5_000)))
    assert isinstance(many, tuple)
    assert len(many) == MOST_WORDS


@given(st.text(max_size=40))
def test_any_text_is_something(text: str) -> None:
    told = from_text(text)
    stripped = text.strip(BLANKS)
    if isinstance(told, str):
        assert told == stripped
        assert told
    elif isinstance(told, tuple):
        assert len(set(told)) == len(told) >= 3
        assert all(re.fullmatch(r"\w+", word) and word == word.lower() for word in told)
    elif not math.isnan(told):
        assert told == float(stripped)


@given(st.floats(allow_nan=False))
def test_a_number_that_was_written_is_read(number: float) -> None:
    assert from_text(repr(number)) == number


def test_true_and_false_are_numbers_in_any_case() -> None:
    assert [from_text(text) for text in ("true", " FALSE ", "True")] == [1.0, 0.0, 1.0]
    assert type(as_name("true")) is Name  # said to be one, it stays a name when it is read again
