"""Objects without attributes: random generators, and statistics that river has compiled.

A compiled statistic gives its state as bytes and takes any bytes back, at its own risk. A file has
the numbers in them instead, by a layout that is fixed here, and never their bytes.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Sequence
from typing import Any

import numpy as np

#: How the state of a compiled statistic is laid out; those of a window are made by giving it anew.
_LAYOUTS = {
    "RsEWMean": struct.Struct("<3d?d"),
    "RsEWVar": struct.Struct("<3d?3d?2d"),
    "RsIQR": struct.Struct("<21dB?21dB?2d"),
    "RsKurtosis": struct.Struct("<?7d?"),
    "RsPeakToPeak": struct.Struct("<2d"),
    "RsQuantile": struct.Struct("<21dB?"),
    "RsSkew": struct.Struct("<7d2?"),
}
_WINDOWS = ("RsRollingIQR", "RsRollingQuantile")
_MARKERS = 5  # of a quantile that is estimated: how many values come before the estimate
_LENGTH = struct.Struct("<Q")
_WORDS = 624  # of the Mersenne Twister


class UnfitError(ValueError):
    """A value has no plain form, or plain data are of no value; the text says why."""


def is_native(value: object) -> bool:
    """Whether an object is one of those that are taken apart here."""
    kind = type(value)
    if kind in (random.Random, np.random.RandomState, np.random.Generator):
        return True
    known = kind.__name__ in _LAYOUTS or kind.__name__ in _WINDOWS
    return known and kind.__module__.startswith("river._river_rust")


def numbers_of(value: Any) -> tuple[Any, ...]:
    """Return the state of a native object as numbers."""
    if type(value) is random.Random:
        version, words, spare = value.getstate()
        return version, list(words), spare
    if type(value) is np.random.RandomState:
        _, key, *rest = value.get_state(legacy=True)
        return np.array(key), *rest
    if type(value) is np.random.Generator:
        state = value.bit_generator.state
        if state["bit_generator"] != "PCG64":
            raise UnfitError(f"a file cannot hold a generator {state['bit_generator']}")
        inner = state["state"]
        return inner["state"], inner["inc"], state["has_uint32"], state["uinteger"]
    raw: bytes = value.__getstate__()
    name = type(value).__name__
    if name in _WINDOWS:
        return tuple(_window_of(raw))
    layout = _LAYOUTS[name]
    if len(raw) != layout.size or layout.pack(*layout.unpack(raw)) != raw:
        raise UnfitError(f"this version of river keeps something else in a {name}")
    return layout.unpack(raw)


def _window_of(raw: bytes) -> list[float]:
    """Return the last values in their order: they follow the sorted ones."""
    (n,) = _LENGTH.unpack_from(raw)
    (again,) = _LENGTH.unpack_from(raw, 8 * (n + 1))
    if n != again:
        raise UnfitError("this version of river keeps something else in its windows")
    return list(struct.unpack_from(f"<{n}d", raw, 8 * (n + 2)))


def filled(fresh: Any, numbers: Sequence[Any]) -> Any:
    """Return a new native object in the state that these numbers tell; raises UnfitError.

    Parameters
    ----------
    fresh
        One that is as its constructor made it.
    numbers
        What `numbers_of` gave, or what a file has in that place.

    """
    try:
        return _filled(fresh, numbers)
    except (TypeError, ValueError, KeyError, OverflowError, struct.error) as error:
        raise UnfitError(f"no state of a {type(fresh).__name__}: {error}") from None


def _filled(fresh: Any, numbers: Sequence[Any]) -> Any:
    if type(fresh) is random.Random:
        version, words, spare = numbers
        _require(type(words) is list and (spare is None or type(spare) is float))
        fresh.setstate((version, tuple(words), spare))
        return fresh
    if type(fresh) is np.random.RandomState:
        key, at, has_spare, spare = numbers
        # numpy itself does not look whether the place lies inside.
        _require(type(key) is np.ndarray and key.dtype == np.uint32 and key.shape == (_WORDS,))
        _require(type(at) is int and 0 <= at <= _WORDS and has_spare in (0, 1))
        _require(type(spare) is float)
        fresh.set_state(("MT19937", key, at, has_spare, spare))
        return fresh
    if type(fresh) is np.random.Generator:
        state, inc, has_spare, spare = numbers
        _require(all(type(one) is int and 0 <= one < 2**128 for one in (state, inc)))
        _require(has_spare in (0, 1) and type(spare) is int and 0 <= spare < 2**32)
        fresh.bit_generator.state = {
            "bit_generator": "PCG64",
            "state": {"state": state, "inc": inc},
            "has_uint32": has_spare,
            "uinteger": spare,
        }
        return fresh
    name = type(fresh).__name__
    if name in _WINDOWS:
        # A value that is none stops the whole process.
        _require(all(type(one) is float and one == one for one in numbers))  # noqa: PLR0124
        for one in numbers:
            fresh.update(one)
        return fresh
    layout = _LAYOUTS[name]
    expected = layout.unpack(bytes(layout.size))
    _require([*map(type, numbers)] == [*map(type, expected)])
    _require(all(0 <= one <= _MARKERS for one in numbers if type(one) is int))
    fresh.__setstate__(layout.pack(*numbers))
    return fresh


def _require(holds: bool) -> None:
    if not holds:
        raise ValueError("a number of it is missing or impossible")
