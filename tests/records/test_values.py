"""One value in: what counts as a number, what is missing, and what the refusals say."""

from __future__ import annotations

import datetime
import math
import re
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

from stream_llsvm.records.values import as_number, is_missing, show


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (True, 1.0),
        (np.False_, 0.0),
        (7, 7.0),
        (np.int8(-3), -3.0),
        (np.float32(0.5), 0.5),
        (Decimal("0.1"), 0.1),
        (Fraction(1, 4), 0.25),
        (np.array(2.0), 2.0),
        (1e308, 1e308),
    ],
)
def test_numbers_of_all_kinds(value: Any, number: float) -> None:
    assert as_number("a", value) == number
    assert type(as_number("a", value)) is float


@pytest.mark.parametrize(
    "value", [None, math.nan, np.nan, np.float32("nan"), pd.NA, Decimal("NaN")]
)
def test_missing_values(value: Any) -> None:
    assert math.isnan(as_number("a", value))
    assert is_missing(value)


@pytest.mark.parametrize(
    "value",
    [
        "red",
        "1.5",
        b"1",
        bytearray(b"1"),
        np.str_("1"),
        np.bytes_(b"1"),
        [1.0],
        {"a": 1},
        (1,),
        1j,
        np.complex128(1),
        np.complex64(1),
        np.array([1.0]),
        np.array("1.5"),
        np.array(1j),
        np.void(b"12"),
        datetime.datetime(2020, 1, 1),
        datetime.timedelta(1),
        np.datetime64("2020-01-01"),
        np.timedelta64(5, "s"),
        pd.Timestamp("2020-01-01"),
        pd.NaT,
        pd.Series([1.0, 2.0]),
        object(),
    ],
)
def test_what_is_not_a_number(value: Any) -> None:
    with pytest.raises(ValueError, match=r"feature 'a' has the value .*learns from numbers; enc"):
        as_number("a", value)


@pytest.mark.parametrize(
    "value",
    [math.inf, -math.inf, np.float16("inf"), 10**400, Fraction(10**400), Decimal("-inf")],
)
def test_infinite_numbers(value: Any) -> None:
    with pytest.raises(ValueError, match=r"feature 'a' has the value .* infinite, or too large"):
        as_number("a", value)


def test_an_integer_too_long_to_be_written() -> None:
    with pytest.raises(ValueError, match="infinite, or too large"):
        as_number("a", 10**5000)


def test_the_message_in_full() -> None:
    said = (
        "feature 'colour' in row 2 (the first row is 0) has the value 'red' (str): the model "
        "learns from numbers; encode it (river.preprocessing.OneHotEncoder) or drop it"
    )
    with pytest.raises(ValueError, match="^" + re.escape(said) + "$"):
        as_number("colour", "red", 2)


def test_long_values_are_cut() -> None:
    class Rude:
        def __repr__(self) -> str:
            raise RuntimeError("no")

    frame = pd.DataFrame({"a": range(100)})
    for value in ["x" * 9999, ["y" * 99] * 99, 10**300, 10**5000, frame, Rude(), {1: 2}]:
        text = show(value)
        assert len(text) < 400
        assert "\n" not in text
