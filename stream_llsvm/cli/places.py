"""Refuse a place where nothing can or must be written, before a stream is learned in vain."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

from stream_llsvm.cli.addresses import topics_of
from stream_llsvm.cli.mistakes import MistakeError, one_line


def check_can_write(flag: str, path: str) -> None:
    """Raise MistakeError if no file of this name can be written.

    Files are written under another name first, which is tried: permissions alone do not tell of
    disks that can only be read.
    """
    folder = Path(path).parent
    if Path(path).is_dir():
        raise MistakeError(f"{flag}: {path} is a folder: name a file")
    if not folder.is_dir():
        raise MistakeError(f"{flag}: there is no folder {folder}")
    try:
        with tempfile.TemporaryFile(dir=os.path.dirname(os.path.realpath(path))):
            pass
    except OSError as error:
        why = error.strerror or one_line(error)
        raise MistakeError(f"{flag}: {path} cannot be written: {why}") from None


def check_folder_place(flag: str, path: str) -> None:
    """Raise MistakeError if this is a file, and so cannot be a folder."""
    if Path(path).exists() and not Path(path).is_dir():
        raise MistakeError(f"{flag}: {path} is a file: name a folder")


def check_apart(flag: str, path: str, read: Iterable[str]) -> None:
    """Raise MistakeError if what is to be written is one of those that are read."""
    if any(places_of(path) & places_of(other) for other in read):
        raise MistakeError(f"{flag}: {path} is what is read: name another file")


def places_of(address: str) -> set[str]:
    """Return the file, or the topics, of an address; equal if they are one and the same.

    Nothing, if several may use it: standard input, a device.
    """
    topics = topics_of(address)
    if topics is not None:
        return {f"{topics.servers}/{topic}" for topic in topics.topics}
    if address == "-" or (Path(address).exists() and not Path(address).is_file()):
        return set()
    return {os.path.realpath(address)}
