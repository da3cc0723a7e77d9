"""Look before a run whether the columns named are there, and what is to be written can be."""

from __future__ import annotations

import csv
import io
import os
import shlex
import tempfile
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from stream_llsvm.cli.errors import MistakeError, listed, nearest, one_line
from stream_llsvm.connectors.base import SourceError
from stream_llsvm.connectors.registry import connector_of
from stream_llsvm.connectors.selection import Selection, ways_to
from stream_llsvm.records.nested import flattened

_DELIMITERS = ";\t|"


def first_records(address: str, given: Mapping[str, Any]) -> list[dict[str, Any]] | None:
    """Return the first records, labels and all; None if they cannot be looked at.

    Values are as they are, but for objects, whose fields are those of the record.
    """
    records = _as_they_come(address, given)
    return None if records is None else [flattened(record).record for record in records]


def _as_they_come(address: str, given: Mapping[str, Any]) -> list[dict[str, Any]] | None:
    try:
        return connector_of(address).first_records(address, given)
    except FileNotFoundError as error:
        path = str(error)
        folder = os.path.dirname(path) or "."
        names = os.listdir(folder) if os.path.isdir(folder) else []
        like = nearest(os.path.basename(path), names)
        hint = f"; did you mean {os.path.join(os.path.dirname(path), like)}?" if like else ""
        raise MistakeError(f"{path}: there is no such file{hint}") from None
    except (ValueError, ImportError, SourceError, OSError) as error:
        raise MistakeError(one_line(error)) from None


def has_own_labels(address: str, given: Mapping[str, Any]) -> bool:
    """Whether the format says where the label is, so that it needs no name."""
    try:
        return connector_of(address).has_own_labels(address, given)
    except ValueError as error:
        raise MistakeError(one_line(error)) from None


def column_names(records: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the names of all columns, in the order in which they appear."""
    return list(dict.fromkeys(name for record in records for name in record))


def check_columns(path: str, given: Mapping[str, Any], slices: Sequence[str] = ()) -> None:
    """Raise MistakeError if a column is not there that is named, or is to be two things.

    Slices are by features only: of other columns no record has anything any more.
    """
    raw = _as_they_come(path, given) or []
    records = [flattened(record).record for record in raw]
    names = column_names(records)
    if not names or has_own_labels(path, given):
        return
    ignored, features = given.get("ignore", []), given.get("features")
    apart: dict[str, Any] = {name: given.get(name) for name in ("label", "key", "weight")}
    kinds = given.get("fields", {})
    said = {f"{name}={kind}": name for name, kind in kinds.items() if kind != "ignore"}
    check_names(path, records, apart | said | {"time": given.get("time")})
    # Of an object these take all that is in it.
    out = [*ignored, *(name for name, kind in kinds.items() if kind == "ignore")]
    wide = {f"to ignore {name}": name for name in out}
    wide |= {f"feature {name}": name for name in features or []}
    check_names(path, records, wide, _objects(raw, names))
    check_names(path, records, {f"slices {name}": name for name in slices})
    try:
        selection = Selection(**apart, ignore=out, features=features)
    except ValueError as error:
        raise MistakeError(one_line(error)) from None
    own = column_names(raw)
    for name in slices:
        if name == selection.weight or not selection.wanted_inside(name, inside=name not in own):
            raise MistakeError(f"slices: {name!r} is no feature here, and slices are by features")


def _objects(raw: Iterable[Mapping[str, Any]], names: Iterable[str]) -> list[str]:
    """Return the ways to the objects that fields were taken out of: payload of payload.amount."""
    own = set(column_names(raw))
    ways = {way: None for name in names if name not in own for way in ways_to(name)[1:]}
    return list(ways)


def check_names(
    path: str,
    records: list[dict[str, Any]],
    asked: Mapping[str, str | None],
    objects: Sequence[str] = (),
) -> None:
    """Raise MistakeError if one of the columns asked for is not there, nor such an object."""
    names = column_names(records)
    for what, name in asked.items():
        if name is not None and names and name not in names and name not in objects:
            like = nearest(name, [*names, *objects])
            hint = f"did you mean {like!r}? " if like else ""
            raise MistakeError(
                f"{path}: there is no column {name!r} ({what}): {hint}There are {listed(names)}"
                f"{_another_reading(names)}"
            )


def _another_reading(names: Sequence[Any]) -> str:
    """Return what to do if these names show that the file is not read as it is meant."""
    only = str(names[0])
    apart = next((c for c in _DELIMITERS if c in only), None) if len(names) == 1 else None
    if apart is not None:
        return f"; if {apart!r} stands between them: --delimiter '{apart}'"
    if any(is_number(name) for name in names):
        return "; if that is a record, and the file has no header: give --names a,b,... "
    return ""


def is_number(name: Any) -> bool:
    """Tell whether a name, or a value, is written as a number."""
    try:
        float(name)
    except ValueError:
        return False
    return True


def flag_of(names: Collection[str], order: Sequence[str] = ()) -> str:
    """Return names as they are written behind a flag, ready to be copied into a shell.

    Examples
    --------
    >>> print(flag_of(["a", "b"]), flag_of(["my id", "height, m"]))
    a,b 'my id,"height, m"'

    """
    line = io.StringIO()
    sorted_names = [name for name in order if name in names] if order else list(names)
    csv.writer(line, lineterminator="").writerow(sorted_names)
    return shlex.quote(line.getvalue())


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
    """Return the file, or the topics, of an address; equal if they are one and the same."""
    try:
        return connector_of(address).places(address)
    except ValueError as error:
        raise MistakeError(one_line(error)) from None
