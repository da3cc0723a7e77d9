"""Which names can be used, and that their order is one order."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_llsvm.records.names import check_name, sort_key


@pytest.mark.parametrize("name", [math.nan, np.float64("nan"), ("a", math.nan), pd.NA, [1], {}])
def test_bad_names(name: Any) -> None:
    with pytest.raises(ValueError, match="a feature is named"):
        check_name(name)


@pytest.mark.parametrize("name", ["a", 1, 1.5, True, None, ("a", 1), (), b"a", frozenset("a")])
def test_good_names(name: Any) -> None:
    check_name(name)


ATOMS = st.one_of(
    st.text(max_size=2),
    st.integers(),
    st.floats(allow_nan=False),
    st.binary(max_size=2),
    st.none(),
    st.frozensets(st.integers(0, 64)),
    st.dates(),
)


@given(st.sets(st.one_of(ATOMS, st.tuples(ATOMS, ATOMS)), max_size=12), st.randoms())
def test_one_order_for_a_set_of_names(names: set[Any], random: Any) -> None:
    mixed = list(names)
    random.shuffle(mixed)
    assert sorted(names, key=sort_key) == sorted(mixed, key=sort_key)


def test_text_and_numbers_keep_their_own_order() -> None:
    assert sorted(["b", "a", "B", ""], key=sort_key) == ["", "B", "a", "b"]
    assert sorted([10, -1, 9], key=sort_key) == [-1, 9, 10]


def test_equal_histories_of_a_frozenset_do_not_matter() -> None:
    # Two equal sets whose elements collide are written in the order of their history.
    assert sort_key(frozenset([8, 0])) == sort_key(frozenset([0, 8]))
