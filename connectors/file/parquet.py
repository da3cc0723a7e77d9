"""Parquet files, one row group after the other."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from stream_llsvm.connectors.base import BadField, Batch, Place, Position, Rejected, SourceError
from stream_llsvm.connectors.codec import Codec, plain
from stream_llsvm.connectors.columns import Columns, Places, Record, fill
from stream_llsvm.connectors.values import Bad
from stream_llsvm.extras import install_command
from stream_llsvm.records.values import show

_ROWS = 1 << 14
_FOOT = 1 << 16


class ParquetReader:
    """Reads one Parquet file; needs pyarrow.

    Parameters
    ----------
    path
        The file.
    options
        As for every `Codec`.
    base
        What a position holds besides.
    position
        Where to start; None for the start.

    """

    def __init__(
        self,
        path: str,
        options: dict[str, Any],
        base: Position,
        position: Position | None = None,
    ) -> None:
        try:
            import pyarrow.parquet as pq
        except ImportError:
            raise SourceError(
                f"{path}: Parquet files need the package pyarrow: {install_command('parquet')}"
            ) from None
        self.path = path
        self.options = Codec(**options)
        self.base = base
        try:
            with Path(path).open("rb") as file:
                self.size = file.seek(0, 2)
                file.seek(max(0, self.size - _FOOT))
                self.foot = zlib.crc32(file.read())
            self._file = pq.ParquetFile(path)
        except IsADirectoryError:
            raise SourceError(f"{path}: it is a directory; name the files in it") from None
        except OSError as error:
            said = error.strerror or " ".join(str(error).split())
            raise SourceError(f"{path}: {said}; check the path and its permissions") from None
        except Exception as error:  # pyarrow has errors of its own
            raise self._damaged(error) from None
        self.names = self._checked_names()
        self.group = position["group"] if position else 0
        self.row = position["row"] if position else 0
        if position and (self.size, self.foot) != (position["size"], position["foot"]):
            raise SourceError(
                f"{path}: not the file that it was, by its size and its end; restore the file, or "
                "start without the position"
            )
        meta = self._file.metadata
        rows = meta.row_group(self.group).num_rows if 0 <= self.group < self.groups else 0
        if not (0 <= self.group <= self.groups and 0 <= self.row <= rows):
            raise SourceError(f"{path}: not a position in it: {position}")
        self._before = sum(meta.row_group(g).num_rows for g in range(min(self.group, self.groups)))
        self._batches: Iterator[Any] | None = None
        self._rows: Any = None

    @property
    def groups(self) -> int:
        """How many row groups there are."""
        return int(self._file.metadata.num_row_groups)

    def _damaged(self, error: Exception) -> SourceError:
        said = " ".join(str(error).split())[:200]
        return SourceError(f"{self.path}: not a sound Parquet file ({said}); write it again")

    def _checked_names(self) -> tuple[str, ...]:
        """Return the features' names, if every column can be what it is to be."""
        import pyarrow.types as kinds

        options = self.options
        names = []
        for column in self._file.schema_arrow:
            apart = column.name in (options.label, options.key)
            if not apart and not options.selection.wanted(column.name):
                continue
            kind = column.type.value_type if kinds.is_dictionary(column.type) else column.type
            numeric = (
                kinds.is_integer(kind)
                or kinds.is_floating(kind)
                or kinds.is_boolean(kind)
                or kinds.is_null(kind)
            )
            text = kinds.is_string(kind) or kinds.is_large_string(kind)
            if apart:
                fits = numeric or text
            else:
                fits = (
                    (numeric or kinds.is_decimal(kind))
                    if options.numeric
                    else (not kinds.is_nested(kind))
                )
                names.append(column.name)
            if not fits:
                raise SourceError(
                    f"{self.path}: the column {show(column.name)} holds {column.type}, not numbers;"
                    " encode it, or add it to ignore"
                )
        absent = sorted((options.selection.features or frozenset()) - set(names))
        if absent:
            raise SourceError(
                f"{self.path}: there is no column {show(absent[0])}, which features names; there "
                f"are {', '.join(map(show, self._file.schema_arrow.names[:20]))}"
            )
        if len(set(names)) < len(names):
            raise SourceError(f"{self.path}: two columns have the same name; rename one")
        return tuple(names)

    def next(self, most: int, timeout: float) -> Batch | bool:
        """Return the next rows, at most so many; False at the end."""
        while self._rows is None or self._rows.num_rows == 0:
            if not self._advance():
                return False
        rows = self._rows.slice(0, most)
        self._rows = self._rows.slice(rows.num_rows)
        first = self._before + self.row + 1
        self.row += rows.num_rows
        places = Places(self.path, None, range(first, first + rows.num_rows))
        return self._batch(rows, places, self._position())

    def _position(self) -> Position:
        return {
            **self.base,
            "group": self.group,
            "row": self.row,
            "record": self._before + self.row,  # for people
            "size": self.size,
            "foot": self.foot,
        }

    def _advance(self) -> bool:
        options = self.options
        known = set(self._file.schema_arrow.names)
        columns = [*self.names, *known.intersection((options.label, options.key))]
        skip = 0
        try:
            if self._batches is None:
                if self.group >= self.groups:
                    return False
                self._batches = self._file.iter_batches(
                    _ROWS, row_groups=[self.group], columns=columns, use_threads=False
                )
                skip = self.row
            self._rows = next(self._batches, None)
            while self._rows is not None and skip:
                here = min(skip, self._rows.num_rows)
                self._rows = self._rows.slice(here)
                skip -= here
                if not self._rows.num_rows:
                    self._rows = next(self._batches, None)
        except Exception as error:  # pyarrow has errors of its own
            raise self._damaged(error) from None
        if self._rows is None:
            self._before += self._file.metadata.row_group(self.group).num_rows
            self._batches = None
            self.group += 1
            self.row = 0
        return True

    def _batch(self, rows: Any, places: Places, position: Position) -> Batch:
        options = self.options
        n = rows.num_rows
        known = set(rows.schema.names)
        labels = rows[options.label].to_pylist() if options.label in known else [None] * n
        keys = rows[options.key].to_pylist() if options.key in known else [None] * n
        batch = Batch([], places, position)
        part: Columns | list[Record] | None = None
        if options.numeric:
            part = self._matrix(rows, labels, keys)
        if part is None:
            kept = []
            part = []
            for i, x in enumerate(rows.select(list(self.names)).to_pylist()):
                try:
                    record = self._record(x, labels[i], keys[i])
                except Bad as bad:
                    raw = orjson.dumps(x, default=str)
                    batch.rejected.append(Rejected(places[i], bad.reason, bad.detail, raw))
                    unread = bad.fields
                else:
                    part.append(record)
                    kept.append(i)
                    unread = record.unread
                batch.bad_fields += [BadField(places[i], *one) for one in unread]
            some: list[Place] = [places[i] for i in kept]
            batch.places = places if len(kept) == n else some
        fill(batch, [part], options.numeric)
        if options.key is None:
            batch.keys = None
        return batch

    def _matrix(self, rows: Any, labels: list[Any], keys: list[Any]) -> Columns | None:
        import pyarrow as pa

        if float in {*map(type, labels), *map(type, keys)}:
            return None  # which may be NaN or infinite
        values = np.empty((rows.num_rows, len(self.names)))
        try:
            for i, name in enumerate(self.names):
                column = rows[name]
                if pa.types.is_dictionary(column.type):
                    column = column.dictionary_decode()
                if column.type != pa.float64():
                    column = column.cast(pa.float64(), safe=False)
                values[:, i] = column.to_numpy(zero_copy_only=False)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            return None
        self.options.values.settle(values)
        return None if np.isinf(values).any() else Columns(self.names, values, labels, keys)

    def _record(self, x: dict[str, Any], label: Any, key: Any) -> Record:
        values = self.options.values
        read = self._number if values.numeric else values.anything
        x, unread = values.row(x.items(), read)
        return Record(x, plain(label, "label", "label"), plain(key, "key", "key"), unread)

    def _number(self, name: str, value: Any) -> float:
        # A decimal is a number that JSON does not have.
        plainly = value if value is None or isinstance(value, float | int) else float(value)
        return self.options.values.number(name, plainly)

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()
