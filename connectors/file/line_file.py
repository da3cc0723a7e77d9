"""One file of lines: its header, its records, and what comes after it if it is followed."""

from __future__ import annotations

import os
import re
import shlex
import zlib
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from stream_llsvm.connectors.base import Batch, Place, Position, Rejected, SourceError
from stream_llsvm.connectors.codec import Codec
from stream_llsvm.connectors.columns import Places
from stream_llsvm.connectors.csv_codec import CsvCodec, Quotes, split
from stream_llsvm.connectors.field_times import NO_TIME, FieldTimes
from stream_llsvm.connectors.file import rotation
from stream_llsvm.connectors.file.byte_streams import ByteStream, PlainStream
from stream_llsvm.connectors.file.encodings import open_encoded
from stream_llsvm.connectors.file.lines import LineReader, Taken
from stream_llsvm.connectors.json_codec import JsonCodec
from stream_llsvm.connectors.rows import chosen
from stream_llsvm.connectors.svmlight_codec import SvmlightCodec
from stream_llsvm.connectors.values import Bad

# A line that begins an array of objects, and not a word in brackets, as in a log.
_ARRAY = re.compile(rb"\s*\[\s*(\{|$)")


class LineFile:
    """Reads one file of lines.

    Parameters
    ----------
    path
        Its name.
    kind
        ``csv``, ``jsonl`` or ``svmlight``.
    options
        As for every `Codec`.
    names
        The names of the columns of CSV without a header.
    delimiter
        What stands between two fields of CSV; a tab for ``.tsv``, or else a comma.
    encoding
        How text is written; None for UTF-8.
    limit
        How many bytes a record may have.
    follow
        Whether to wait for more at its end.
    base
        What a position holds besides.
    position
        Where to start; None for the start.
    time
        The field that says when a record was, if batches are to tell.
    end
        The byte at which to stop, if not at the end of the file.

    """

    def __init__(
        self,
        path: str,
        kind: str,
        options: dict[str, Any],
        *,
        names: Sequence[str] | None,
        delimiter: str | None,
        encoding: str | None,
        limit: int,
        follow: bool,
        base: Position,
        position: Position | None = None,
        time: str | None = None,
        end: int | None = None,
    ) -> None:
        self.time, self.end = time, end
        self._times: FieldTimes | None = None
        self.path = path
        self.kind = kind
        self.options = options
        self.names = names
        tabs = ".tsv" in [suffix.lower() for suffix in Path(path).suffixes]
        self.delimiter = delimiter or ("\t" if tabs else ",")
        self.encoding = encoding
        self.limit = limit
        self.follow = follow
        self.base = base
        if position is None:
            self._open(path)
            return
        self._reopen(position)
        if zlib.crc32(self._reader.tail) != position["tail"]:
            self.close()
            raise SourceError(
                f"{path}: not the file that it was, by the bytes before byte "
                f"{position['offset']:,}; restore the file, or start without the position"
            )

    def _reopen(self, position: Position) -> None:
        """Open the file of a position, also if it was renamed: what is left of it comes first."""
        offset, line, inode = position["offset"], position["line"], position["inode"]
        for _ in range(20 if self.follow else 0):
            real = rotation.find(self.path, inode)
            if real is None:
                break
            try:
                self._open(real, offset, line)
            except SourceError:
                if rotation.find(self.path, inode) == real:
                    raise
                continue  # renamed in between
            if self._inode == inode:
                return
            self.close()
        self._open(self.path, offset, line)

    def _open(
        self, path: str, offset: int = 0, line: int = 0, stream: ByteStream | None = None
    ) -> None:
        """Open a file at an offset at which a line starts."""
        codec = self._codec_of(path, offset)
        stream = stream or open_encoded(path, self.encoding)
        if isinstance(stream, PlainStream):
            stream.limit = self.end
        try:
            tail = stream.skip(offset) if offset else b""
        except SourceError:
            stream.close()
            raise
        quotes = None
        if self.kind == "csv":
            quotes = Quotes(
                self.delimiter, len(codec.names) if isinstance(codec, CsvCodec) else None
            )
        self._codec = codec
        #: Whether the last line had no end yet when it was taken; what comes now is its rest.
        self._torn = bool(tail) and not tail.endswith(b"\n")
        line -= self._torn
        self._reader = LineReader(stream, self.limit, quotes, offset, line, tail)
        self._inode = os.fstat(stream.file).st_ino if isinstance(stream, PlainStream) else 0

    def next(self, most: int, timeout: float) -> Batch | bool | None:
        """Return the next records; True if to ask again, None if none came, False at the end."""
        batch = self._take(most)
        return self._more(timeout) if batch is None else batch

    def _codec_of(self, path: str, offset: int) -> Codec | None:
        """Return the codec of a file; None if its header has yet to come."""
        if self.kind == "jsonl":
            return JsonCodec(**self.options)
        if self.kind == "svmlight":
            return SvmlightCodec(**self.options)
        if self.names is not None:
            return CsvCodec(self.names, self.delimiter, **self.options)
        if not offset:
            return None
        stream = open_encoded(path, self.encoding)
        try:
            reader = LineReader(stream, self.limit, Quotes(self.delimiter))
            while True:
                codec = self._header(reader)
                if codec is not None:
                    return codec
                if not reader.fill(0):
                    if reader.final:
                        raise SourceError(f"{path}: its header is gone; restore the file")
                    reader.finish()
        finally:
            stream.close()

    def _header(self, reader: LineReader) -> CsvCodec | None:
        """Take a CSV file's header; None if it has not come yet."""
        while (taken := reader.take(1)) is not None:
            if taken.too_long:
                raise SourceError(f"{self.path}: its first line is too long for a header")
            raw = (taken.raws[0] or b"").removesuffix(b"\r")
            if not raw:
                continue
            try:
                fields = [field.strip() for field in split(raw, self.delimiter)]
                return CsvCodec(fields, self.delimiter, **self.options)
            except (Bad, ValueError) as error:
                said = f"{error.reason}, {error.detail}" if isinstance(error, Bad) else str(error)
                raise SourceError(
                    f"{self.path}: its first line is no header ({said}); {self._advice(raw)}"
                ) from None
        return None

    def _advice(self, raw: bytes) -> str:
        """Say what to do about a first line that is no header."""
        try:
            raw.decode()
        except UnicodeDecodeError:
            like = "utf-16" if raw[:2] in (BOM_UTF16_LE, BOM_UTF16_BE) else "latin-1"
            return f"if it is not UTF-8, say so: encoding={like!r} (--encoding {like})"
        return "correct it, or give names"

    def _check_no_array(self, first: bytes) -> None:
        """Raise SourceError if this line begins an array of objects: it is one record, or none."""
        if _ARRAY.match(first):
            raise SourceError(
                f"{self.path}: a JSON array; one object a line is wanted: "
                f"jq -c '.[]' {shlex.quote(self.path)} > records.jsonl"
            )

    def pass_over(self, most: int) -> int:
        """Go on behind the next records, at most so many, unread; return how many there were."""
        passed = 0
        while passed < most:
            taken = self._taken(most - passed)
            if taken is not None:
                passed += len(taken.raws) + len(taken.too_long)
                self._torn = False
            elif not self._more(0.0):
                break
        return passed

    def _taken(self, most: int) -> Taken | None:
        """Return the bytes of what has been read already, behind the header."""
        reader = self._reader
        if self._codec is None:
            self._codec = self._header(reader)
            if not isinstance(self._codec, CsvCodec):
                return None
            reader.quotes = Quotes(self.delimiter, len(self._codec.names))
        return reader.take(1 if self._torn else most)

    def _take(self, most: int) -> Batch | None:
        """Return what has been read already."""
        taken, reader = self._taken(most), self._reader
        if taken is None:
            return None
        assert self._codec is not None
        if self._torn:
            self._torn = False
            raw = taken.raws[0] if taken.raws else taken.too_long[0][2]
            return self._rest(reader.line, raw or b"")
        if self.kind == "jsonl" and taken.raws and taken.numbers[0] == 1:
            self._check_no_array(taken.raws[0] or b"")
        places = Places(self.path, None, taken.numbers)
        batch = self._codec.decode(taken.raws, places, self.position)
        if self.time is not None:
            batch = self._timed(batch, taken.raws, taken.numbers)
        for line, size, head in taken.too_long:
            detail = f"{size:,} bytes; the limit is {self.limit:,}"
            batch.rejected.append(Rejected(Place(self.path, None, line), "too long", detail, head))
        if taken.too_long or self.time is not None:
            batch.rejected.sort(key=lambda one: one.place.number)
        return batch

    def _timed(self, batch: Batch, raws: Sequence[bytes | None], numbers: Sequence[int]) -> Batch:
        """Note when each record was; those that do not say it are rejected."""
        assert self._codec is not None
        assert self.time is not None
        if self._times is None or self._times.codec is not self._codec:
            try:
                self._times = FieldTimes(self._codec, self.time)
            except ValueError as error:
                raise SourceError(f"{self.path}: {error}") from None
        at = {number: i for i, number in enumerate(numbers)}
        rows = np.array([at[place.number] for place in batch.places], dtype=np.int64)
        batch.times = self._times.read(raws)[rows]
        untimed = np.isnan(batch.times)
        if not untimed.any():
            return batch
        kept = chosen(batch, np.flatnonzero(~untimed))
        kept.rejected, kept.bad_fields = batch.rejected, batch.bad_fields
        kept.deletes = batch.deletes
        for i in np.flatnonzero(untimed).tolist():
            raw = raws[int(rows[i])] or b""
            kept.rejected.append(Rejected(batch.places[i], NO_TIME, self._times.missing(raw), raw))
        return kept

    def _more(self, timeout: float) -> Batch | bool | None:
        """Read on: True if something came, None if not yet, False at the end of the file.

        A batch without records tells that the file was truncated.
        """
        reader = self._reader
        stream = reader.stream
        followed = stream if self.follow and isinstance(stream, PlainStream) else None
        if reader.final:
            return False if followed is None else self._next_rotated(followed)
        if followed is not None and followed.truncated():
            return self._truncated(reader, followed)
        came = reader.fill(timeout)
        if came is not False:
            return came
        if followed is None:
            reader.finish()
            return True
        if rotation.successor(self.path, os.fstat(followed.file)) is None:
            return None
        # The writer has turned to another file; what it wrote before it did is read first.
        if not reader.fill(0):
            reader.finish()
        return True

    def _next_rotated(self, stream: PlainStream) -> bool | None:
        found = rotation.successor(self.path, os.fstat(stream.file))
        if found is None:
            return None
        path, inode = found
        try:
            fresh = PlainStream(path)
        except SourceError:
            return None  # renamed since; it is looked for again
        if os.fstat(fresh.file).st_ino != inode:
            fresh.close()
            return None
        self._open(path, stream=fresh)
        stream.close()
        return True

    def _truncated(self, reader: LineReader, stream: PlainStream) -> Batch:
        size = os.fstat(stream.file).st_size
        detail = f"read to byte {stream.offset:,}, now {size:,} bytes; going on from its start"
        place = Place(self.path, None, reader.line + 1)
        rejected = Rejected(place, "file truncated", detail, reader.pending)
        self._open(self.path)
        stream.close()
        return self._without_records([rejected])

    def _rest(self, line: int, raw: bytes) -> Batch:
        """Take what was written behind the end that a line did not have."""
        detail = "its start was taken as a record before it was finished; follow files that grow"
        rejected = Rejected(Place(self.path, None, line), "rest of a line", detail, raw)
        return self._without_records([rejected] if raw.strip() else [])

    def _without_records(self, rejected: list[Rejected]) -> Batch:
        keys: list[Any] | None = None if self.options["key"] is None else []
        batch = Batch([], [], self.position, records=[], keys=keys, rejected=rejected)
        batch.times = None if self.time is None else np.zeros(0)
        return batch

    @property
    def position(self) -> Position:
        """Where it stands: behind the last record taken."""
        reader = self._reader
        return {
            **self.base,
            "offset": reader.offset,
            "line": reader.line,
            "inode": self._inode,
            "tail": zlib.crc32(reader.tail),
        }

    def close(self) -> None:
        """Let go of the file."""
        self._reader.stream.close()
