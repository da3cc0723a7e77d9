"""The contexts member: its sizes, its first state, how it grows, and what a record's votes were."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.kernels.dispatch import Kernels
from stream_llsvm.members.base import Asked, Member, Parts, Shape, Views
from stream_llsvm.members.contexts import kernel, merge
from stream_llsvm.members.contexts import state as at
from stream_llsvm.members.contexts.table import COUNT, FIRST_BITS, SHARES, TAG, TAG_BITS
from stream_llsvm.members.field_sets import sets_of
from stream_llsvm.members.pooling import Parted

#: A table has so many shares at most: with many classes there are fewer cells.
_MOST_SHARES = 2**21
_MOST_VOTES = 2**20
_FEWEST = 1 << FIRST_BITS
_KINDS = {at.WORD: "word", at.MISSING: "missing", at.EIGHTH: "eighth", at.WHOLE: "whole"}
_KINDS |= {kind: "name" for kind in range(at.NAME, at.MISSING)}


@dataclass(frozen=True, kw_only=True)
class Contexts(Member):
    """What fields say together, and how often each class came. See ``members/contexts/kernel.py``.

    Unless it is ``eager`` it says nothing until there are names or codes in the records.
    """

    n_cells: int = 2**18
    eager: bool = False

    kernels = Kernels(kernel.run)
    state = at.ContextsState
    accounts = True
    comes_on_top = True
    pace = 6.0

    @property
    def name(self) -> str:
        """What the user calls it."""
        return f"contexts:{self.n_cells}"

    def experts(self, width: int, columns: int) -> int:
        """Return how many scores per column it gives."""
        return 1

    def cost(self, width: int, columns: int) -> int:
        """Return the multiply-adds per record, of as many sets as these fields have."""
        fields = min(width, at.WORDS)
        sets = min(at.SETS, 2**fields - 1) if fields <= at.FIELDS else fields
        return sets * (4 + columns)

    def sizes(self, width: int, columns: int) -> dict[str, int]:
        """Return its sizes and choices, as its state names them."""
        fits = max(_FEWEST, min(self.n_cells, _MOST_SHARES // columns))
        alone = 3 * at.FIELDS + min(at.WORDS, _MOST_VOTES // columns)
        return {
            "cells": 1 << (fits.bit_length() - 1),
            "cell_size": SHARES + columns,
            "most_sets": 1 + max(at.SETS, width),
            "most_parts": max(at.FIELDS, min(width, at.WORDS)),
            "most_asked": alone,
        }

    def begin(self, views: Views, width: int, columns: int) -> None:
        """Fill in what is not zero at first."""
        views["running"][at.USED] = _FEWEST
        views["running"][at.AWAKE] = at.FOR_GOOD if self.eager else at.ASLEEP
        views["slots"][:] = -1
        views["sets"][:] = at.FIELDS
        views["weights"][at.VALUE] = 1 / at.SETS
        views["weights"][at.VALUE, 0] = 1
        views["trust"][at.VALUE] = 1
        views["usual"][:] = 1 / max(1, len(views["usual"]))

    def go_live(self, views: Views) -> None:
        """Learn as a stream again."""
        views["running"][at.RESTING] = 0

    def rehearse(self, views: Views, *, last: bool) -> None:
        """Learn in the last pass only: a record must not be known by heart."""
        views["running"][at.RESTING] = 0 if last else 1

    def introduce(self, views: Views, first: int, hashes: NDArray[np.int64]) -> None:
        """Make sets anew of the fields known so far; those that remain keep their weights."""
        views["hashes"][first : first + len(hashes)] = hashes
        running = views["running"]
        if not hashes.any() or running[at.WIDE] == 1:
            return
        known = views["hashes"]
        columns = sorted(np.flatnonzero(known).tolist(), key=lambda c: (int(known[c]), c))
        if len(columns) > at.FIELDS:
            _stand_alone(views)
        else:
            _regroup(views, columns)

    def kept_experts(self, old: Shape, new: Shape) -> list[int]:
        """Return which experts of the old shape (width, columns) are those of the new one."""
        return [0]

    def carry(self, old: Views, new: Views, before: Shape, after: Shape) -> None:
        """Move a state into a larger one: more columns, more classes, maybe fewer cells."""
        for name in ("running", "fields", "sets", "watched", "trust"):
            new[name][:] = old[name]
        for name in ("hashes", "slots"):
            new[name][: before[0]] = old[name]
        new["weights"][:, : old["weights"].shape[1]] = old["weights"]
        known, classes = len(old["usual"]), len(new["usual"])
        new["usual"][:] = 1 / classes
        new["usual"][:known] = old["usual"] * known / classes
        used = int(old["running"][at.USED])
        cells = _widened(old["table"][:used], before[1], after[1])
        while len(cells) > len(new["table"]):
            cells = merge.halved(cells)
        new["table"][: len(cells)] = cells
        new["running"][at.USED] = len(cells)
        new["running"][at.TAKEN] = np.count_nonzero(cells[:, COUNT])

    def parts(self, views: Views, z: NDArray[np.float64]) -> Parts:
        """Take the score of the record last seen apart: a set's part evenly among its fields.

        That is the Shapley value, if a context speaks only where all its fields are known. What is
        usual anyway is no field's.
        """
        columns = len(views["told"])
        of_features = np.zeros((1, columns, len(z)))
        rest = np.zeros((1, columns))
        if len(views["usual"]) > 1 and views["running"][at.AWAKE] != at.ASLEEP:
            rest[0] = views["weights"][at.VALUE, 0] * views["told"]
            for one in self.asked(views):
                columns_of_it = [column for column, _, _ in one.parts]
                of_features[0][:, columns_of_it] += one.votes[:, None] / len(one.parts)
        return Parts(of_features, np.zeros_like(of_features), rest)

    def asked(self, views: Views) -> list[Asked]:
        """Return the contexts that the last record asked for and that are known."""
        asked = views["asked"][:, : int(views["n_asked"][0])]
        if views["running"][at.AWAKE] == at.ASLEEP:
            return []
        found = []
        for a in np.flatnonzero(asked[at.PLACE] >= 0).tolist():
            cell = views["table"][asked[at.PLACE, a]].astype(np.float64)
            of = int(asked[at.SET, a])
            counts = views["weights"][at.VALUE, 1 + of] * views["scales"][a]
            counts *= views["trust"][at.VALUE, asked[at.BUCKET, a]]
            kind, where = int(asked[at.TAKEN_AS, a]), int(asked[at.AT, a])
            fields = columns_of(views, of)
            parts = [(fields[0], _KINDS[kind], where)]
            if len(fields) > 1:
                slots = views["slots"][fields]
                kinds = views["taken_as"][slots].tolist()
                parts = [(c, _KINDS[k], -1) for c, k in zip(fields, kinds, strict=True)]
            found.append(Asked(parts, _came(cell, views["usual"]), counts * views["votes"][a]))
        return found

    def merge(self, models: Parted, out: dict[str, NDArray[Any]]) -> None:
        """Fill ``out`` with the cells of all models, each the mean of those that have it."""
        merge.merge(models, out)

    def reorder(self, views: Views, columns: NDArray[np.int64], codes: NDArray[np.int64]) -> None:
        """Find fields where they are now, and classes likewise."""
        where = np.argsort(columns)
        n = int(views["running"][at.N_FIELDS])
        views["fields"][:n] = where[views["fields"][:n]]
        if views["running"][at.WIDE] == 1:
            own = views["weights"][:, 1 : 1 + len(columns)]
            own[:] = own[:, columns]
        cells = views["table"][: int(views["running"][at.USED])]
        taken = cells[cells[:, COUNT] > 0]
        if len(views["told"]) > 1:
            taken[:, SHARES:] = taken[:, SHARES:][:, codes]
        elif codes.tolist() == [1, 0]:
            taken[:, SHARES] = 1 - taken[:, SHARES]
        cells[cells[:, COUNT] > 0] = taken

    def sound(self, views: Views) -> bool:
        """Whether the kernel can trust this state (it comes from a file)."""
        running, table, fields, sets = (
            views[name] for name in ("running", "table", "fields", "sets")
        )
        width, used = len(views["slots"]), int(running[at.USED])
        n, m = int(running[at.N_FIELDS]), int(running[at.N_SETS])
        if not (_FEWEST <= used <= len(table) and used & (used - 1) == 0):
            return False
        count, tag, shares = table[:, COUNT], table[:, TAG], table[:, SHARES:]
        whole = (count == np.floor(count)) & (tag == np.floor(tag))
        trust = views["trust"]
        return bool(
            0 <= n <= min(at.FIELDS, width)
            and n <= m <= at.SETS
            and running[at.AWAKE] in (at.ASLEEP, at.FOR_NOW, at.FOR_GOOD)
            and running[at.WIDE] in (0, 1)
            and running[at.RESTING] in (0, 1)
            and 0 <= running[at.SEEN] < 2**53
            and running[at.TAKEN] == np.count_nonzero(count)
            and not table[used:].any()
            and (whole & (count >= 0) & (tag >= 0) & (tag < 2**TAG_BITS)).all()
            and ((shares >= 0) & (shares <= 1)).all()
            and ((fields >= 0) & (fields < max(1, width))).all()
            and ((views["slots"] >= -1) & (views["slots"] < max(1, n))).all()
            and ((sets[:m] >= 0) & ((sets[:m] < n) | (sets[:m] == at.FIELDS))).all()
            and (views["weights"][at.ENERGY] >= 0).all()
            and (np.abs(views["weights"][at.VALUE]) <= kernel.MOST_WEIGHT).all()
            and (trust[at.ENERGY] >= 0).all()
            and (trust[at.VALUE] >= kernel.LEAST_TRUST).all()
            and (trust[at.VALUE] <= kernel.MOST_TRUST).all()
            and ((views["usual"] >= 0) & (views["usual"] <= 1)).all()
        )


def columns_of(views: Views, of: int) -> list[int]:
    """Return the columns of a set of fields."""
    if views["running"][at.WIDE] == 1:
        return [of]
    return [int(views["fields"][slot]) for slot in views["sets"][of] if slot < at.FIELDS]


def _came(cell: NDArray[np.float64], usual: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how many records of each class came with a cell's context, of the last of them.

    Its shares began with two records of the usual, which is taken as it is now.
    """
    n, shares = cell[COUNT], cell[SHARES:]
    if len(shares) == 1:
        shares = np.array([1 - shares[0], shares[0]])
    late = min(n, 1 / kernel.FLOOR)
    if n + kernel.START <= 1 / kernel.FLOOR:
        shares = (n + kernel.START) * shares - kernel.START * usual
    came = np.maximum(shares, 0)
    return np.asarray(late * came / came.sum())


