"""Plain values as bytes, and back, each with its type and its bits.

None, bool, int, float, str, `Name`, bytes, list, tuple, dict, numpy scalars, and numpy arrays of
booleans and numbers; the bytes are msgpack. Unpacking runs no code from them: every kind of value
is rebuilt from a fixed list. Memory grows only with values that are present, at most by about a
hundred bytes for each byte.
"""

import math
import struct
from collections.abc import Mapping
from typing import NoReturn

import msgpack
import numpy as np

from stream_llsvm.records.texts import Name

MAX_DEPTH = 64  # containers inside containers

# What msgpack cannot say by itself travels under these extension codes.
_TUPLE, _BIG_INT, _ARRAY, _SCALAR, _NUMPY_STR, _NUMPY_BYTES, _NAME = range(1, 8)
_TUPLE_MARK = b"\xc7\x00\x01"  # an empty extension: first item of an array that is a tuple
_PLAIN = frozenset({type(None), bool, float, str, bytes})
_CONTAINERS = frozenset({dict, list, tuple})
_NUMBERS = ("i2", "i4", "i8", "u2", "u4", "u8", "f2", "f4", "f8")
_NAMES = ("|b1", "|i1", "|u1", *(order + number for order in "<>" for number in _NUMBERS))
_DTYPES = {name.encode(): np.dtype(name) for name in _NAMES}


class MalformedError(ValueError):
    """The bytes are not what `pack` makes."""


def pack(payload: Mapping[str, object]) -> bytes:
    """Return names and values as bytes: the same for equal payloads in the same order."""
    for name in payload:
        if type(name) is not str:
            raise TypeError(f"a payload's names are strings, not {type(name).__name__}: {name!r}")
    packer = msgpack.Packer(autoreset=False, strict_types=True, unicode_errors="surrogatepass")
    _pack(packer, dict(payload), ())
    body: bytes = packer.bytes()
    return body


def _pack(packer: msgpack.Packer, value: object, where: tuple[object, ...]) -> None:
    kind = type(value)
    if kind in _CONTAINERS and len(where) >= MAX_DEPTH:
        raise ValueError(f"{_place(where[:4])}... is nested deeper than {MAX_DEPTH} levels")
    if kind in _PLAIN:
        packer.pack(value)
    elif isinstance(value, int) and kind is int:
        if -(2**63) <= value < 2**64:
            packer.pack(value)
        else:
            size = value.bit_length() // 8 + 1  # one bit more, for the sign
            packer.pack_ext_type(_BIG_INT, value.to_bytes(size, "big", signed=True))
    elif isinstance(value, dict) and kind is dict:
        packer.pack_map_header(len(value))
        for key, item in value.items():
            _pack(packer, key, (*where, key))
            _pack(packer, item, (*where, key))
    elif isinstance(value, list | tuple) and kind in _CONTAINERS:
        packer.pack_array_header(len(value) + (kind is tuple))
        if kind is tuple:
            packer.pack_ext_type(_TUPLE, b"")
        for position, item in enumerate(value):
            _pack(packer, item, (*where, position))
    elif isinstance(value, np.str_) and kind is np.str_:
        packer.pack_ext_type(_NUMPY_STR, value.encode("utf-8", "surrogatepass"))
    elif isinstance(value, Name):
        packer.pack_ext_type(_NAME, value.encode("utf-8", "surrogatepass"))
    elif isinstance(value, np.bytes_) and kind is np.bytes_:
        packer.pack_ext_type(_NUMPY_BYTES, bytes(value))
    elif isinstance(value, np.generic | np.ndarray) and kind in (np.ndarray, value.dtype.type):
        dtype = value.dtype.str.encode()
        if dtype not in _DTYPES:
            raise TypeError(f"{_place(where)}: a model file cannot hold numpy's {value.dtype}")
        head = dtype + struct.pack(f">B{value.ndim}Q", value.ndim, *value.shape)
        code = _ARRAY if kind is np.ndarray else _SCALAR
        packer.pack_ext_type(code, head + value.tobytes())
    else:
        name = f"{kind.__module__}.{kind.__qualname__}".removeprefix("builtins.")
        raise TypeError(f"{_place(where)}: a model file cannot hold a {name}")


