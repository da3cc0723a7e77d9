"""The words member: its sizes, its first state, how it grows, and what a record's names said."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.kernels.dispatch import Kernels
from stream_llsvm.kernels.scaling import MANY
from stream_llsvm.members.base import Member, Parts, Shape, Views
from stream_llsvm.members.pooling import Parted
from stream_llsvm.members.words import kernel, merge
from stream_llsvm.members.words import state as at

#: A table has so many numbers at most, for tokens and for columns: with many classes fewer rows.
_MOST_OF_TOKENS, _MOST_OF_COLUMNS = 2**22, 2**26
_FEWEST = 2**10
#: Which numbers of a name each linear expert's score is made of.
_LINEAR = {at.SHORT: at.WEIGHT, at.LONG: at.LONG_WEIGHT, at.CONFIDENT: at.MEAN}


@dataclass(frozen=True, kw_only=True)
class Words(Member):
    """A table with a few numbers a name, and four experts. See ``members/words/kernel.py``."""

    n_cells: int = 2**16

    kernels = Kernels(kernel.run)
    state = at.WordsState
    accounts = True
    seldom_speaks = True
    sees_all = True

    @property
    def name(self) -> str:
        """What the user calls it."""
        return f"words:{self.n_cells}"

    def experts(self, width: int, columns: int) -> int:
        """Return how many scores per column it gives."""
        return at.EXPERTS

    def expert_names(self, width: int, columns: int) -> list[str]:
        """Return what people call each of its scores."""
        return ["short steps", "long steps", "counts", "confidence"]

    def cost(self, width: int, columns: int) -> int:
        """Return nothing: what it costs is what a record names, and on dense rows it says nothing.

        So nobody decides whether it sleeps.
        """
        return 0

    def sizes(self, width: int, columns: int) -> dict[str, int]:
        """Return its sizes and choices, as its state names them."""
        slots = at.NUMBERS * columns + max(2, columns)
        fits = max(_FEWEST, min(self.n_cells, _MOST_OF_TOKENS // slots))
        cells = 1 << (fits.bit_length() - 1)
        named = min(width, _MOST_OF_COLUMNS // slots) if width >= MANY else 0
        return {"cells": cells, "named": named, "slots": slots, "rows": 1 + cells + named}

    def begin(self, views: Views, width: int, columns: int) -> None:
        """Fill in what is not zero at first."""
        views["running"][[at.UNIT, at.LEFT]] = 1

    def go_live(self, views: Views) -> None:
        """Learn as a stream again."""
        views["running"][[at.LEFT, at.RESTING]] = 1, 0

    def rehearse(self, views: Views, *, last: bool) -> None:
        """Count in the last pass only: a record must not be known by heart."""
        views["running"][at.RESTING] = 0 if last else 1

    def slow_down(self, views: Views, left: float) -> None:
        """Take steps of so much of their length."""
        views["running"][at.LEFT] = left

    def introduce(self, views: Views, first: int, hashes: NDArray[np.int64]) -> None:
        """Know which fields the columns from ``first`` on are of."""
        views["hashes"][first : first + len(hashes)] = hashes

    def kept_experts(self, old: Shape, new: Shape) -> list[int]:
        """Return which experts of the old shape (width, columns) are those of the new one."""
        return list(range(at.EXPERTS))

    def carry(self, old: Views, new: Views, before: Shape, after: Shape) -> None:
        """Move a state into a larger one: more names, more classes, maybe fewer cells."""
        new["running"][:] = old["running"]
        new["hashes"][: before[0]] = old["hashes"]
        new["totals"][: len(old["totals"])] = old["totals"]
        cells, room = (self.sizes(*shape)["cells"] for shape in (before, after))
        widen = before[1] != after[1]
        tokens = old["running"][at.TOKENS] > 0
        for part, place in (
            (old["table"][: 1 + cells if tokens else 1], 0),
            (old["table"][1 + cells :], 1 + room),
        ):
            rows = merge.widened(part, before[1], after[1]) if widen else part
            if place == 0 and tokens:
                rows = merge.folded(rows, room)
            fits = min(len(rows), len(new["table"]) - place)
            new["table"][place : place + fits] = rows[:fits]
        if widen and old["totals"].any():
            # A class that nobody has seen would have been every record's "not this one".
            first = at.MEAN * after[1]
            new["table"][0, first + max(2, before[1]) : first + after[1]] = -1

    def parts(self, views: Views, z: NDArray[np.float64]) -> Parts:
        """Take the scores of the record last seen apart: what each name adds to each."""
        columns, classes = views["sums"].shape[1], len(views["totals"])
        of_features = np.zeros((at.EXPERTS, columns, len(z)))
        slopes, rest = np.zeros_like(of_features), np.zeros((at.EXPERTS, columns))
        if views["found"][at.SPOKE] == 0:
            return Parts(of_features, slopes, rest)
        table = views["table"]
        rows, where, x = _named(views, z, self.sizes(len(z), columns))
        numbers = table[rows, : at.NUMBERS * columns].astype(np.float64)
        numbers = numbers.reshape(len(rows), at.NUMBERS, columns)
        for expert, which in _LINEAR.items():
            np.add.at(of_features[expert].T, where, numbers[:, which] * x[:, None])
            np.add.at(slopes[expert].T, where, numbers[:, which])
            rest[expert] = table[0, which * columns :][:columns]
        unit = views["running"][at.UNIT]
        totals = views["totals"] / unit
        counts = table[rows, at.NUMBERS * columns :][:, :classes] / unit
        votes = np.log(counts + kernel.ALPHA) - np.log(totals + 2 * kernel.ALPHA)
        votes[counts.sum(axis=1) == 0] = 0
        usual = np.log(totals + kernel.ALPHA)
        if classes <= 2:
            votes, usual = (x[..., 1:].sum(-1) - x[..., 0] for x in (votes, usual))
            votes = votes[:, None] if classes == 2 else np.zeros((len(rows), 1))
            usual = usual if classes == 2 else np.zeros(1)
        np.add.at(of_features[at.COUNTS].T, where, votes)
        rest[at.COUNTS] = usual
        return Parts(of_features, slopes, rest)

    def merge(self, models: Parted, out: dict[str, NDArray[Any]]) -> None:
        """Fill ``out``: each name's numbers are the mean of those who know it."""
        cells = self.sizes(len(out["hashes"]), out["sums"].shape[1])["cells"]
        merge.merge(models, out, cells)

    def reorder(self, views: Views, columns: NDArray[np.int64], codes: NDArray[np.int64]) -> None:
        """Find names where they are now, and classes likewise."""
        n = views["sums"].shape[1]
        sizes = self.sizes(len(columns), n)
        named = views["table"][1 + sizes["cells"] :]
        kept = columns[: len(named)]
        moved = named[np.minimum(kept, len(named) - 1)] if len(named) else named
        named[:] = np.where((kept < len(named))[:, None], moved, 0)
        for rows in (views["table"][: 1 + sizes["cells"]], named):
            if n > 1:
                order = [codes + i * n for i in range(at.NUMBERS + 1)]
                rows[:] = rows[:, np.concatenate(order)]
            elif codes.tolist() == [1, 0]:
                rows[:, merge.LINEAR] *= -1
                rows[:, at.NUMBERS :] = rows[:, [at.NUMBERS + 1, at.NUMBERS]]

    def sound(self, views: Views) -> bool:
        """Whether the kernel can trust this state (it comes from a file)."""
        running, table = views["running"], views["table"]
        n = views["sums"].shape[1]
        numbers = table[:, : at.NUMBERS * n].reshape(len(table), at.NUMBERS, n)
        squares, spread = numbers[:, [at.SQUARES, at.LONG_SQUARES]], numbers[:, at.SPREAD]
        unit = running[at.UNIT]
        # What fades with each record is never more than this many of them.
        most = 2 * unit * kernel.MOST_COUNTED / (1 - kernel.FADE)
        counted = (table[:, at.NUMBERS * n :], views["totals"])
        return bool(
            1 <= unit <= 2 * kernel.MOST_UNIT
            and running[at.TOKENS] in (0, 1)
            and (np.abs(numbers[:, merge.LINEAR]) <= kernel.MOST_WEIGHT).all()
            and (squares >= 0).all()
            and ((spread >= -1) & (spread <= 0)).all()
            and all(((part >= 0) & (part <= most)).all() for part in counted)
        )


def _named(
    views: Views, z: NDArray[np.float64], sizes: dict[str, int]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Return what the record last seen names: rows of the table, columns, and values."""
    n = int(views["found"][at.N_TOKENS])
    tokens = views["tokens"][:, :n]
    columns = np.flatnonzero(z[: sizes["named"]])
    rows = np.concatenate([tokens[at.ROW], 1 + sizes["cells"] + columns])
    where = np.concatenate([tokens[at.COLUMN], columns])
    return rows, where, np.concatenate([np.ones(n), z[columns]])


def of_size(size: int, seed: int) -> Member:
    """Make a words member."""
    return Words(n_cells=size)
