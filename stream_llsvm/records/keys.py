"""The keys that records are kept apart by: which can be used, and as bytes for a file."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.records.texts import Name
from stream_llsvm.records.values import is_missing, show

#: What a key is: a text, bytes or a number.
Key = str | bytes | int | float
#: A longer key is none: it would be a mistake, and millions of it would fill the memory.
MOST_BYTES = 1_000
_KINDS: tuple[type, ...] = (str, bytes, int, float, bool)
_NO_KEY = len(_KINDS)


class BadKey(ValueError):
    """A record's key cannot be used; ``reason`` is one of few fixed texts.

    Parameters
    ----------
    reason
        Why, in a few words.
    detail
        What was found, and what to do.

    """

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason


def checked_key(key: Any) -> Key:
    """Return a key as it is kept.

    Parameters
    ----------
    key
        What a record has for a key.

    Raises
    ------
    BadKey
        If it is missing or NaN, no text, bytes or number, or longer than a thousand bytes.

    Examples
    --------
    >>> checked_key("ann"), checked_key(np.int64(7))
    ('ann', 7)
    >>> checked_key(float("nan"))
    Traceback (most recent call last):
    ...
    stream_llsvm.records.keys.BadKey: the key is missing (nan): a record belongs to one key

    """
    if isinstance(key, Name):
        key = str(key)
    elif isinstance(key, np.generic):
        key = key.item()
    if is_missing(key):
        raise BadKey("no key", f"the key is missing ({show(key)}): a record belongs to one key")
    if type(key) not in _KINDS:
        kind = type(key).__name__
        raise BadKey("odd key", f"the key {show(key)} ({kind}) is no text, bytes or number")
    if _too_long(key):
        raise BadKey("long key", f"the key {show(key)} is longer than {MOST_BYTES:,} bytes")
    found: Key = key
    return found


def are_sound(keys: Sequence[Any]) -> bool:
    """Whether keys are for certain as they are kept; others need a closer look, one by one.

    Parameters
    ----------
    keys
        What records have for keys.

    Examples
    --------
    >>> are_sound(["ann", "bob"]), are_sound(["ann", None]), are_sound([7, 9])
    (True, False, True)

    """
    kinds = set(map(type, keys))
    if kinds == {str}:  # no character takes more than four bytes
        return max(map(len, keys)) <= MOST_BYTES // 4
    return kinds == {int} and max(map(abs, keys)) < 2**63


def _too_long(key: Any) -> bool:
    if isinstance(key, str):  # no character takes more than four bytes
        return 4 * len(key) > MOST_BYTES and len(_encoded(key)) > MOST_BYTES
    if isinstance(key, int):
        return key.bit_length() > 8 * MOST_BYTES // 4  # it is written in decimal digits
    return isinstance(key, bytes) and len(key) > MOST_BYTES


def _encoded(key: Any) -> bytes:
    if isinstance(key, str):
        return key.encode("utf-8", "surrogatepass")
    if isinstance(key, bytes):
        return key
    return b"" if key is None else repr(key).encode()


def packed_keys(keys: Sequence[Key | None]) -> dict[str, Any]:
    """Return keys as three values for a file; None is no key.

    Parameters
    ----------
    keys
        The keys.

    Examples
    --------
    >>> packed_keys(["ann", None, 7])["text"]
    b'ann7'

    """
    kinds = {kind: place for place, kind in enumerate(_KINDS)} | {type(None): _NO_KEY}
    written = list(map(_encoded, keys))
    return {
        "kinds": np.fromiter(map(kinds.__getitem__, map(type, keys)), np.uint8, len(keys)),
        "sizes": np.fromiter(map(len, written), np.uint16, len(keys)),
        "text": b"".join(written),
    }


def key_bytes(key: Key) -> bytes:
    """Return a key as bytes: the same for equal keys, such as 1, 1.0 and True, and only for them.

    Parameters
    ----------
    key
        The key.

    Examples
    --------
    >>> key_bytes(7) == key_bytes(7.0), key_bytes(7) == key_bytes("7")
    (True, False)

    """
    if isinstance(key, bool) or (isinstance(key, float) and key.is_integer()):
        key = int(key)
    return bytes([_KINDS.index(type(key))]) + _encoded(key)


def key_of(written: bytes) -> Key:
    """Return the key that `key_bytes` made these bytes of, or one that is equal.

    Parameters
    ----------
    written
        The bytes.

    Examples
    --------
    >>> [key_of(key_bytes(key)) for key in ("ann", b"x", 0.5, True)]
    ['ann', b'x', 0.5, 1]

    """
    found = _decoded(written[0], written[1:])
    assert found is not None
    return found


def unpacked_keys(packed: dict[str, Any]) -> list[Key | None]:
    """Return the keys that `packed_keys` made these values of.

    Parameters
    ----------
    packed
        The values, which may come from a stranger's file.

    Raises
    ------
    ValueError
        If they are no keys.

    Examples
    --------
    >>> unpacked_keys(packed_keys(["ann", None, 7, True, b"x", 0.5]))
    ['ann', None, 7, True, b'x', 0.5]

    """
    kinds, sizes, text = packed["kinds"], packed["sizes"], packed["text"]
    fits = (
        type(text) is bytes
        and _is_list(kinds, np.uint8)
        and _is_list(sizes, np.uint16)
        and len(kinds) == len(sizes)
        and int(sizes.sum(dtype=np.int64)) == len(text)
        and bool((sizes <= MOST_BYTES).all())
        and bool((kinds <= _NO_KEY).all())
    )
    if not fits:
        raise ValueError("the keys are damaged")
    ends = [0, *np.cumsum(sizes, dtype=np.int64).tolist()]
    return [
        _decoded(kind, text[begin:end])
        for kind, (begin, end) in zip(kinds.tolist(), pairwise(ends), strict=True)
    ]


def _is_list(value: Any, dtype: type[np.generic]) -> bool:
    array: NDArray[Any] = value
    return isinstance(value, np.ndarray) and array.dtype == dtype and array.ndim == 1


def _decoded(kind: int, written: bytes) -> Key | None:
    if kind == _NO_KEY:
        if written:
            raise ValueError("what is no key is written out")
        return None
    if _KINDS[kind] is str:
        return written.decode("utf-8", "surrogatepass")
    if _KINDS[kind] is bytes:
        return written
    if _KINDS[kind] is bool:
        return {b"True": True, b"False": False}[written]
    return checked_key(_KINDS[kind](written))
