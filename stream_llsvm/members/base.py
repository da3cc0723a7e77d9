"""What a member is, and what many have in common: step sizes side by side."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.kernels.dispatch import Kernels
from stream_llsvm.kernels.losses import CRAMMER_SINGER
from stream_llsvm.kernels.plan import NO_METRIC
from stream_llsvm.members.pooling import Parted

#: A member's sections by name, and a shape of a model: (width, columns).
Views = Mapping[str, NDArray[Any]]
Shape = tuple[int, int]


class Parts(NamedTuple):
    """Experts' scores for one record, taken apart: they are ``of_features.sum(2) + rest``.

    ``of_features`` and ``slopes`` (how a score changes with a scaled feature) are (experts,
    columns, features), ``rest`` is (experts, columns).
    """

    of_features: NDArray[np.float64]
    slopes: NDArray[np.float64]
    rest: NDArray[np.float64]


class Asked(NamedTuple):
    """A context that the last record asked for.

    ``parts`` has for each field its column, as what its value is taken (missing, name, word, whole
    or eighth), and the value's place in the row (-1: the first of its column); ``counts`` how many
    records of each class came with it of late; ``votes`` what it adds to each column of scores.
    """

    parts: list[tuple[int, str, int]]
    counts: NDArray[np.float64]
    votes: NDArray[np.float64]


class Member(ABC):
    """What a classifier is made of: what a model's state and its readers know of each kind.

    A kind says what is abstract here. The rest is that of a member without anchors, relevance or
    memories, and with nothing to prepare for a warm start. ``members/anchors/member.py`` has all.
    """

    #: How many anchors there may be. A kind's option, or 0.
    n_anchors = 0
    #: Its compiled functions, and the NamedTuple that says what it keeps.
    kernels: Kernels
    state: Any
    #: Whether its kernel for many rows that only want an answer knows this member's options.
    answers_together = False
    #: Whether its kernel passes over what is zero in wide dense rows (``kernels/pieces.py``).
    reads_pieces = False
    #: About how many nanoseconds a multiply-add takes, and a record beside that: long where each is
    #: fetched from another place. Who is dear must be worth more, or rests.
    pace, start = 0.1, 150
    #: Whether it leaves the learned metric for others, or reads it.
    metric = NO_METRIC
    #: Whether its own account of a score says what features add, so that nobody need ask it again.
    accounts = False
    #: How much the mixer trusts each of its experts at first, times the number of all experts.
    first_trust = 4.0
    #: Whether it may be laid out for a model's first columns only, and whether it learns from all
    #: columns of wide sparse rows, so that those may: where records name few of many features and
    #: a member sees all, those that are capped see the features that came first (``room.py``).
    capped = sees_all = False
    #: Whether the others are trusted as if it were not there.
    comes_on_top = False
    #: Whether it says nothing of most streams: the mixer is paced as if it were not there.
    seldom_speaks = False
    #: Records of history for which it has more room than usual.
    history_room = 0
    #: In how many of the last passes over history it learns, if not in all.
    passes = 1_000_000

    @property
    @abstractmethod
    def name(self) -> str:
        """What the user calls it."""

    @abstractmethod
    def cost(self, width: int, columns: int) -> int:
        """Return the multiply-adds per record."""

    def price(self, width: int, columns: int) -> int:
        """Return about how many nanoseconds a record takes; of 0 it never rests."""
        cost = self.cost(width, columns)
        return int(self.start + self.pace * cost) if cost > 0 else 0

    @abstractmethod
    def experts(self, width: int, columns: int) -> int:
        """Return how many scores per column it gives."""

    @abstractmethod
    def sizes(self, width: int, columns: int) -> dict[str, int]:
        """Return its sizes and choices, as its state names them."""

    @abstractmethod
    def begin(self, views: Views, width: int, columns: int) -> None:
        """Fill in what is not zero at first."""

    @abstractmethod
    def kept_experts(self, old: Shape, new: Shape) -> list[int]:
        """Return which experts of the old shape (width, columns) are those of the new one."""

    @abstractmethod
    def carry(self, old: Views, new: Views, before: Shape, after: Shape) -> None:
        """Move a state into a larger one: more features, more classes, maybe less of the rest."""

    @abstractmethod
    def parts(self, views: Views, z: NDArray[np.float64]) -> Parts | None:
        """Take the scores of the record last seen apart; None if no part is any feature's."""

    @abstractmethod
    def sound(self, views: Views) -> bool:
        """Whether the kernel can trust this state (it comes from a file)."""

    @property
    def attributes(self) -> bool:
        """Whether what it says can be shared out among features."""
        return True

    def expert_names(self, width: int, columns: int) -> list[str]:
        """Return what people call each of its scores: nothing, if there is only one."""
        return [""]

    def introduce(self, views: Views, first: int, hashes: NDArray[np.int64]) -> None:
        """Know which fields the columns from ``first`` on are of; 0 for one that is derived."""

    def with_history_room(self, records: int) -> Member:
        """Return this member with room for so many records of history, if it remembers any."""
        return self

    def settled(self, views: Views) -> bool:
        """Whether it needs no more room than usual (again)."""
        return True

    def place(
        self, views: Views, sample: Callable[[], NDArray[np.float32]], rng: np.random.Generator
    ) -> None:
        """Use a sample of history before the first pass."""

    def rehearse(self, views: Views, *, last: bool) -> None:
        """Prepare for a pass over history."""

    def slow_down(self, views: Views, left: float) -> None:
        """Take steps of so much of their length: in history they shrink from 1 to 0."""

    def go_live(self, views: Views) -> None:
        """Bring the settings to what the options say, and learn as a stream."""

    def anchors(
        self, views: Views
    ) -> Iterator[tuple[NDArray[np.float64], float, NDArray[np.float64], NDArray[np.float64]]]:
        """Yield each anchor's position, mass, and experts' weights and biases."""
        yield from ()

    def masses(self, views: Views) -> NDArray[np.float64]:
        """Return how many records each anchor has answered, each counted by its share."""
        return np.zeros(0)

    def positions(
        self, views: Views, which: NDArray[np.int64], columns: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Return where some anchors are in some of the features, scaled."""
        return np.zeros((len(which), len(columns)))

    def blended(
        self, views: Views, which: NDArray[np.int64], strength: NDArray[np.float64]
    ) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
        """Return some anchors' machines, all experts added up, each with a strength."""
        return np.zeros((len(which), 0, 0), dtype=np.float32), np.zeros((len(which), 0))

    def answering(self, views: Views) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the anchors that answered the last record, and their shares."""
        return np.zeros(0, dtype=np.int64), np.zeros(0)

    def moves(self, views: Views) -> int:
        """Return how often an anchor has been moved."""
        return 0

    def square(self, views: Views) -> float:
        """Return the sum of the squares of its weights, the raw ones; 0 if it has none."""
        return 0.0

    def relevance(self, views: Views) -> NDArray[np.float64] | None:
        """Return how much each feature counts, if the member learns that."""
        return None

    def merge(self, models: Parted, out: dict[str, NDArray[Any]]) -> None:
        """Fill ``out`` with one state of several models'; it holds the first state of this shape.

        Raises
        ------
        NoMeanError
            If what they have learned has nothing in common that could be averaged: then the newest
            model's is taken, by a call with this one alone.
        ValueError
            If members of this kind can never be merged.

        """
        raise ValueError(
            f"a member {self.name!r} cannot be merged: merge models without it, or keep one of "
            "these"
        )

    def reorder(self, views: Views, columns: NDArray[np.int64], codes: NDArray[np.int64]) -> None:
        """Say column ``i`` where it said ``columns[i]``, and class ``i`` for ``codes[i]``.

        Sections that have a dimension of features or classes are in the new order already; this is
        for those that hold numbers of features or classes.
        """

    def asked(self, views: Views) -> list[Asked]:
        """Return the contexts that the last record asked for and that are known."""
        return []

    def voters(self, views: Views) -> list[tuple[int, float, float, float]]:
        """Return the remembered records that voted on the last: label, age, distance, share."""
        return []


@dataclass(frozen=True, kw_only=True)
class Stepping(Member):
    """A member whose weights are learned by several step sizes side by side.

    Each has raw weights and, if ``averaged``, their average: (copies, rungs, columns, ...).
    """

    loss: int
    multiclass: int
    steps: tuple[float, ...]
    averaged: bool
    average_floor: float = 0.001
    #: Multiply-adds that the rungs may cost per record before all but the middle one are dropped.
    #: By the width, also where records name little of it: there a second rung gains nothing (three
    #: streams of text: -0.2 to +0.1 points) and makes a model half as large again.
    budget: int = 100_000

    def rung_cost(self, width: int, columns: int) -> int:
        """Return the multiply-adds per record of one rung, to score it."""
        raise NotImplementedError

    def search_cost(self, width: int) -> int:
        """Return the multiply-adds per record that all rungs share."""
        return 0

    def cost(self, width: int, columns: int) -> int:
        """Return the multiply-adds per record; to learn it costs as much as to score it."""
        rungs = len(self.rungs(width, columns))
        return self.search_cost(width) + 2 * rungs * self.rung_cost(width, columns)

    @property
    def copies(self) -> int:
        """Raw weights, or raw and averaged ones."""
        return 2 if self.averaged else 1

    def rungs(self, width: int, columns: int) -> tuple[float, ...]:
        """Return the step sizes that the budget allows."""
        if len(self.steps) == 1 or len(self.steps) * self.rung_cost(width, columns) <= self.budget:
            return self.steps
        return (self.steps[len(self.steps) // 2],)

    def experts(self, width: int, columns: int) -> int:
        """Return how many scores per column it gives."""
        return len(self.rungs(width, columns)) * self.copies

    def expert_names(self, width: int, columns: int) -> list[str]:
        """Return what people call each of its scores: the step size, and if it is averaged."""
        kinds = ("", ", averaged")[: self.copies]
        return [f"step {s:g}{kind}" for kind in kinds for s in self.rungs(width, columns)]

    def kept_experts(self, old: Shape, new: Shape) -> list[int]:
        """Return which experts of the old shape (width, columns) are those of the new one."""
        before, after = self.rungs(*old), self.rungs(*new)
        return [c * len(before) + before.index(s) for c in range(self.copies) for s in after]

    def widen(self, new: NDArray[Any], old: NDArray[Any], axis: int) -> None:
        """Copy columns; the single column of two classes becomes one for each."""
        new, old = np.moveaxis(new, axis, 0), np.moveaxis(old, axis, 0)
        if len(old) == len(new) or len(old) > 1:
            new[: len(old)] = old
            return
        # One-vs-rest asks each class for a margin of its own, the joint losses for a difference.
        share = 0.5 if self.multiclass == CRAMMER_SINGER else 1.0
        new[0] = -share * old[0]
        new[1] = share * old[0]


def by_expert(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Lay out (copies, rungs, columns, ...) as (experts, columns, ...)."""
    return weights.reshape(weights.shape[0] * weights.shape[1], *weights.shape[2:])
