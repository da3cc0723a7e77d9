"""Rows of a bank as a file holds them: all of them, or those that changed since the last file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.kernels.surprise import CLOCKS, FAST_VARIANCE
from stream_llsvm.records.keys import Key, packed_keys, unpacked_keys


class KeyRows(NamedTuple):
    """Some rows: their places, whose they are (None where no key is), and what is known.

    Examples
    --------
    >>> clocks = np.zeros((1, CLOCKS), "f4")
    >>> one = KeyRows(np.array([0]), ["ann"], np.zeros((1, 1, 2, 3), "f4"), np.array([5]), clocks)
    >>> gone = one._replace(keys=[None], facts=np.array([0]))
    >>> merged_rows([one.payload()], 1, (1, 2, 3))[0]
    ['ann']
    >>> merged_rows([one.payload(), gone.payload()], 1, (1, 2, 3))[0]
    [None]

    """

    places: NDArray[np.int64]
    keys: list[Key | None]
    matrix: NDArray[np.float32]
    facts: NDArray[np.int64]
    clocks: NDArray[np.float32]

    def payload(self) -> dict[str, Any]:
        """Return them as plain values for a file."""
        return self._asdict() | {"keys": packed_keys(self.keys)}


def merged_rows(
    parts: Sequence[dict[str, Any]], n: int, shape: tuple[int, ...]
) -> tuple[list[Key | None], NDArray[np.float32], NDArray[np.int64], NDArray[np.float32]]:
    """Return the keys, the matrix, the facts and the clocks of so many places; later parts count.

    Raises ValueError if they cannot be those of a bank (they may come from a file).
    """
    keys: list[Key | None] = [None] * n
    matrix, facts = np.zeros((n, *shape), dtype=np.float32), np.zeros(n, dtype=np.int64)
    clocks = np.zeros((n, CLOCKS), dtype=np.float32)
    for part in parts:
        own = unpacked_keys(part["keys"])
        places = sound_array(part, "places", np.int64, (len(own),))
        rows = sound_array(part, "matrix", np.float32, (len(own), *shape))
        said = sound_array(part, "facts", np.int64, (len(own),))
        require(bool((places >= 0).all() and (places < n).all() and (np.diff(places) > 0).all()))
        require(bool((rows[:, :, 1] >= 0).all() and (said >= 0).all()))
        require([key is not None for key in own] == (said > 0).tolist())
        matrix[places], facts[places], clocks[places] = rows, said, _clocks(part, len(own))
        for place, key in zip(places.tolist(), own, strict=True):
            keys[place] = key
    return keys, matrix, facts, clocks


def sound_rows(
    part: dict[str, Any], shape: tuple[int, ...]
) -> tuple[list[Key], NDArray[np.float32], NDArray[np.int64], NDArray[np.float32]]:
    """Return the keys, matrix, facts and clocks of rows that have no place; raises ValueError."""
    keys = [key for key in unpacked_keys(part["keys"]) if key is not None]
    matrix = sound_array(part, "matrix", np.float32, (len(keys), *shape))
    facts = sound_array(part, "facts", np.int64, (len(keys),))
    require(bool((matrix[:, :, 1] >= 0).all() and (facts > 0).all()))
    return keys, matrix, facts, _clocks(part, len(keys))


def _clocks(part: dict[str, Any], n: int) -> NDArray[np.float32]:
    """Return the clocks of so many keys; in files of 0.2 there are none, and they begin at 0."""
    if "clocks" not in part:
        return np.zeros((n, CLOCKS), dtype=np.float32)
    clocks = sound_array(part, "clocks", np.float32, (n, CLOCKS))
    require(bool((clocks[:, FAST_VARIANCE:] >= 0).all()))
    return clocks


def fitted(old: NDArray[np.float32], shape: tuple[int, ...]) -> NDArray[np.float32]:
    """Return rows in another shape: with more features, or a machine a class and not one for two.

    Parameters
    ----------
    old
        (rows, machines, 2, features + 1).
    shape
        (machines, 2, features + 1), none of it less than before.

    """
    machines = shape[0]
    if old.shape[1:] == shape:
        return old
    new = np.zeros((len(old), *shape), dtype=np.float32)
    if old.shape[1] > 1 or machines == 1:
        new[:, : old.shape[1], :, : old.shape[3]] = old
    else:  # one machine for two classes becomes one a class
        new[:, 0, 0, : old.shape[3]] = 0 - old[:, 0, 0] / 2
        new[:, 1, 0, : old.shape[3]] = old[:, 0, 0] / 2
        new[:, :2, 1, : old.shape[3]] = old[:, :, 1]
    return new


def require(holds: bool) -> None:
    """Raise ValueError unless it holds."""
    if not holds:
        raise ValueError("what is known of keys is damaged")


def sound_array(
    payload: dict[str, Any], name: str, dtype: type[np.generic], shape: tuple[int, ...]
) -> NDArray[Any]:
    """Return a copy of an array of this type and shape, of finite numbers; raises ValueError."""
    found = payload[name]
    require(isinstance(found, np.ndarray) and found.dtype == dtype and found.shape == shape)
    array: NDArray[Any] = np.array(found, order="C")
    require(bool(np.isfinite(array).all()))
    return array
