"""What formats share whose records are objects: names with values, also objects in objects."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from math import nan
from typing import Any

import numpy as np

from stream_llsvm.connectors.base import BadField, Batch, Place, Position, Rejected
from stream_llsvm.connectors.codec import Codec, Deleted, plain
from stream_llsvm.connectors.columns import Columns, Record, fill
from stream_llsvm.connectors.values import Bad, Unread
from stream_llsvm.records.nans import clear_nans
from stream_llsvm.records.nested import flattened
from stream_llsvm.records.values import show

#: More fields an object does not have: one broken record shall not make the model as wide as
#: memory goes. Fields that users name themselves may be more.
MOST_FIELDS = 10_000
_CELLS = {float, int, bool, str, type(None)}
_PLAIN = {str, int, bool, type(None)}


class ObjectCodec(Codec):
    """What formats share whose records are objects: names with values.

    Parameters
    ----------
    parse
        What reads one value; it may raise anything.
    names
        The names of the fields, if records are arrays. Objects are read with or without them.
    options
        As for every `Codec`.

    """

    def __init__(
        self, parse: Callable[[bytes], Any], names: Sequence[str] | None = None, **options: Any
    ) -> None:
        super().__init__(**options)
        if names is not None and len(set(names)) != len(names):
            raise ValueError("two fields have the same name; names must differ")
        self.names = None if names is None else tuple(names)
        self._most = max(MOST_FIELDS, len(self.names or ()), len(self.selection.features or ()))
        self._parse = parse
        self.loads = parse if names is None else self._as_object

    def _as_object(self, raw: bytes) -> Any:
        """Read one value, an array as the object that it stands for."""
        return self.as_object(self._parse(raw))

    def as_object(self, fields: Any) -> Any:
        """Return an array as the object that it stands for, if it does; or else what it is."""
        if isinstance(fields, list) and self.names is not None and len(fields) == len(self.names):
            return dict(zip(self.names, fields, strict=True))
        return fields

    def checked(self, fields: Any, raw: bytes) -> dict[str, Any]:
        """Return what was read if it is an object. Raises Bad."""
        if isinstance(fields, list) and self.names is not None:
            detail = f"{len(fields)} instead of {len(self.names)}: {show(raw)[:80]}"
            raise Bad("wrong number of fields", detail)
        if isinstance(fields, list):
            raise Bad("not an object", f"an array, whose fields have no names: {show(raw)[:80]}")
        if not isinstance(fields, dict):
            raise Bad("not an object", show(raw)[:80])
        return fields

    def record(self, fields: dict[str, Any]) -> Record:
        """Make a record of an object, which is used up. Raises Bad, or Deleted."""
        fields, label, key, left_out = self._taken(fields)
        read = self.values.read if self.numeric else self.values.anything
        x, unread = self.values.row(fields.items(), read)
        if left_out:
            detail = f"{left_out:,} values lie too deep, are too many, or have the name of another"
            unread = (*unread, Unread("objects in objects", "nested value", detail))
            if self.values.rejects:
                raise Bad("nested value", detail, unread)
        return Record(x, plain(label, "label", "label"), plain(key, "key", "key"), unread)

    def _taken(self, fields: dict[str, Any]) -> tuple[dict[str, Any], Any, Any, int]:
        """Return the features that an object names, its label, its key, and what is left out.

        What lies in objects in it is named by the way there: ``payload.amount``. Raises Bad, or
        Deleted.
        """
        if self.unwrap is not None:
            fields = self._unwrapped(fields)
        label = fields.pop(self.label, None) if self.label is not None else None
        key = fields.pop(self.key, None) if self.key is not None else None
        selection, left_out = self.selection, 0
        if self.numeric and dict in map(type, fields.values()):
            kept = {n: v for n, v in fields.items() if n not in selection.ignore}
            whole, left_out = flattened(kept)
            if self.label is not None and label is None:
                label = whole.pop(self.label, None)
            if self.key is not None and key is None:
                key = whole.pop(self.key, None)
            if selection.ignore or selection.features is not None:
                wanted = selection.wanted_inside
                whole = {n: v for n, v in whole.items() if wanted(n, inside=n not in fields)}
            fields = whole
        elif selection.ignore or selection.features is not None:
            fields = {n: v for n, v in fields.items() if selection.wanted(n)}
        if len(fields) > self._most:
            raise Bad("too many fields", f"{len(fields):,}, and at most {self._most:,} are read")
        return fields, label, key, left_out

    def _unwrapped(self, fields: dict[str, Any]) -> dict[str, Any]:
        """Return the object that is the record. Raises Bad, or Deleted if there is none."""
        inside: Any = fields
        for name in self.unwrap or ():
            if not isinstance(inside, dict) or name not in inside:
                way = ".".join(self.unwrap or ())
                raise Bad("nothing to unwrap", f"there is no {way} in {show(fields)[:80]}")
            inside = inside[name]
            if inside is None:
                raise Deleted
        if not isinstance(inside, dict):
            raise Bad("not an object", f"{'.'.join(self.unwrap or ())}: {show(inside)[:80]}")
        return inside

    def decode_objects(
        self, objects: Sequence[Mapping[str, Any]], places: Sequence[Place], position: Position
    ) -> Batch:
        """Read records that are objects already, as `decode` reads bytes."""
        batch = Batch([], places, position)
        records, kept = [], []
        self.dictionary.make_room()
        for i, fields in enumerate(objects):
            try:
                record = self.record(dict(fields))
            except Deleted:
                batch.deletes += 1
                continue
            except Bad as bad:
                raw = json.dumps(fields, default=repr).encode()
                batch.rejected.append(Rejected(places[i], bad.reason, bad.detail, raw))
                unread = bad.fields
            else:
                records.append(record)
                kept.append(places[i])
                unread = record.unread
            batch.bad_fields += [BadField(places[i], *one) for one in unread]
        batch.places = kept
        fill(batch, [records], self.dictionary if self.numeric else None, self.selection.weight)
        if self.key is None:
            batch.keys = None
        return batch

    def fast(self, raws: Sequence[bytes]) -> Columns | None:
        """Read objects at once that have the same fields in the same order, and no words."""
        flat: list[Any] = []
        labels: list[Any] = []
        keys: list[Any] = []
        names: list[str] | None = None
        loads, taken = self.loads, self._taken
        try:
            for raw in raws:
                fields, label, key, left_out = taken(loads(raw))
                found = list(fields)
                if left_out or found != names:
                    if left_out or names is not None or not found:
                        return None
                    names = found
                labels.append(label)
                keys.append(key)
                flat += fields.values()
            if names is None or not {str}.issuperset(map(type, names)):
                return None
            if not {*map(type, labels), *map(type, keys)} <= _PLAIN:
                return None
            cells = self._cells(names, flat)
            if cells is None:
                return None
            values = np.array(cells, dtype=np.float64)
            if cells is flat:
                clear_nans(values)
            values = values.reshape(len(raws), len(names))
        except (ValueError, TypeError, AttributeError, OverflowError, Bad, Deleted):
            return None
        if not self.values.settle(names, values) or np.isinf(values).any():
            return None
        return Columns(tuple(names), values, labels, keys)

    def _cells(self, names: Sequence[str], flat: list[Any]) -> list[Any] | None:
        """Return numbers, with boxes for texts; None if not all are numbers, names and times."""
        kinds = set(map(type, flat))
        if not kinds <= _CELLS or (self.values.kinds and self.values.names_among(names)):
            return None
        if str not in kinds:
            return flat
        cells = self.dictionary.cells
        for text in {value for value in flat if type(value) is str and value not in cells}:
            told = self.values.read("", text)
            if isinstance(told, tuple):
                self.wordy = True
                return None
            cells[text] = told if isinstance(told, float) else self.dictionary.box(told)
        return [
            cells[value] if type(value) is str else value if value == value else nan  # noqa: PLR0124
            for value in flat
        ]
