"""CSV: lines of fields, some of them quoted.

Fields are stripped of the blanks around them. A quote counts where a field begins, and a quoted
field may go on over several lines. Such a record must end within a hundred lines and have the
right number of fields; otherwise only its first line is rejected, and reading goes on with the
second: a stray quote does not swallow what follows it.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.connectors.codecs import (
    Bad,
    Codec,
    Columns,
    Quick,
    Record,
    number_from_text,
    plain_from_text,
)
from stream_llsvm.connectors.flat.csv_lines import read_csv
from stream_llsvm.connectors.flat.fields import IGNORED, KEY, LABEL, gather, settle
from stream_llsvm.connectors.flat.raws import Raws
from stream_llsvm.values import show

Reader = Callable[[bytes, str], NDArray[np.float64] | None]

_MOST_LINES = 100
_SIMPLE = ",;|\t"  # delimiters that are in no number


class CsvCodec(Codec):
    """Reads lines of CSV.

    Parameters
    ----------
    names
        The names of the columns, in order.
    delimiter
        What stands between two fields.
    options
        As for every `Codec`.

    Examples
    --------
    >>> codec = CsvCodec(["a", "b", "y"], label="y")
    >>> batch = codec.decode([b"1,2,up", b"3,,down", b"4,red,up"], list("xyz"), {})
    >>> batch.values, batch.labels
    (array([[ 1.,  2.], [ 3., nan]]), ['up', 'down'])
    >>> batch.rejected[0].reason, batch.rejected[0].detail
    ('not a number', "'b': 'red'")

    """

    def __init__(self, names: Sequence[str], delimiter: str = ",", **options: Any) -> None:
        super().__init__(**options)
        if twice := sorted({name for name in names if list(names).count(name) > 1}):
            raise ValueError(f"two columns have the name {show(twice[0])}; names must differ")
        if len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n':
            raise ValueError(f"a delimiter is one ASCII character, not {show(delimiter)}")
        self.names = tuple(names)
        self.delimiter = delimiter
        self._byte = delimiter.encode()
        apart = {self.label, self.key} | self.ignore
        self._features = [(i, name) for i, name in enumerate(names) if name not in apart]
        self._feature_names = tuple(name for _, name in self._features)
        self._label_at = _index(self.names, self.label)
        self._key_at = _index(self.names, self.key)
        columns = {name: i for i, name in enumerate(self._feature_names)}
        apart_as = {name: IGNORED for name in self.ignore}
        if self.label is not None:
            apart_as[self.label] = LABEL
        if self.key is not None:
            apart_as[self.key] = KEY
        self._roles = np.array([(columns | apart_as)[name] for name in names], dtype=np.int64)
        self._read: Reader | None = None  # made when it is needed: pyarrow is slow to import

    def one(self, raw: bytes) -> Record | None:
        """Read one record; None for a blank line."""
        raw = raw.removesuffix(b"\r")
        if not raw:
            return None
        fields = split(raw, self.delimiter)
        if len(fields) != len(self.names):
            detail = f"{len(fields)} instead of {len(self.names)}: {show(raw)[:80]}"
            raise Bad("wrong number of fields", detail)
        value = number_from_text if self.numeric else _anything
        return Record(
            {name: value(name, fields[i]) for i, name in self._features},
            None if self._label_at is None else plain_from_text(fields[self._label_at]),
            None if self._key_at is None else plain_from_text(fields[self._key_at]),
        )

    def fast(self, raws: Sequence[bytes]) -> Columns | None:
        """Read lines at once that hold nothing but numbers, and label and key without quotes."""
        if len(self.names) < 2 or not self._features:
            return None  # where a blank line could pass for a record
        block = b"\n".join(raws)
        if b"\r" in block:
            raws = [raw.removesuffix(b"\r") for raw in raws]
            block = b"\n".join(raws)
        if b'"' in block or b"\r" in block or b"(" in block or b"\0" in block:
            return None
        # Embedded ends of lines come only with quotes, so there is one line a record. A file
        # whose lines are all of one width is the rule; the parsers do not look at every width.
        commas, width = self._byte, len(self.names) - 1
        if any(raw.count(commas) != width for raw in raws):
            return None
        try:
            text = block.decode()
            if self._read is None:
                self._read = self._reader()
            values = self._read(block, text)
        except ValueError:  # pyarrow's errors are ValueErrors too
            return None
        if values is None or values.shape != (len(raws), len(self._features)):
            return None
        if np.isinf(values).any():
            return None
        lines = text.split("\n")
        nothing: list[Any] = [None] * len(raws)
        return Columns(
            self._feature_names,
            values,
            nothing if self._label_at is None else self._column(lines, self._label_at),
            nothing if self._key_at is None else self._column(lines, self._key_at),
        )

    def quick(self, raws: Raws) -> Quick | None:
        """Read many lines at once that have no quotes."""
        if len(self.names) < 2 or not self._features or self.delimiter not in _SIMPLE:
            return None
        n = len(raws)
        data = np.frombuffer(raws.block, dtype=np.uint8)
        values = np.empty((n, len(self._features)))
        spans = np.full((n, 4), -1, dtype=np.int64)
        odd = np.empty(n, dtype=np.uint8)
        read_csv(
            data, raws.starts, raws.ends, self._byte[0], self._roles,
            values, spans, odd,
        )  # fmt: skip
        settle(raws, odd)
        labels, keys = (
            [None] * n if at is None else _plain_texts(gather(data, odd, part, b"", b"\n"))
            for at, part in ((self._label_at, spans[:, :2]), (self._key_at, spans[:, 2:]))
        )
        return Quick(Columns(self._feature_names, values, labels, keys), odd)

    def _column(self, lines: list[str], at: int) -> list[Any]:
        by = self.delimiter
        if at == len(self.names) - 1:
            texts = [line.rpartition(by)[2] for line in lines]
        else:
            texts = [line.split(by, at + 1)[at] for line in lines]
        return _plain_all(texts)

    def _reader(self) -> Reader:
        """Return what reads the features of a block: pyarrow if it is there, or else numpy."""
        columns = [i for i, _ in self._features]
        try:
            import pyarrow as pa
            from pyarrow import csv as arrow
        except ImportError:

            def by_numpy(block: bytes, text: str) -> NDArray[np.float64]:
                return np.loadtxt(
                    text.split("\n"),
                    delimiter=self.delimiter,
                    usecols=columns,
                    comments=None,
                    ndmin=2,
                )

            return by_numpy
        every = [str(i) for i in range(len(self.names))]
        wanted = [str(i) for i in columns]
        parse = arrow.ParseOptions(
            delimiter=self.delimiter, quote_char=False, ignore_empty_lines=False
        )
        convert = arrow.ConvertOptions(
            column_types={name: pa.float64() for name in wanted},
            include_columns=wanted,
            null_values=[""],
            check_utf8=False,
        )

        def by_arrow(block: bytes, text: str) -> NDArray[np.float64]:
            read = arrow.ReadOptions(
                use_threads=False, column_names=every, block_size=len(block) + 1
            )
            table = arrow.read_csv(pa.py_buffer(block), read, parse, convert)
            values = np.empty((table.num_rows, len(wanted)))
            for i, column in enumerate(table.columns):
                values[:, i] = column.to_numpy()
            return values

        return by_arrow


def _plain_texts(block: bytes) -> list[Any]:
    return _plain_all(block.decode().split("\n"))


def _plain_all(texts: list[str]) -> list[Any]:
    """Return labels or keys that are written out; the same ones come again and again."""
    known = {text: plain_from_text(text) for text in set(texts)}
    return [known[text] for text in texts]


def _index(names: tuple[str, ...], name: str | None) -> int | None:
    return names.index(name) if name in names else None


def _anything(name: str, text: str) -> Any:
    """Return a number, a boolean, text, or None for nothing at all."""
    try:
        value = number_from_text(name, text)
    except Bad:
        return text.strip()
    if value != value:  # noqa: PLR0124  NaN
        return None
    if isinstance(whole := plain_from_text(text), int):
        return whole
    word = text.strip().lower()
    return word == "true" if word in ("true", "false") else value


def split(raw: bytes, delimiter: str) -> list[str]:
    """Return the fields of one record. Raises Bad."""
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        raise Bad("invalid UTF-8", f"byte {error.start + 1}: {show(raw)[:80]}") from None
    try:
        rows = list(
            csv.reader([text], delimiter=delimiter, strict=True, skipinitialspace=delimiter != " ")
        )
    except csv.Error as error:
        raise Bad("invalid CSV", f"{error}: {show(raw)[:80]}") from None
    if len(rows) != 1:
        raise Bad("invalid CSV", f"more than one line: {show(raw)[:80]}")
    return rows[0]


class Quotes:
    """Tells how many lines a record has.

    Parameters
    ----------
    delimiter
        What stands between two fields.
    width
        How many fields a record has; None if that is not known yet.

    """

    def __init__(self, delimiter: str, width: int | None = None) -> None:
        self.delimiter = delimiter
        self.width = width
        by = re.escape(delimiter.encode())
        blank = b"" if delimiter == " " else b" *+"
        quoted = blank + b'"(?:[^"]++|"")*+'
        field = b"(?:" + quoted + b'"|' + blank + b'(?!")[^' + by + b"\n]*+)"
        self._closed = re.compile(field + b"(?:" + by + field + rb")*+\r?\Z")
        self._open = re.compile(b"(?:" + field + by + b")*+" + quoted + rb"\Z")

    def lines(self, lines: Sequence[bytes], start: int, final: bool, limit: int) -> int:
        """Return how many lines the record has that starts here; 0 if more must be seen.

        Parameters
        ----------
        lines
            Some lines, without their ends.
        start
            Where among them the record starts.
        final
            Whether no more lines will come.
        limit
            How many bytes a record may have.

        """
        line = lines[start]
        if b'"' not in line or not self._open.match(line):
            return 1
        stop = min(len(lines), start + _MOST_LINES)
        size = len(line)
        for i in range(start + 1, stop):
            line = b'"' + lines[i]  # as if the open field began here
            size += len(line)
            if size > limit:
                return 1
            if self._open.match(line):
                continue
            if not self._closed.match(line):
                return 1
            try:
                fields = split(b"\n".join(lines[start : i + 1]).removesuffix(b"\r"), self.delimiter)
            except Bad:
                return 1
            return i + 1 - start if self.width in (None, len(fields)) else 1
        return 1 if final or stop == start + _MOST_LINES else 0
