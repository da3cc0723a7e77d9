"""Keys: which can be used, and that a file gives back what it was given or says that it cannot."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_llsvm.records.keys import MOST_BYTES, BadKey, checked_key, packed_keys, unpacked_keys
from stream_llsvm.records.texts import Name

KEYS = st.one_of(
    st.none(), st.text(max_size=300), st.binary(max_size=300), st.integers(), st.booleans(),
    st.floats(allow_nan=False),
)  # fmt: skip


@pytest.mark.parametrize(
    ("key", "reason"),
    [
        (None, "no key"),
        (float("nan"), "no key"),
        (np.float64("nan"), "no key"),
        (np.datetime64("NaT"), "no key"),
        ("é" * (MOST_BYTES // 2 + 1), "long key"),
        (b"x" * (MOST_BYTES + 1), "long key"),
        (10**MOST_BYTES, "long key"),
        (("a", 1), "odd key"),
        ([1], "odd key"),
        ({}, "odd key"),
        (1j, "odd key"),
    ],
)
def test_what_is_no_key_is_refused(key: Any, reason: str) -> None:
    with pytest.raises(BadKey) as caught:
        checked_key(key)
    assert caught.value.reason == reason
    assert len(str(caught.value)) < 200


def test_keys_are_kept_as_plain_values() -> None:
    for key, kept in ((np.int32(7), 7), (np.str_("a"), "a"), (Name("none"), "none"), (True, True)):
        found = checked_key(key)
        assert found == kept and type(found) is type(kept)
    assert checked_key("é" * (MOST_BYTES // 2)) == "é" * (MOST_BYTES // 2)
    assert checked_key("") == ""


@given(st.lists(KEYS, max_size=20))
def test_they_come_back_from_a_file(keys: list[Any]) -> None:
    back = unpacked_keys(packed_keys(keys))
    assert back == keys and list(map(type, back)) == list(map(type, keys))


@given(
    st.lists(st.integers(0, 8), max_size=5),
    st.lists(st.integers(0, 2_000), max_size=5),
    st.binary(max_size=40),
)
def test_damaged_keys_are_refused(kinds: list[int], sizes: list[int], text: bytes) -> None:
    packed = {
        "kinds": np.array(kinds, dtype=np.uint8),
        "sizes": np.array(sizes, dtype=np.uint16),
        "text": text,
    }
    try:
        found = unpacked_keys(packed)
    except (ValueError, LookupError):
        return
    assert len(found) == len(kinds)
    assert all(key is None or checked_key(key) is not None for key in found)


def test_values_of_another_kind_are_refused() -> None:
    sound = packed_keys(["a", "b"])
    for wrong in (
        {"sizes": sound["sizes"].astype(np.int64)},
        {"sizes": sound["sizes"][:1]},
        {"kinds": sound["kinds"].reshape(1, 2)},
        {"kinds": [0, 0]},
        {"text": "ab"},
        {"text": b"abc"},
    ):
        with pytest.raises(ValueError, match="damaged"):
            unpacked_keys(sound | wrong)