def _regroup(views: Views, columns: list[int]) -> None:
    """Make sets of these columns' fields."""
    running, weights = views["running"], views["weights"]
    before = {
        frozenset(columns_of(views, s)): weights[:, 1 + s].copy()
        for s in range(int(running[at.N_SETS]))
    }
    watched = {c: views["watched"][s].copy() for s, c in enumerate(_fields(views))}
    sets = sets_of([int(views["hashes"][c]) for c in columns], at.SETS, at.LARGEST)
    running[at.N_FIELDS], running[at.N_SETS] = len(columns), len(sets)
    views["fields"][: len(columns)] = columns
    views["slots"][columns] = np.arange(len(columns))
    views["sets"][:] = at.FIELDS
    for s, column in enumerate(columns):
        views["watched"][s] = watched.get(column, 0)
    for s, fields in enumerate(sets):
        views["sets"][s, : len(fields)] = fields
        known = before.get(frozenset(columns[i] for i in fields))
        # What has learned nothing yet begins as one of those that there are now.
        weights[:, 1 + s] = (1 / len(sets), 0.0) if known is None or known[1] == 0 else known


def _fields(views: Views) -> list[int]:
    return [int(c) for c in views["fields"][: int(views["running"][at.N_FIELDS])]]


def _stand_alone(views: Views) -> None:
    """Give each field a weight of its own and none to sets: there are too many fields."""
    own = {column: views["weights"][:, 1 + s].copy() for s, column in enumerate(_fields(views))}
    views["weights"][at.VALUE, 1:], views["weights"][at.ENERGY, 1:] = 1 / at.SETS, 0
    for column, weight in own.items():
        views["weights"][:, 1 + column] = weight
    views["running"][[at.N_FIELDS, at.N_SETS]] = 0
    views["running"][at.WIDE] = 1
    views["slots"][:] = -1
    views["fields"][:] = 0
    views["sets"][:] = at.FIELDS


def _widened(cells: NDArray[np.float32], before: int, after: int) -> NDArray[np.float32]:
    """Return cells with a share for each class; the one of two classes becomes two."""
    if before == after:
        return cells
    wide = np.zeros((len(cells), SHARES + after), dtype=np.float32)
    wide[:, :SHARES] = cells[:, :SHARES]
    if before > 1:
        wide[:, SHARES : SHARES + before] = cells[:, SHARES:]
    else:
        taken = cells[:, COUNT] > 0
        wide[taken, SHARES] = 1 - cells[taken, SHARES]
        wide[taken, SHARES + 1] = cells[taken, SHARES]
    return wide


def of_size(size: int, seed: int) -> Member:
    """Make a contexts member."""
    return Contexts(n_cells=size)
