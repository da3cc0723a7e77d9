"""Files as a source: CSV, JSON Lines, svmlight and Parquet, compressed or not, also growing ones.

A position is exact: whatever the format, the source continues with the very next record. It holds
the file, where in it the next record starts, and a checksum of the bytes before, by which a file
that is not the one it was is found out.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from time import monotonic, sleep
from typing import Any

from stream_llsvm.connectors.base import Batch, Position, SourceError
from stream_llsvm.connectors.codec import Codec
from stream_llsvm.connectors.csv_codec import CsvCodec, as_delimiter
from stream_llsvm.connectors.description import described
from stream_llsvm.connectors.file.encodings import as_encoding
from stream_llsvm.connectors.file.line_file import LineFile
from stream_llsvm.connectors.file.parquet import ParquetReader
from stream_llsvm.connectors.file.slices import FileSlices
from stream_llsvm.connectors.values import MISSING

_PAUSE = 0.05
_LONGEST = 10_000_000
_FORMATS = {
    "csv": "csv",
    "tsv": "csv",
    "jsonl": "jsonl",
    "ndjson": "jsonl",
    "json": "jsonl",
    "svmlight": "svmlight",
    "libsvm": "svmlight",
    "svm": "svmlight",
    "parquet": "parquet",
    "pq": "parquet",
}


class FileSource:
    r"""Records from files, one after the other.

    Parameters
    ----------
    paths
        A file, or several in order. ``-`` is standard input; names that end in ``.gz`` or
        ``.zst`` (needs zstandard) are compressed.
    format
        ``csv``, ``jsonl``, ``svmlight`` or ``parquet`` (needs pyarrow); ``auto`` goes by the
        name of each file.
    label, key, ignore, features
        Which fields are the label, the key, no features, and (if given) the only features.
    numeric, missing, decimal, on_bad_field, fields
        How features are read, see `Values`.
    unwrap
        Of JSON Lines: the way to the object that is the record, see `Codec`.
    weight
        The field that says how much a record counts, see `Codec`.
    names
        The names of a CSV file's columns, if it has no header.
    delimiter
        What stands between two fields of CSV; a tab for ``.tsv``, or else a comma.
    encoding
        How text is written, by Python's names: ``utf-8``, ``latin-1``, ``utf-16``, ...
    follow
        Whether to wait for more at the end of the last file, like ``tail -F``: a file that is
        renamed is read to its end, and then the new one of its name. A file that is emptied
        in place is read from its start, and a `Rejected` ("file truncated") tells of it.
    max_record_bytes
        Longer records are rejected, and only their first 1,000 bytes kept.
    time
        The field that says when a record was, for who merges files: see `MergedFiles`.
    end
        The position at which to stop, if not at the end of the last file.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "wind.csv"
    >>> _ = path.write_text("speed,rain,y\n3.5,0,calm\n11,NA,storm\nfast,1,storm\n1,2\n")
    >>> source = FileSource(path, label="y")
    >>> batch = source.poll(1000, 0.0)
    >>> batch.names, batch.values.tolist(), batch.labels
    (('speed', 'rain'), [[3.5, 0.0], [11.0, nan], [nan, 1.0]], ['calm', 'storm', 'storm'])
    >>> batch.record(2)
    {'speed': 'fast', 'rain': 1.0}
    >>> batch.rejected[0].place.number, batch.rejected[0].reason
    (5, 'wrong number of fields')
    >>> source.poll(1000, 0.0), source.ended
    (None, True)

    """

    def __init__(
        self,
        paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
        format: str = "auto",
        *,
        label: str | None = None,
        key: str | None = None,
        ignore: Collection[str] = (),
        features: Collection[str] | None = None,
        numeric: bool = True,
        missing: Collection[str] = MISSING,
        decimal: str = ".",
        on_bad_field: str = "missing",
        fields: Mapping[str, str] | None = None,
        unwrap: str | None = None,
        weight: str | None = None,
        names: Sequence[str] | None = None,
        delimiter: str | None = None,
        encoding: str = "utf-8",
        follow: bool = False,
        max_record_bytes: int = _LONGEST,
        time: str | None = None,
        end: Position | None = None,
    ) -> None:
        several = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
        if not several:
            raise ValueError("name at least one file")
        self.paths = all_paths = [os.fspath(path) for path in several]
        self.formats = [format_of(path, format) for path in self.paths]
        self._options: dict[str, Any] = {
            "label": label,
            "key": key,
            "ignore": ignore,
            "features": features,
            "numeric": numeric,
            "missing": missing,
            "decimal": decimal,
            "on_bad_field": on_bad_field,
            "fields": fields,
            "unwrap": unwrap,
            "weight": weight,
        }
        Codec(**self._options)  # which checks them
        self._names = names
        self._delimiter = None if delimiter is None else as_delimiter(delimiter)
        self.encoding = as_encoding(encoding)
        if names is not None:
            CsvCodec(names, delimiter or ",", **self._options)  # which checks them
        self.follow = follow
        last = self.paths[-1]
        if follow and (self.formats[-1] == "parquet" or last.lower().endswith((".gz", ".zst"))):
            raise ValueError(f"{last}: only a plain file of lines can be followed")
        if follow and self.encoding is not None:
            raise ValueError(f"{last}: only a file in UTF-8 can be followed, not in {encoding}")
        self.max_record_bytes = max_record_bytes
        self._time = time
        for path, kind in zip(self.paths, self.formats, strict=True):
            if time is not None and kind in ("parquet", "svmlight"):
                raise ValueError(
                    f"{path}: only CSV and JSON Lines can be merged by time, not {kind}"
                )
        self._shape = {
            "format": format, "names": names, "delimiter": delimiter, "encoding": encoding,
            "follow": follow, "time": time,
        }  # fmt: skip
        self._end = end
        if end is not None:
            begun = "offset" in end or "record" in end
            self.paths = all_paths[: end["file"] + begun]
        self._slices: FileSlices | None = None
        self._file = 0
        self._reader: LineFile | ParquetReader | None = None
        self._closed = False
        self._position: Position = {"file": 0, "path": all_paths[0]}

    @property
    def seekable(self) -> bool:
        """Whether it can go back to a position: what came from standard input cannot."""
        return self.paths != ["-"]

    @property
    def name(self) -> str:
        """The first file, and how many more there are."""
        first = "standard input" if self.paths[0] == "-" else self.paths[0]
        more = len(self.paths) - 1
        return first + (f" and {more} more" if more else "")

    @property
    def ended(self) -> bool:
        """Whether all files were read to the end."""
        return self._file >= len(self.paths)

    @property
    def position(self) -> Position:
        """Where it stands: behind the last batch handed out."""
        return dict(self._position)

    def keep_text(self) -> None:
        """Leave values as they are from now on: see `Verbatim`."""
        self._options["numeric"] = False
        if self._reader is not None:
            self.seek(self.position)

    def poll(self, max_records: int, timeout: float) -> Batch | None:
        """Return the next records, at most so many; None if none came within so many seconds."""
        if max_records < 1:
            raise ValueError("max_records must be at least 1")
        if self._closed:
            raise SourceError(f"{self.name}: the source is closed")
        deadline = monotonic() + timeout
        while not self.ended:
            if self._reader is None:
                self._reader = self._opened(self._file)
            got = self._reader.next(max_records, max(0.0, deadline - monotonic()))
            if isinstance(got, Batch):
                self._position = got.position
                if len(got) or got.rejected or got.deletes:
                    return got
            elif got is False:
                self._close_reader()
                self._file += 1
            elif got is None:
                left = deadline - monotonic()
                if left <= 0:
                    return None
                sleep(min(_PAUSE, left))
        return None

    def _opened(self, file: int, position: Position | None = None) -> LineFile | ParquetReader:
        path, end = self.paths[file], self._end
        upto = end.get("record", end.get("offset")) if end and end["file"] == file else None
        if self.formats[file] == "parquet":
            return ParquetReader(path, self._options, {"file": file, "path": path}, position, upto)
        return LineFile(
            path,
            self.formats[file],
            self._options,
            names=self._names,
            delimiter=self._delimiter,
            encoding=self.encoding,
            limit=self.max_record_bytes,
            follow=self.follow and file == len(self.paths) - 1,
            base={"file": file, "path": path},
            position=position,
            time=self._time,
            end=upto,
        )

    def seek(self, position: Position) -> None:
        """Continue with the record behind this position, which it gave once itself."""
        file = position.get("file")
        if not isinstance(file, int) or not 0 <= file < len(self.paths):
            raise SourceError(
                f"{self.name}: the position is in file {file} (the first is 0), which is not among "
                "them; name the same files in the same order, or start without the position"
            )
        path = self.paths[file]
        if position.get("path") != path:
            raise SourceError(
                f"{path}: the position is in {position.get('path')}; name the same files in the "
                "same order, or start without the position"
            )
        reader = None
        numbers = (value for name, value in position.items() if name not in ("file", "path"))
        if not all(type(value) is int and 0 <= value < 2**63 for value in numbers):
            raise SourceError(f"{path}: not a position in it: {position}")
        if len(position) > 2:
            try:
                reader = self._opened(file, position)
            except (KeyError, TypeError):
                raise SourceError(f"{path}: not a position in it: {position}") from None
        self._close_reader()
        self._reader = reader
        self._file = file
        self._position = dict(position)

    def pass_over(self, most: int) -> int:
        """Go on behind the next records, at most so many, unread; return how many there were."""
        passed = 0
        while passed < most and not self.ended:
            if self._reader is None:
                self._reader = self._opened(self._file)
            here = self._reader.pass_over(most - passed)
            passed += here
            if here:
                self._position = self._reader.position
            else:
                self._close_reader()
                self._file += 1
        return passed

    @property
    def endless(self) -> bool:
        """Whether more may come behind the end."""
        return self.follow

    @property
    def description(self) -> dict[str, Any]:
        """What another process makes the same source of, see `Described`."""
        if self.max_record_bytes != _LONGEST:
            raise ValueError("learners read records of at most 10 MB: leave out max_record_bytes")
        return described(self.paths, self._shape | self._options)

    def start(self) -> Position:
        """Return where the first file begins."""
        return {"file": 0, "path": self.paths[0]}

    def ends(self) -> Position:
        """Return where the last file ends now."""
        return self._dealt.ends()

    def cut(self, begin: Position, ends: Position, size: int, count: int) -> list[Position]:
        """Return the borders of slices of so many records, see `Sliced`."""
        return self._dealt.cut(begin, ends, size, count)

    def backlog(self, begin: Position, ends: Position) -> int:
        """Return about how many records lie between two positions."""
        return self._dealt.backlog(begin, ends)

    def between(self, begin: Position, end: Position) -> Iterator[Batch]:
        """Yield the records between two positions."""
        return self._dealt.between(begin, end)

    @property
    def _dealt(self) -> FileSlices:
        """The slices; SourceError if the files cannot be read from their middle."""
        if self._slices is None:
            options = self._shape | self._options | {"max_record_bytes": self.max_record_bytes}
            self._slices = FileSlices(self, lambda end: FileSource(self.paths, end=end, **options))
        return self._slices

    def _close_reader(self) -> None:
        if self._reader is not None:
            self._reader.close()
        self._reader = None

    def close(self) -> None:
        """Let go of the files."""
        self._close_reader()
        if self._slices is not None:
            self._slices.close()
        self._closed = True


def format_of(path: str, format: str) -> str:
    """Return a file's format, by its name if it is not told."""
    if format in ("csv", "jsonl", "svmlight", "parquet"):
        return format
    if format != "auto":
        raise ValueError(f"unknown format {format!r}: auto, csv, jsonl, svmlight or parquet")
    known = [s.lower().removeprefix(".") for s in Path(path).suffixes]
    if known and known[-1] in ("gz", "zst"):
        known.pop()
    # A rotated file has its number behind its name: log.jsonl.1
    while known and known[-1].isdigit():
        known.pop()
    if not known or known[-1] not in _FORMATS:
        raise ValueError(
            f"{path}: its name does not tell its format; give format='csv', 'jsonl', 'svmlight' "
            "or 'parquet'"
        )
    return _FORMATS[known[-1]]
