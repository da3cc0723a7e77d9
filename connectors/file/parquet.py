"""Parquet files, one row group after the other."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from stream_llsvm.connectors.base import Batch, Position, SourceError
from stream_llsvm.connectors.columns import Columns, Places, fill
from stream_llsvm.connectors.object_codec import ObjectCodec
from stream_llsvm.connectors.values import Bad
from stream_llsvm.extras import install_command
from stream_llsvm.kernels.boxes import DAY_BITS
from stream_llsvm.records.boxes import boxed_time
from stream_llsvm.records.nans import with_plain_nans
from stream_llsvm.records.values import show

_ROWS = 1 << 14
_FOOT = 1 << 16
_DAY, _THURSDAY = 86_400, 3  # seconds of a day; the first day of 1970


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
    end
        How many rows of the file are read, if not all.

    """

    def __init__(
        self,
        path: str,
        options: dict[str, Any],
        base: Position,
        position: Position | None = None,
        end: int | None = None,
    ) -> None:
        self.end = end
        try:
            import pyarrow.parquet as pq
        except ImportError:
            raise SourceError(
                f"{path}: Parquet files need the package pyarrow: {install_command('parquet')}"
            ) from None
        self.path = path
        self.options = ObjectCodec(orjson.loads, **options)
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

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return int(self._file.metadata.num_rows)

    def _damaged(self, error: Exception) -> SourceError:
        said = " ".join(str(error).split())[:200]
        return SourceError(f"{self.path}: not a sound Parquet file ({said}); write it again")

    def _checked_names(self) -> tuple[str, ...]:
        """Return the columns that hold features, if label and key can be what they are to be."""
        import pyarrow.types as kinds

        options = self.options
        if options.unwrap is not None:
            return tuple(self._file.schema_arrow.names)
        names = []
        for column in self._file.schema_arrow:
            if column.name in (options.label, options.key):
                kind = column.type.value_type if kinds.is_dictionary(column.type) else column.type
                if not (_is_number(kind) or kinds.is_string(kind) or kinds.is_large_string(kind)):
                    raise SourceError(
                        f"{self.path}: the column {show(column.name)} holds {column.type}, and is "
                        "no label and no key; name another"
                    )
            elif options.selection.wanted(column.name) or self._is_wanted_inside(column):
                names.append(column.name)
        found = {way for name in names for way in (name, name.rpartition(".")[0])}
        absent = sorted((options.selection.features or frozenset()) - found)
        absent = [one for one in absent if one.partition(".")[0] not in names]
        if absent:
            raise SourceError(
                f"{self.path}: there is no column {show(absent[0])}, which features names; there "
                f"are {', '.join(map(show, self._file.schema_arrow.names[:20]))}"
            )
        if len(set(names)) < len(names):
            raise SourceError(f"{self.path}: two columns have the same name; rename one")
        return tuple(names)

    def _is_wanted_inside(self, column: Any) -> bool:
        """Whether something inside a column of objects is a feature."""
        import pyarrow.types as kinds

        features = self.options.selection.features or ()
        inside = any(name.startswith(f"{column.name}.") for name in features)
        return inside and kinds.is_struct(column.type)

    def next(self, most: int, timeout: float) -> Batch | bool:
        """Return the next rows, at most so many; False at the end."""
        if self.end is not None:
            most = min(most, self.end - self._before - self.row)
            if most <= 0:
                return False
        while self._rows is None or self._rows.num_rows == 0:
            if not self._advance():
                return False
        rows = self._rows.slice(0, most)
        self._rows = self._rows.slice(rows.num_rows)
        first = self._before + self.row + 1
        self.row += rows.num_rows
        places = Places(self.path, None, range(first, first + rows.num_rows))
        return self._batch(rows, places, self.position)

    def pass_over(self, most: int) -> int:
        """Go on behind the next rows, at most so many, unread; return how many there were."""
        meta, passed = self._file.metadata, 0
        self._batches = self._rows = None
        end = meta.num_rows if self.end is None else min(self.end, meta.num_rows)
        most = min(most, end - self._before - self.row)
        while passed < most:
            here = meta.row_group(self.group).num_rows
            step = min(most - passed, here - self.row)
            self.row += step
            passed += step
            if passed < most:
                self._before += here
                self.group, self.row = self.group + 1, 0
        return passed

    @property
    def position(self) -> Position:
        """Where it stands: behind the last row taken."""
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
        known = set(rows.schema.names)
        labels, keys = (
            rows[name].to_pylist() if name in known else [None] * rows.num_rows
            for name in (options.label, options.key)
        )
        if options.numeric:
            part = self._matrix(rows, labels, keys)
            if part is not None:
                batch = Batch([], places, position)
                fill(batch, [part], options.dictionary, options.selection.weight)
                if options.key is None:
                    batch.keys = None
                return batch
        objects = rows.select(list(self.names)).to_pylist()
        for name, values in ((options.label, labels), (options.key, keys)):
            for fields, value in zip(objects, values, strict=True) if name in known else ():
                fields[name] = value
        return options.decode_objects(objects, places, position)

    def _matrix(self, rows: Any, labels: list[Any], keys: list[Any]) -> Columns | None:
        """Return rows at once; None if a column holds words or objects, or what is odd."""
        if float in {*map(type, labels), *map(type, keys)} or self.options.unwrap is not None:
            return None  # a float may be NaN or infinite
        self.options.dictionary.make_room()
        values = np.empty((rows.num_rows, len(self.names)))
        for i, name in enumerate(self.names):
            column = self._column(name, rows[name])
            if column is None:
                return None
            values[:, i] = column
        good = self.options.values.settle(self.names, values)
        return Columns(self.names, values, labels, keys) if good and _finite(values) else None

    def _column(self, name: str, column: Any) -> Any:
        """Return a column's values as those of rows, None if they are to be read one by one."""
        import pyarrow as pa
        import pyarrow.types as kinds

        kind = column.type
        values = self.options.values
        if kinds.is_dictionary(kind):
            kind = kind.value_type
        if values.names_among([name]) and not _is_number(kind):
            return None
        try:
            if _is_number(kind) and not values.names_among([name]):
                if kinds.is_dictionary(column.type):
                    column = column.dictionary_decode()
                if kind != pa.float64():
                    column = column.cast(pa.float64(), safe=False)
                return with_plain_nans(column.to_numpy(zero_copy_only=False))
            if kinds.is_string(kind) or kinds.is_large_string(kind):
                coded = column if kinds.is_dictionary(column.type) else column.dictionary_encode()
                cells = self._cells(coded.dictionary.to_pylist())
                if cells is None:
                    return None
                which = coded.indices.cast(pa.int64(), safe=False).fill_null(len(cells) - 1)
                return cells[which.to_numpy(zero_copy_only=False)]
            if kinds.is_timestamp(kind) and kind.tz in (None, "UTC"):
                return _moments(column.cast(pa.timestamp("s", kind.tz), safe=False))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            pass
        return None

    def _cells(self, texts: list[str | None]) -> Any:
        """Return texts as values of a row, with a missing one behind them; None if one is words."""
        box, found = self.options.dictionary.box, []
        for text in texts:
            try:
                told = self.options.values.read("", text)
            except Bad:
                return None
            if isinstance(told, tuple):
                return None
            found.append(told if isinstance(told, float) else box(told))
        return np.array([*found, np.nan])

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()


def _is_number(kind: Any) -> bool:
    """Whether a type of Arrow's is one of numbers that a float holds."""
    import pyarrow.types as kinds

    return bool(
        kinds.is_integer(kind)
        or kinds.is_floating(kind)
        or kinds.is_boolean(kind)
        or kinds.is_null(kind)
    )


def _moments(column: Any) -> Any:
    """Return times, whole seconds, as values of a row."""
    import pyarrow as pa

    days, seconds = np.divmod(column.cast(pa.int64()).fill_null(0).to_numpy(), _DAY)
    first = np.array(boxed_time(0, 0)).view(np.int64)
    found = (first | ((days + _THURSDAY) % 7 << DAY_BITS) | seconds).view(np.float64)
    found[column.is_null().to_numpy(zero_copy_only=False)] = np.nan
    return found


def _finite(values: Any) -> bool:
    return not np.isinf(values).any()
