"""The model file: plain values in, one versioned and checksummed file out.

The format knows nothing of learners: a payload is what `packed_values` packs.
The file is a header and a body, numbers in network byte order::

    8 bytes   magic
    2         format version
    8         length of the body
    32        BLAKE2b of version, length and body
    ...       body

A checksum finds accidents, not malice: anyone can compute it. The body is
therefore read as if a stranger had written it.
"""

import contextlib
import hashlib
import os
import secrets
import stat
import struct
import sys
from collections.abc import Mapping
from pathlib import Path

from stream_llsvm.model.packing import MalformedError, pack, unpack

__all__ = ["ModelFileError", "dumps", "loads", "read", "replace", "write"]

MAGIC = b"\x89LLSVM\r\n"  # a high byte and a line end: text-mode copying breaks it at once
VERSION = 2  # 1 did not say what lies where in a model's block; docs/formats.md
HEADER = struct.Struct(">8sHQ32s")


class ModelFileError(ValueError):
    """The file is foreign, truncated, damaged, or made by a newer version."""


def dumps(payload: Mapping[str, object]) -> bytes:
    """Return the payload as the bytes of a model file.

    Equal payloads, in the same order, give equal bytes.

    Parameters
    ----------
    payload
        Names and values. Arrays are kept in C order.

    Raises
    ------
    TypeError
        A value of another type than can be packed; the message says where.
    ValueError
        Containers are nested deeper than `packed_values.MAX_DEPTH`.

    Examples
    --------
    >>> from stream_llsvm.model import file as model_file
    >>> data = model_file.dumps({"seed": 7, "classes": ("no", "yes")})
    >>> model_file.loads(data)
    {'seed': 7, 'classes': ('no', 'yes')}
    """
    _check_byte_order()
    body = pack(payload)
    return HEADER.pack(MAGIC, VERSION, len(body), _checksum(VERSION, body)) + body


def loads(data: bytes) -> dict[str, object]:
    """Return the payload that `dumps` made these bytes of.

    Raises
    ------
    ModelFileError
        The bytes are no model file, or not a whole and sound one.
    """
    _check_byte_order()
    if not data.startswith(MAGIC[: len(data)]):
        raise ModelFileError("not a model file: it does not start like one")
    if len(data) < HEADER.size:
        raise ModelFileError(f"truncated: {len(data)} bytes, less than a model file's header")
    _, version, length, checksum = HEADER.unpack_from(data)
    if version > VERSION:
        raise ModelFileError(
            f"made by a newer version of stream_llsvm: it has format {version}, "
            f"this version reads up to format {VERSION}; upgrade stream_llsvm"
        )
    body = memoryview(data)[HEADER.size :]
    if len(body) < length:
        raise ModelFileError(f"truncated: {len(body)} of {length} bytes of the body are there")
    if len(body) > length or _checksum(version, body) != checksum:
        raise ModelFileError("damaged: the checksum does not fit the contents")
    try:
        return unpack(body)
    except MalformedError as error:
        raise ModelFileError(f"malformed: {error}") from error


def write(
    path: str | os.PathLike[str],
    payload: Mapping[str, object],
    *,
    via: str | os.PathLike[str] | None = None,
    private: bool = False,
) -> None:
    """Write a model file, whole or not at all.

    The bytes go to a temporary file, which then takes the place of `path`.
    Whatever happens, even a power cut, `path` holds the old file or the new one.
    Only a process killed on the way can leave the temporary file
    (``.model-*.tmp``) behind.

    Parameters
    ----------
    path
        Where to write; an existing file is replaced.
    payload
        Names and values, as for `dumps`.
    via
        The folder of the temporary file, on the same disk; that of `path` if
        not given.
    private
        Whether only this user may read it, whatever others usually may.
    """
    replace(path, dumps(payload), via=via, follow=True, private=private)


def replace(
    path: str | os.PathLike[str],
    data: bytes,
    *,
    via: str | os.PathLike[str] | None = None,
    follow: bool = False,
    private: bool = False,
) -> None:
    """Put a file with these bytes into a path's place, whole or not at all.

    The temporary file is new and has a name that nobody can guess: a link that somebody else put
    into the folder is never written through.

    Parameters
    ----------
    path
        Where to write.
    data
        What the file holds.
    via, private
        As for `write`.
    follow
        Whether a link at `path` stays one, and the file that it names is replaced.
    """
    target = os.path.realpath(path) if follow else os.path.abspath(path)
    folder = os.path.dirname(target)
    temporary = os.path.join(via or folder, f".model-{secrets.token_hex(8)}.tmp")
    try:
        mode = 0o600 if private else 0o666
        with open(temporary, "xb", opener=lambda name, how: os.open(name, how, mode)) as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException as error:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        if isinstance(error, OSError) and error.filename in (None, temporary):
            error.filename = os.fspath(path)
        raise
    if os.name == "posix":  # elsewhere a folder cannot be opened, and need not be
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def read(path: str | os.PathLike[str]) -> dict[str, object]:
    """Return the payload of a model file.

    Raises
    ------
    ModelFileError
        As for `loads`; the message begins with the path.
    """
    kind = os.stat(path).st_mode
    if not (stat.S_ISREG(kind) or stat.S_ISDIR(kind)):  # a pipe would be waited for
        raise ModelFileError(f"{os.fspath(path)}: it is no regular file")
    try:
        return loads(Path(path).read_bytes())
    except ModelFileError as error:
        raise ModelFileError(f"{os.fspath(path)}: {error}") from error


def _check_byte_order() -> None:
    """Raise ModelFileError where numbers lie the other way round: a model's block holds several."""
    if sys.byteorder != "little":
        raise ModelFileError("models are saved and loaded on little-endian processors only")


def _checksum(version: int, body: bytes | memoryview) -> bytes:
    digest = hashlib.blake2b(struct.pack(">HQ", version, len(body)), digest_size=32)
    digest.update(body)
    return digest.digest()
