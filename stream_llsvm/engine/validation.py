"""Checks of what a checkpoint holds: it is read as if a stranger had written it.

A checksum finds accidents, not malice, and what another version wrote is whole and yet does not
fit. Compiled code that counts does not look where it writes, so that all it gets is looked at here.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Mapping
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from stream_llsvm.model.file import ModelFileError

#: Counts beyond this are no longer whole as floats, and no stream is as long.
MOST = 2**53


def require(holds: bool, what: str) -> None:
    """Raise ModelFileError, which says what does not fit, unless it holds."""
    if not holds:
        raise ModelFileError(
            f"the checkpoint's {what} is missing or does not fit: it was changed, or written by "
            "another version of stream_llsvm"
        )


def part(payload: Mapping[str, Any], name: str, *kinds: type) -> Any:
    """Return a part that is of one of these types, exactly."""
    require(name in payload and type(payload[name]) in kinds, name)
    return payload[name]


def count(payload: Mapping[str, Any], name: str, low: int = 0, high: int = MOST) -> int:
    """Return a whole number in a range."""
    value: int = part(payload, name, int)
    require(low <= value <= high, name)
    return value


def number(payload: Mapping[str, Any], name: str, low: float = 0.0, high: float = 1e300) -> float:
    """Return a number in a range, which neither NaN nor infinity is."""
    value: float = part(payload, name, float)
    require(math.isfinite(value) and low <= value <= high, name)
    return value


def array(
    payload: Mapping[str, Any], name: str, dtype: DTypeLike, shape: tuple[int, ...]
) -> NDArray[Any]:
    """Return a copy of an array of this type and shape, in the order that compiled code expects."""
    found = part(payload, name, np.ndarray)
    require(found.dtype == np.dtype(dtype) and found.shape == shape, name)
    copy: NDArray[Any] = np.array(found, order="C")
    require(copy.dtype.kind != "f" or bool(np.isfinite(copy).all()), name)
    return copy


def counter(
    payload: Mapping[str, Any], name: str, known: Collection[str] | None = None
) -> dict[str, int]:
    """Return counts by text; ``known`` are the only texts that may occur."""
    found: dict[str, int] = part(payload, name, dict)
    require(all(type(key) is str for key in found), name)
    require(all(type(n) is int and 0 <= n <= MOST for n in found.values()), name)
    require(known is None or set(found) <= set(known), name)
    return dict(found)


def hashable(value: object) -> bool:
    """Whether this can be a key or a label; what a file holds cannot have side effects."""
    if isinstance(value, tuple):
        return all(map(hashable, value))
    return isinstance(value, Hashable)


def plain(value: object) -> bool:
    """Whether this is what a position is made of: texts, numbers, lists, dicts with text keys."""
    if isinstance(value, dict):
        return all(type(key) is str for key in value) and all(map(plain, value.values()))
    if isinstance(value, list):
        return all(map(plain, value))
    if type(value) is float:
        return math.isfinite(value)
    return value is None or type(value) in (str, int, bool)
