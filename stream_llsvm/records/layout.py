"""Which columns each field has, as compiled code takes it; see ``kernels/expand.py``."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.kernels.expand import (
    END,
    EXTENT,
    FIRST,
    HEAD,
    HOUR,
    MOST_NAMES,
    N_COLUMNS,
    N_FIELDS,
    ONES,
    OWN,
    ROW,
    WEEKDAY,
    WHEN,
    WORDS,
    ZEROS,
)
from stream_llsvm.records.columns import HOURS, WEEKDAYS, NameColumn, PartColumn

#: From so many columns on a 0 is as if it were not named, see ``kernels/scaling.py``.
WIDE = 128


class Parts:
    """What a field has beside its own column.

    Attributes
    ----------
    names
        The columns of its names, by their codes.
    hour, weekday, words
        The columns of these; -1 if it has none.
    says_when
        Whether its name says that it holds times.

    """

    __slots__ = ("hour", "names", "says_when", "weekday", "words")

    def __init__(self, *, says_when: bool) -> None:
        self.names: dict[int, int] = {}
        self.hour = self.weekday = self.words = -1
        self.says_when = says_when

    def add(self, column: NameColumn | PartColumn, place: int) -> None:
        """Note where a column of the field lies."""
        if isinstance(column, NameColumn):
            self.names[column.code] = place
        elif column.part == HOURS:
            self.hour = place
        elif column.part == WEEKDAYS:
            self.weekday = place
        else:
            self.words = place

    def __bool__(self) -> bool:
        """Whether it has any column."""
        return bool(self.names) or self.hour >= 0 or self.words >= 0


class Layout:
    """The columns of some fields.

    Parameters
    ----------
    fields
        The fields.
    own
        The fields' own columns.
    parts
        The other columns of fields that have some.
    width
        How many columns there are in all.

    Attributes
    ----------
    fields
        The fields.
    places
        Where each stands among them.
    codes
        What compiled code takes.
    sizes
        How many columns a record names with each field.

    """

    __slots__ = ("codes", "fields", "places", "sizes")

    def __init__(
        self,
        fields: Iterable[Hashable],
        own: Mapping[Hashable, int],
        parts: Mapping[Hashable, Parts],
        width: int,
    ) -> None:
        self.fields = tuple(fields)
        self.places = {field: i for i, field in enumerate(self.fields)}
        wide = width >= WIDE
        head = [0] * HEAD
        head[N_FIELDS], head[N_COLUMNS] = len(self.fields), width
        head[EXTENT] = ONES if wide else ZEROS
        rows: list[int] = []
        names: list[int] = []
        first = HEAD + ROW * len(self.fields)
        self.sizes: list[int] = []
        for field in self.fields:
            row = [-1] * ROW
            row[OWN] = own.get(field, -1)
            more = parts.get(field)
            row[WHEN] = 0
            row[FIRST] = first + len(names)
            size = int(row[OWN] >= 0)
            if more is not None:
                row[HOUR], row[WEEKDAY], row[WORDS] = more.hour, more.weekday, more.words
                row[WHEN] = int(more.says_when)
                for pair in more.names.items():
                    names += pair
                size += 2 * (more.hour >= 0) + (more.words >= 0)
                # Among many columns those of other names are as if they were not named.
                size += min(1, len(more.names)) if wide else len(more.names)
            row[END] = first + len(names)
            rows += row
            self.sizes.append(size)
        self.codes = np.array([*head, *rows, *names], dtype=np.int64)

    def with_room(self) -> NDArray[np.int64]:
        """Return the codes with room for as many names as may get columns, of each field."""
        fields = len(self.fields)
        table = self.codes[HEAD : HEAD + ROW * fields].reshape(fields, ROW)
        most = max(2 * MOST_NAMES, int((table[:, END] - table[:, FIRST]).max(initial=0)))
        roomy = np.zeros(HEAD + (ROW + most) * fields, dtype=np.int64)
        roomy[:HEAD] = self.codes[:HEAD]
        rows = roomy[HEAD : HEAD + ROW * fields].reshape(fields, ROW)
        rows[:] = table
        for i, (begin, end) in enumerate(table[:, [FIRST, END]].tolist()):
            own = HEAD + ROW * fields + most * i
            roomy[own : own + end - begin] = self.codes[begin:end]
            rows[i, FIRST], rows[i, END] = own, own + end - begin
        return roomy


def most_found(fields: Sequence[Hashable]) -> int:
    """Return how many columns may be found in one batch: names, and what else a field may lack."""
    return max(1, len(fields) * (MOST_NAMES + 3))
