"""Packed values: exact round trips, and what cannot be packed is named."""

import math
import signal
import struct
from collections import OrderedDict
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_llsvm.model.packing import MAX_DEPTH, pack, unpack
from stream_llsvm.records.texts import Name
from tests.packed import TEXT, VALUES, same


def unpacked(data: bytes) -> dict[str, object]:
    return unpack(memoryview(data))


class TestRoundTrip:
    @given(st.dictionaries(TEXT, VALUES, max_size=5))
    def test_type_and_bits_come_back(self, payload: dict[str, object]) -> None:
        data = pack(payload)
        loaded = unpacked(data)
        assert same(loaded, payload)
        assert pack(loaded) == data

    @pytest.mark.parametrize(
        "value",
        [
            math.nan,
            struct.unpack("d", bytes.fromhex("010000000000f4ff"))[0],  # a NaN with a message
            -0.0,
            -math.inf,
            2**64,
            -(2**63) - 1,
            2**5000,
            (),
            ((),),
            [()],
            {(): [], None: {}, False: (), 2.5: 0, b"k": 1, (1, ("a",)): 2},
            np.float16(-0.0),
            np.str_("z\0"),
            Name("007"),
            {Name("7"): (Name("\ud800"), "7")},
            np.bytes_(b"z\0"),
            np.array(3.0),
            np.zeros((3, 0, 2), np.int8),
            np.array([1.0, 2.0], ">f8"),
            "\ud800 alone",
        ],
    )
    def test_corners(self, value: object) -> None:
        assert same(unpacked(pack({"x": value}))["x"], value)

    def test_arrays_come_back_in_c_order_writable_and_on_their_own(self) -> None:
        weights = np.arange(24.0).reshape(2, 3, 4)
        payload = {"f": np.asfortranarray(weights), "cut": weights[:, ::-1, 1:3]}
        loaded = unpacked(pack(payload))
        for name, before in payload.items():
            after = loaded[name]
            assert isinstance(after, np.ndarray)
            assert np.array_equal(after, before)
            assert after.flags.c_contiguous and after.flags.writeable and after.flags.owndata

    def test_a_nan_twice_as_a_key_is_two_keys(self) -> None:
        keys = {float("nan"): 1, float("nan"): 2}
        loaded = unpacked(pack({"x": keys}))["x"]
        assert isinstance(loaded, dict) and list(loaded.values()) == [1, 2]

    def test_nesting_up_to_the_limit_and_not_beyond(self) -> None:
        deep: object = []
        for _ in range(MAX_DEPTH - 2):
            deep = [deep]
        assert same(unpacked(pack({"x": deep}))["x"], deep)
        with pytest.raises(ValueError, match="deeper than 64"):
            pack({"x": [deep]})

    def test_a_list_in_itself_ends_with_an_error(self) -> None:
        loop: list[object] = []
        loop.append(loop)
        with pytest.raises(ValueError, match=r"payload\['x'\].*deeper than 64"):
            pack({"x": loop})


class TestUnsupported:
    @pytest.mark.parametrize(
        ("value", "name"),
        [
            ({1, 2}, "a set"),
            (Decimal(1), "a decimal.Decimal"),
            (OrderedDict(), "a collections.OrderedDict"),
            (1j, "a complex"),
            (signal.SIGTERM, "a signal.Signals"),
            (np.array(["a"]), "numpy's <U1"),
            (np.array([None]), "numpy's object"),
            (np.zeros(2, "M8[s]"), r"numpy's datetime64\[s\]"),
            (np.zeros(2, [("a", "f4")]), "numpy's .*a.*<f4"),
            (np.complex64(1), "numpy's complex64"),
            (np.ma.masked_array([1.0]), "a numpy.ma.*MaskedArray"),
        ],
    )
    def test_the_message_names_the_type_and_the_place(self, value: object, name: str) -> None:
        with pytest.raises(TypeError, match=rf"^payload\['members'\]\[1\]\['w'\]: .* hold {name}"):
            pack({"members": [0, {"w": value}]})

    def test_keys_too(self) -> None:
        with pytest.raises(TypeError, match=r"payload\[Decimal\('1'\)\]|payload\['x'\]\[Decimal"):
            pack({"x": {Decimal(1): 0}})
        with pytest.raises(TypeError, match=r"\[a long int\]: .* hold a set"):
            pack({"x": {10**5000: {1}}})
        with pytest.raises(TypeError, match="names are strings, not int"):
            pack({1: 0})  # type: ignore[dict-item]
