"""Refuse a place where nothing can be written, before a stream has been learned in vain."""

from __future__ import annotations

from pathlib import Path

from stream_llsvm.cli.mistakes import MistakeError


def check_file_place(flag: str, path: str) -> None:
    """Raise MistakeError if no file of this name can be made."""
    if Path(path).is_dir():
        raise MistakeError(f"{flag}: {path} is a folder: name a file")
    if not Path(path).parent.is_dir():
        raise MistakeError(f"{flag}: there is no folder {Path(path).parent}")


def check_folder_place(flag: str, path: str) -> None:
    """Raise MistakeError if this is a file, and so cannot be a folder."""
    if Path(path).exists() and not Path(path).is_dir():
        raise MistakeError(f"{flag}: {path} is a file: name a folder")
