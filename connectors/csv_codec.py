"""CSV: lines of fields, some of them quoted.

Fields are stripped of the blanks around them. A quote counts where a field begins, and a quoted
field may go on over several lines. Such a record must end within a hundred lines and have the
right number of fields; otherwise only its first line is rejected, and reading goes on with the
second: a stray quote does not swallow what follows it.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from stream_llsvm.connectors.codec import Codec, plain_from_text
from stream_llsvm.connectors.columns import Columns, Quick, Record
from stream_llsvm.connectors.flat.fields import Fields, Filled
from stream_llsvm.connectors.flat.gather import gather, settle
from stream_llsvm.connectors.flat.note import Notes
from stream_llsvm.connectors.flat.read_csv import read_csv
from stream_llsvm.connectors.flat.spans import Spans
from stream_llsvm.connectors.values import Bad
from stream_llsvm.records.values import show

_MOST_LINES = 100
_SIMPLE = ",;|\t"  # delimiters that are in no number, but for a decimal comma
_DELIMITERS = {"\\t": "\t", "tab": "\t"}


class CsvCodec(Codec):
    """Reads lines of CSV.

    Parameters
    ----------
    names
        The names of the columns, in order.
    delimiter
        What stands between two fields: a character, or ``"tab"``.
    options
        As for every `Codec`.

    Examples
    --------
    >>> codec = CsvCodec(["a", "b", "y"], label="y")
    >>> batch = codec.decode([b"1,2,up", b"3,NA,down", b"4,red,up"], list("xyz"), {})
    >>> batch.values, batch.labels
    (array([[ 1.,  2.], [ 3., nan], [ 4., nan]]), ['up', 'down', 'up'])
    >>> batch.record(1), batch.record(2)  # a missing value, and a name
    ({'a': 3.0}, {'a': 4.0, 'b': 'red'})

    """

    def __init__(self, names: Sequence[str], delimiter: str = ",", **options: Any) -> None:
        super().__init__(**options)
        if twice := [name for name, times in Counter(names).items() if times > 1]:
            raise ValueError(f"two columns have the name {show(min(twice))}; names must differ")
        self.names = tuple(names)
        self.delimiter = as_delimiter(delimiter)
        absent = sorted((self.selection.features or frozenset()) - set(names))
        if absent:
            raise ValueError(f"there is no column {show(absent[0])}, which features names")
        self._feature_names, self._roles = self.selection.roles(names)
        kinds = self.values.kinds_of(names)
        nothing = np.zeros(0, dtype=np.int64)
        self._fields = Fields(nothing, nothing, self._roles, kinds)
        self._features = [(i, name) for i, name in enumerate(names) if self._roles[i] >= 0]
        self._label_at = _index(self.names, self.label)
        self._key_at = _index(self.names, self.key)

    def only(self, field: str) -> Codec:
        """Return what reads nothing of the same records but this field, as their label."""
        if field not in self.names:
            raise ValueError(f"there is no column {show(field)}, which is to tell the time")
        return CsvCodec(self.names, self.delimiter, label=field, features=())

    def one(self, raw: bytes) -> Record | None:
        """Read one record; None for a blank line."""
        raw = raw.removesuffix(b"\r")
        if not raw:
            return None
        fields = split(raw, self.delimiter)
        if len(fields) != len(self.names):
            detail = f"{len(fields)} instead of {len(self.names)}: {show(raw)[:80]}"
            raise Bad("wrong number of fields", detail)
        read = self.values.read if self.numeric else self._anything
        x, unread = self.values.row(((name, fields[i]) for i, name in self._features), read)
        return Record(
            x,
            None if self._label_at is None else plain_from_text(fields[self._label_at]),
            None if self._key_at is None else plain_from_text(fields[self._key_at]),
            unread,
        )

    def _anything(self, name: str, text: str) -> Any:
        """Return a number, a boolean, text, or None for a missing value."""
        if self.values.is_missing(text):
            return None
        try:
            value = self.values.number_from(name, text)
        except Bad:
            return text.strip()
        if isinstance(whole := plain_from_text(text), int):
            return whole
        word = text.strip().lower()
        return word == "true" if word in ("true", "false") else value

    def quick(self, raws: Spans) -> Quick | None:
        """Read many lines at once that have no quotes within fields."""
        if len(self.names) < 2:
            return None  # where a blank line could pass for a record
        if self.delimiter not in _SIMPLE or self.delimiter == self.values.decimal:
            return None
        data = np.frombuffer(raws.block, dtype=np.uint8)
        filled = Filled.empty(len(raws), len(self._features))
        others = np.empty((len(self.names), 3), dtype=np.int64)
        delimiter, texts = ord(self.delimiter), tuple(self.values.texts)

        def read(first: int, notes: Notes) -> int:
            return int(
                read_csv(
                    (data, raws.starts, raws.ends), first, delimiter, texts, tuple(self._fields),
                    tuple(filled), others, tuple(notes),
                )
            )  # fmt: skip

        self.dictionary.noting(data, len(raws), read)
        values, spans, odd = filled
        self.values.settle(self._feature_names, values, odd)
        settle(raws, odd)
        labels, keys = (
            [None] * len(raws) if at is None else _plain_texts(gather(data, odd, part, b"", b"\n"))
            for at, part in ((self._label_at, spans[:, :2]), (self._key_at, spans[:, 2:]))
        )
        return Quick(Columns(self._feature_names, values, labels, keys), odd)


def _plain_texts(block: bytes) -> list[Any]:
    """Return labels or keys that are written out; the same ones come again and again."""
    texts = block.decode().split("\n")
    known = {text: plain_from_text(text) for text in set(texts)}
    return [known[text] for text in texts]


def _index(names: tuple[str, ...], name: str | None) -> int | None:
    return names.index(name) if name in names else None


def as_delimiter(text: str) -> str:
    r"""Return the character that a delimiter is; a tab may be written ``tab``, or with a backslash.

    Examples
    --------
    >>> as_delimiter("tab"), as_delimiter(r"\t"), as_delimiter(";")
    ('\t', '\t', ';')

    """
    delimiter = _DELIMITERS.get(text.lower(), text)
    if len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n':
        raise ValueError(f"a delimiter is one ASCII character, or tab; not {show(text)}")
    return delimiter


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
