"""Look at the first records before a run: whether the columns named are there, and are numbers."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from stream_llsvm.cli.mistakes import MistakeError, listed, nearest, one_line
from stream_llsvm.connectors.base import SourceError

_LOOKED_AT = 100
_SHAPE = ("format", "names", "delimiter")
_DELIMITERS = ";\t|"


def first_records(path: str, given: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the first records of a file as they are, labels and all."""
    from stream_llsvm.connectors.files import FileSource

    if not os.path.exists(path):
        folder = os.path.dirname(path) or "."
        names = os.listdir(folder) if os.path.isdir(folder) else []
        like = nearest(os.path.basename(path), names)
        hint = f"; did you mean {os.path.join(os.path.dirname(path), like)}?" if like else ""
        raise MistakeError(f"{path}: there is no such file{hint}")
    format_of_file(path, given)
    options = {key: given[key] for key in _SHAPE if key in given}
    try:
        source = FileSource(path, numeric=False, **options)
        try:
            batch = source.poll(_LOOKED_AT, 1.0)
        finally:
            source.close()
    except (ValueError, ImportError, SourceError, OSError) as error:
        raise MistakeError(one_line(error)) from None
    return [] if batch is None else [batch.record(i) for i in range(len(batch))]


def column_names(records: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the names of all columns, in the order in which they appear."""
    return list(dict.fromkeys(name for record in records for name in record))


def check_columns(path: str, given: Mapping[str, Any]) -> None:
    """Raise MistakeError if a column is not there, or is text that nobody asked to leave out."""
    format_of_file(path, given)
    if path == "-" or (given.get("follow") and not os.path.exists(path)):
        return  # nothing can be looked at beforehand
    records = first_records(path, given)
    names = column_names(records)
    if not names or is_svmlight(path, given):
        return
    ignored = given.get("ignore", [])
    asked = {"label": given.get("label"), "key": given.get("key")}
    check_names(path, records, asked | {f"to ignore {name}": name for name in ignored})
    apart = {given.get("label"), given.get("key"), *ignored}
    wordy = [name for name in names if name not in apart and _is_text(name, records)]
    if wordy:
        shown = next(record[wordy[0]] for record in records if record.get(wordy[0]) is not None)
        more = " ".join(f"--ignore {name}" for name in wordy[:3])
        raise MistakeError(
            f"{path}: column {wordy[0]!r} is text ({shown!r}), features are numbers: leave it out "
            f"with {more}" + (", or name it with --label" if given.get("label") is None else "")
        )


def check_names(path: str, records: list[dict[str, Any]], asked: Mapping[str, str | None]) -> None:
    """Raise MistakeError if one of the columns asked for is not there."""
    names = column_names(records)
    for what, name in asked.items():
        if name is not None and names and name not in names:
            like = nearest(name, names)
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
    if any(_is_number(name) for name in names):
        return "; if that is a record, and the file has no header: give --names a,b,... "
    return ""


def _is_number(name: Any) -> bool:
    try:
        float(name)
    except ValueError:
        return False
    return True


def format_of_file(path: str, given: Mapping[str, Any]) -> str:
    """Return a file's format; MistakeError if neither its name nor the user tells."""
    from stream_llsvm.connectors.files import format_of

    if os.path.isdir(path):
        raise MistakeError(f"{path} is a folder: name a file in it")
    try:
        return format_of(path, given.get("format", "auto"))
    except ValueError:
        raise MistakeError(
            f"{path}: which format does it have? Give --format csv, jsonl, svmlight or parquet"
        ) from None


def is_svmlight(path: str, given: Mapping[str, Any]) -> bool:
    """Whether the label is where the format says, and has no name."""
    return format_of_file(path, given) == "svmlight"


def _is_text(name: str, records: list[dict[str, Any]]) -> bool:
    values = [record[name] for record in records if record.get(name) is not None]
    return bool(values) and all(isinstance(value, str) for value in values)


def asked_for(**options: Any) -> dict[str, Any]:
    """Return the options that were given."""
    if options.get("names"):
        options["names"] = names_in(options["names"])
    return {name: value for name, value in options.items() if value not in (None, [])}


def names_in(given: Iterable[str]) -> list[str]:
    """Return the names of columns that a flag gives, between commas or by repeating it.

    Examples
    --------
    >>> names_in(["a, b", "y"])
    ['a', 'b', 'y']

    """
    return [name.strip() for one in given for name in one.split(",")]
