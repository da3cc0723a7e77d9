"""What a flat JSON record looks like, and how to read many that look the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import orjson

from stream_llsvm.connectors.columns import Columns, Quick
from stream_llsvm.connectors.dictionary import Dictionary
from stream_llsvm.connectors.flat.fields import Fields, Filled
from stream_llsvm.connectors.flat.gather import KEY, LABEL, gather, settle
from stream_llsvm.connectors.flat.note import Notes
from stream_llsvm.connectors.flat.read_json import read_json
from stream_llsvm.connectors.flat.spans import Spans
from stream_llsvm.connectors.selection import Selection
from stream_llsvm.connectors.values import Values


class JsonShape:
    """The fields of a record in their order, and what each is.

    Parameters
    ----------
    names
        Their names.
    selection, values
        As for every `Codec`: what each field is, and how values are read.
    array
        Whether records are arrays, which do not name their fields.

    """

    def __init__(
        self, names: Sequence[str], selection: Selection, values: Values, array: bool
    ) -> None:
        self.names, self.array, self._values = tuple(names), array, values
        self.features, self._roles = selection.roles(names)
        coded = [] if array else [name.encode() for name in names]
        joined = np.frombuffer(b"".join(coded) or b"-", dtype=np.uint8)
        ends = np.cumsum([len(name) for name in coded], dtype=np.int64)
        self._fields = Fields(joined, ends, self._roles, values.kinds_of(names))

    @classmethod
    def of(
        cls, fields: object, selection: Selection, values: Values, array: Sequence[str] | None
    ) -> JsonShape | None:
        """Return the shape of a record; None if records like it cannot be read at once."""
        if isinstance(fields, dict):
            names = list(fields)
            # A name with these is written with escapes.
            if any('"' in name or "\\" in name or min(name, default=" ") < " " for name in names):
                return None
        elif isinstance(fields, list) and array is not None and len(fields) == len(array):
            names = list(array)
        else:
            return None
        try:
            shape = cls(names, selection, values, isinstance(fields, list))
        except UnicodeEncodeError:
            return None
        return shape if shape.features or selection.features is not None else None

    def like(self, other: JsonShape | None) -> bool:
        """Whether another is the same."""
        return other is not None and (self.names, self.array) == (other.names, other.array)

    def read(self, raws: Spans, dictionary: Dictionary) -> Quick | None:
        """Read records; None if their labels or keys need a closer look."""
        data = np.frombuffer(raws.block, dtype=np.uint8)
        filled = Filled.empty(len(raws), len(self.features))
        fields, texts = tuple(self._fields), tuple(self._values.texts)

        def read(first: int, notes: Notes) -> int:
            return int(
                read_json(
                    (data, raws.starts, raws.ends), first, texts, fields, tuple(filled),
                    tuple(notes),
                )
            )  # fmt: skip

        dictionary.noting(data, len(raws), read)
        values, spans, odd = filled
        self._values.settle(self.features, values, odd)
        settle(raws, odd)
        labels, keys = (
            self._apart(data, odd, spans[:, at : at + 2], role)
            for at, role in ((0, LABEL), (2, KEY))
        )
        if labels is None or keys is None:
            return None
        return Quick(Columns(self.features, values, labels, keys), odd)

    def _apart(self, data: Any, odd: Any, spans: Any, role: int) -> list[Any] | None:
        """Return what stands in the field with this role; None if that is left to others."""
        if role not in self._roles:
            return [None] * len(odd)
        try:
            found: list[Any] = orjson.loads(b"[%b]" % gather(data, odd, spans, b"null", b","))
        except ValueError:
            return None
        return found if len(found) == len(odd) else None