def _place(where: tuple[object, ...]) -> str:
    return "payload" + "".join(f"[{_shown(key)}]" for key in where)


def _shown(key: object) -> str:
    try:
        return repr(key)[:40]
    except ValueError:  # an int too long for decimal digits
        return f"a long {type(key).__name__}"


def _bad(what: str) -> NoReturn:
    raise MalformedError(what)


def unpack(body: memoryview) -> dict[str, object]:
    """Return the payload that `pack` made these bytes of; raises MalformedError."""
    unpacker = msgpack.Unpacker(
        max_buffer_size=max(len(body), 1), unicode_errors="surrogatepass", strict_map_key=False
    )
    unpacker.feed(body)
    try:
        payload = _unpack(unpacker, body, 0)
    except MalformedError:
        raise
    # IndexError, OutOfData: the body ends within a value. The others: msgpack or
    # numpy will not take a value, or a dict will not take a key.
    except (IndexError, ValueError, TypeError, ArithmeticError, msgpack.UnpackException) as error:
        raise MalformedError(str(error) or "the body ends within a value") from error
    if unpacker.tell() != len(body):
        _bad("something follows the payload")
    if not isinstance(payload, dict) or any(type(name) is not str for name in payload):
        _bad("the body is not a dict with names for keys")
    return payload


def _unpack(unpacker: msgpack.Unpacker, body: memoryview, depth: int) -> object:
    """Read one value, containers by hand: msgpack would nest and allocate as it is told."""
    first = body[unpacker.tell()]
    if first & 0xF0 == 0x90 or first in (0xDC, 0xDD):
        if depth >= MAX_DEPTH:
            _bad(f"nested deeper than {MAX_DEPTH} levels")
        items: list[object] = []
        length = unpacker.read_array_header()
        start = unpacker.tell()
        is_tuple = length > 0 and body[start : start + 3].tobytes() == _TUPLE_MARK
        if is_tuple:
            unpacker.unpack()
            length -= 1
        for _ in range(length):
            items.append(_unpack(unpacker, body, depth + 1))
        return tuple(items) if is_tuple else items
    if first & 0xF0 == 0x80 or first in (0xDE, 0xDF):
        if depth >= MAX_DEPTH:
            _bad(f"nested deeper than {MAX_DEPTH} levels")
        mapping: dict[object, object] = {}
        for _ in range(unpacker.read_map_header()):
            key = _unpack(unpacker, body, depth + 1)
            if key in mapping:
                _bad("a dict has the same key twice")
            mapping[key] = _unpack(unpacker, body, depth + 1)
        return mapping
    value = unpacker.unpack()
    if isinstance(value, msgpack.ExtType):
        return _unpack_extension(value.code, value.data)
    if isinstance(value, msgpack.Timestamp):
        _bad("an unknown extension code")
    return value


def _unpack_extension(code: int, data: bytes) -> object:
    if code == _BIG_INT:
        return int.from_bytes(data, "big", signed=True)
    if code == _NUMPY_STR:
        return np.str_(data.decode("utf-8", "surrogatepass"))
    if code == _NAME:
        return Name(data.decode("utf-8", "surrogatepass"))
    if code == _NUMPY_BYTES:
        return np.bytes_(data)
    if code not in (_ARRAY, _SCALAR):
        _bad(f"an unknown extension code {code}")
    dtype = _DTYPES.get(data[:3])
    if dtype is None or len(data) < 4:
        _bad("an array of a type that is not allowed")
    start = 4 + 8 * data[3]
    shape = struct.unpack(f">{data[3]}Q", data[4:start]) if len(data) >= start else (-1,)
    if math.prod(shape) * dtype.itemsize != len(data) - start:
        _bad("an array's shape does not fit its bytes")
    if dtype == np.bool_ and data[start:].strip(b"\x00\x01"):
        _bad("a boolean array holds something else")
    array: np.ndarray[tuple[int, ...], np.dtype[np.generic]]
    array = np.ndarray(shape, dtype, buffer=data, offset=start)
    if code == _ARRAY:
        return array.copy()
    if shape:
        _bad("a scalar with a shape")
    return array[()]
