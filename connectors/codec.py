"""Bytes -> records: what all formats share.

A codec reads one record from its bytes, or says in a few fixed words why it cannot; nothing that a
stream can hold makes it raise. What a value may be is the same in every format:

- A feature is a number, also one that is written as text, a time, a name, or words, value by value
  (see `Values`); None, NaN, nothing at all and what people write for it stand for a missing one.
  A field that cannot be read is missing too, and counted, or its record is rejected, as
  ``on_bad_field`` says. With ``numeric=False`` values pass as they are.
- A label or a key is text, a whole number, a number or a boolean; a record may have none. Where
  all is text (CSV), what looks like a whole number is one (``7`` and ``-7``, not ``007``, ``7.0``
  or anything beyond 18 digits), the rest stays text, and nothing at all is None. A label that reads
  NaN is missing in every format.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from math import inf
from typing import Any, cast

from stream_llsvm.connectors.base import BadField, Batch, Place, Position, Rejected
from stream_llsvm.connectors.columns import Columns, Quick, Record, fill
from stream_llsvm.connectors.dictionary import Dictionary
from stream_llsvm.connectors.flat.spans import Spans, stretches
from stream_llsvm.connectors.keys import FIELD_KINDS
from stream_llsvm.connectors.selection import Selection
from stream_llsvm.connectors.values import IGNORE, MISSING, Bad, Values, shown
from stream_llsvm.records.values import show

# A stretch in which something is odd is halved, and below this length read record by record.
_STRETCH = 64
_FEW = 32  # records that are not worth a compiled loop
_WHOLE = re.compile(r"-?[1-9][0-9]{0,17}|0")


class Deleted(Exception):  # nothing is wrong with it
    """A message that says no more than that something was deleted."""


def plain(value: object, what: str, name: str) -> Any:
    """Return a label or a key as it is, None if it is missing."""
    if value is None or isinstance(value, str | int):
        return value
    if isinstance(value, float) and value not in (inf, -inf):
        return value if value == value else None  # noqa: PLR0124  NaN
    raise Bad(f"odd {what}", shown(name, value))


def plain_from_text(text: str) -> int | str | None:
    """Return a label or a key that is written out.

    Examples
    --------
    >>> plain_from_text(" 7"), plain_from_text("007"), plain_from_text("up "), plain_from_text("")
    (7, '007', 'up', None)

    """
    text = text.strip()
    if _WHOLE.fullmatch(text):
        return int(text)
    return text or None


class Codec:
    """Reads records from their bytes; a format fills in `one`, and `fast` if it has a fast way.

    Parameters
    ----------
    label, key, ignore, features
        As for a `Selection`: which fields are what.
    numeric, missing, decimal, on_bad_field
        As for `Values`: how features are read. With ``numeric=False`` batches hold records, never
        a matrix.
    fields
        As for `Values`: what some fields are taken for; those to ``"ignore"`` are no features.
    unwrap
        Of formats whose records are objects: the way to the object that is the record, as in
        ``"payload.after"`` of a change that Debezium tells of. Where nothing is there, something
        was deleted: that is counted and passed over, and so is a message without a value.
    weight
        The field that says how much a record counts: 1 where it is missing. It is no feature.

    """

    def __init__(
        self,
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
    ) -> None:
        fields = _checked(fields or {}, label, key, weight)
        ignore = [ignore] if isinstance(ignore, str) else ignore
        out = {*ignore, *(name for name, kind in fields.items() if kind == IGNORE)}
        self.selection = Selection(
            label=label, key=key, ignore=out, features=features, weight=weight
        )
        self.values = Values(
            missing=missing,
            decimal=decimal,
            on_bad_field=on_bad_field,
            numeric=numeric,
            fields=fields,
            weight=weight,
        )
        #: Whether `fast` has met words in the batch at hand, which it leaves to `one`.
        self.wordy = False
        #: The texts of the names that came.
        self.dictionary = Dictionary()
        self.unwrap = None if unwrap is None else tuple(unwrap.split("."))
        self.label = label
        self.key = key
        self.numeric = numeric

    def only(self, field: str) -> Codec:
        """Return what reads nothing of the same records but this field, as their label."""
        raise ValueError(f"records of this format have no field {field!r}")

    def keep_text(self) -> None:
        """Leave values as they are from now on, as with ``numeric=False``."""
        self.numeric = self.values.numeric = False

    def one(self, raw: bytes) -> Record | None:
        """Read one record; None if there is none (a blank line). Raises Bad."""
        raise NotImplementedError

    def fast(self, raws: Sequence[bytes]) -> Columns | None:
        """Read many at once, with the same result as one by one; None if anything is odd."""
        return None

    def quick(self, raws: Spans) -> Quick | None:
        """Read many at once by a compiled loop; None if there is none for what this reads."""
        return None

    def decode(
        self,
        raws: Sequence[bytes | None],
        places: Sequence[Place],
        position: Position,
        *,
        blanks: bool = True,
    ) -> Batch:
        """Read records.

        Parameters
        ----------
        raws
            The bytes of each, without an end of line; None where there are none at all.
        places
            Where each came from.
        position
            Where the source stands behind them.
        blanks
            Whether there may be blank lines, which are no records. Otherwise they are rejected.

        """
        parts: list[Columns | list[Record]] = []
        kept: list[int] = []
        self.dictionary.make_room()
        self.wordy = False
        batch = Batch([], places, position)
        waiting = [(0, len(raws))]
        quick = self._quickly(raws)
        if quick is not None:
            waiting = []
            for odd, start, stop in stretches(quick.odd):
                if odd:
                    self._one_by_one(batch, raws, start, stop, places, blanks, kept, parts)
                else:
                    parts.append(quick.columns.part(start, stop))
                    kept += range(start, stop)
        while waiting:
            start, stop = waiting.pop()
            some = raws[start:stop]
            columns = None
            if self.numeric and stop > start and None not in some and not self.wordy:
                columns = self.fast(cast(Sequence[bytes], some))
            if columns is not None:
                parts.append(columns)
                kept += range(start, stop)
            elif stop - start > _STRETCH and not self.wordy:
                middle = (start + stop) // 2
                waiting += [(middle, stop), (start, middle)]
            else:
                self._one_by_one(batch, raws, start, stop, places, blanks, kept, parts)
        if len(kept) < len(raws):
            every = list(places)
            batch.places = [every[i] for i in kept]
        fill(batch, parts, self.dictionary if self.numeric else None, self.selection.weight)
        if self.key is None:
            batch.keys = None
        return batch

    def _quickly(self, raws: Sequence[bytes | None]) -> Quick | None:
        """Read many by the compiled loop; None if that is not worth while."""
        if not self.numeric or len(raws) < _FEW:
            return None
        if not isinstance(raws, Spans):
            if None in raws:
                return None
            raws = Spans.of(cast(Sequence[bytes], raws))
        return self.quick(raws)

    def _one_by_one(
        self,
        batch: Batch,
        raws: Sequence[bytes | None],
        start: int,
        stop: int,
        places: Sequence[Place],
        blanks: bool,
        kept: list[int],
        parts: list[Columns | list[Record]],
    ) -> None:
        """Read a stretch of records, and add what comes of each where it belongs."""
        records = []
        for i in range(start, stop):
            raw = raws[i]
            try:
                if raw is None and self.unwrap is not None:
                    raise Deleted
                record = None if raw is None else self.one(raw)
                if raw is None or (record is None and not blanks):
                    raise Bad("no value", "there is none" if raw is None else "it is blank")
            except Deleted:
                batch.deletes += 1
                continue
            except Bad as bad:
                batch.rejected.append(Rejected(places[i], bad.reason, bad.detail, raw or b""))
                batch.bad_fields += [BadField(places[i], *one) for one in bad.fields]
                continue
            if record is not None:
                records.append(record)
                kept.append(i)
                if record.unread:
                    batch.bad_fields += [BadField(places[i], *one) for one in record.unread]
        parts.append(records)


def _checked(
    fields: Mapping[str, str], label: str | None, key: str | None, weight: str | None
) -> Mapping[str, str]:
    """Return what fields are taken for. Raises ValueError."""
    for name, kind in fields.items():
        if kind not in FIELD_KINDS:
            known = ", ".join(FIELD_KINDS)
            raise ValueError(f"the field {name!r} is one of {known}; not {show(kind)}")
        if name in (label, key):
            raise ValueError(f"the field {name!r} is the label or the key, and no feature")
        if name == weight:
            raise ValueError(f"the field {name!r} is the weight, and no feature")
    return fields
