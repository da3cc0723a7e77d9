"""What is merged: the parts of several models that lie at the same place, and what becomes of them.

Where the model is known that all parted from, it is one of the parts, the first: what each has
learned since is its difference to that. Members need not tell both cases apart. Whatever is a mean
of parts is so here as well: the base counts as much as is left to make 1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.kernels.pool import add_rows, count_shares

Array = NDArray[Any]


class NoMeanError(ValueError):
    """What models have learned has nothing in common that could be averaged."""


@dataclass(frozen=True)
class Rescale:
    """From one model's scaled values to the merged one's: ``z_old = factor * z + offset``.

    Attributes
    ----------
    factor
        (width,).
    offset
        (width,).
    constant
        (width,): where a feature that the model knows as constant lies now. Its factor is 0.

    """

    factor: Array
    offset: Array
    constant: Array

    @property
    def is_none(self) -> bool:
        """Whether nothing changes."""
        known = self.factor != 0
        return bool(
            (self.factor[known] == 1).all()
            and (self.offset == 0).all()
            and (self.constant == 0).all()
        )

    def first(self, width: int) -> Rescale:
        """Return what is said of the first columns."""
        return Rescale(self.factor[:width], self.offset[:width], self.constant[:width])

    def points(self, z_old: Array) -> Array:
        """Return where these points, (..., width), lie now; what says nothing (0) still does."""
        if self.is_none:
            return z_old.astype(np.float64)
        known = self.factor != 0
        with np.errstate(divide="ignore", invalid="ignore"):
            moved = (z_old - self.offset) / self.factor
        return np.where(known, moved, self.constant)


class Units(NamedTuple):
    """From one model's scaled answers to the merged one's: ``factor * answer + offset``.

    Classes have no units; targets that are numbers are scaled by each model in its own way.
    """

    factor: float = 1.0
    offset: float = 0.0


AS_THEY_ARE = Units()


@dataclass(frozen=True)
class Part:
    """One model's part: its arrays, how much the model counts, and how its scales change.

    The base counts 0: it has learned nothing since.
    """

    views: Mapping[str, Array]
    weight: float
    rescale: Rescale
    units: Units = AS_THEY_ARE


class Shares(NamedTuple):
    """How far each part counts, (parts, rows), in what takes raw steps and in running means."""

    raw: Array
    means: Array


@dataclass(frozen=True)
class Parted:
    """The same member of several models.

    Attributes
    ----------
    parts
        One for each model; the base's is the first, if there is one.
    since
        Whether there is.
    newest
        Which of the parts has learned last.

    """

    parts: tuple[Part, ...]
    since: bool
    newest: int

    @property
    def learners(self) -> tuple[Part, ...]:
        """The parts of those that are merged."""
        return self.parts[1:] if self.since else self.parts

    @property
    def base(self) -> Part | None:
        """The part of the model that all parted from."""
        return self.parts[0] if self.since else None

    @property
    def weights(self) -> Array:
        """How much each part counts by its model's weight alone."""
        return np.array([part.weight for part in self.parts])

    def each(self, name: str, index: Any = ...) -> list[Array]:
        """Return an array of each part, or something of it."""
        return [np.asarray(part.views[name][index]) for part in self.parts]

    def counted(self, name: str, index: Any = ...) -> Array:
        """Return a count of all together: the base's and what each has added to it.

        Without a base what they counted before they parted is in all of them: then it is the mean.
        """
        own = self.summed(self.each(name, index))
        return own if self.since else np.round(own)

    def summed(self, amounts: Sequence[Array]) -> Array:
        """Return the base's amount and what each has added to it; without a base the mean."""
        own = [amount.astype(np.float64) for amount in amounts]
        if self.since:
            return np.asarray(own[0] + sum(amount - own[0] for amount in own[1:]))
        return mean_of(self.weights, own)

    def shares(self, seen: Sequence[Array | float]) -> Array:
        """Return each part's share by weight and by what it has seen (since): of raw steps."""
        return self.by_rows(np.stack([np.asarray(n, dtype=np.float64) for n in seen])).raw

    def by_rows(self, seen: Array, power: float = 0.0, floor: float = 1e-9) -> Shares:
        """Return how far each part counts in each row; see ``kernels/pool.py``.

        Parameters
        ----------
        seen
            How many records each row has seen, (parts, ...).
        power
            Where several have moved a row, by how much farther than their mean it goes.
        floor
            The least share of a record in a running mean.

        """
        flat = np.ascontiguousarray(seen, dtype=np.float64).reshape(len(self.parts), -1)
        raw, means = np.empty_like(flat), np.empty_like(flat)
        count_shares(flat, self.weights, self.since, power, floor, raw, means)
        return Shares(raw.reshape(seen.shape), means.reshape(seen.shape))

    def clock(self, seen: Sequence[float]) -> list[Callable[[Array], Array]]:
        """Return of each part what says which record of all a record of its own is.

        Since they parted each has learned beside the others: there one record of its own is as old
        as all together have learned meanwhile. Without a base only ages are known, and stay.
        """
        if not self.since:
            now = float(np.round(mean_of(self.weights, [np.array(n) for n in seen])))
            return [lambda at, n=n: np.maximum(0.0, now - (n - at)) for n in seen]  # type: ignore[misc]
        begin = seen[0]
        total = sum(n - begin for n in seen[1:])

        def of(own: float) -> Callable[[Array], Array]:
            pace = total / own if own > 0 else 1.0
            return lambda at: np.where(at > begin, begin + (at - begin) * pace, at)

        return [of(n - begin) for n in seen]


def shares_of(amounts: Array) -> Array:
    """Return each model's share of an amount, (models, ...): evenly where nobody has any."""
    total = amounts.sum(axis=0)
    even = np.full(amounts.shape, 1 / len(amounts))
    shares: Array = np.divide(amounts, total, out=even, where=total > 0)
    return shares


def mean_of(shares: Array, values: Sequence[Array]) -> Array:
    """Return the mean of the models' arrays; ``shares`` is (models, ...), of leading axes."""
    total = np.zeros(values[0].shape)
    for share, value in zip(shares, values, strict=True):
        if (share == 1).all():
            return value.astype(np.float64)
        wide = np.reshape(share, share.shape + (1,) * (value.ndim - share.ndim))
        total += wide * value
    return total


def add_up(shares: Shares, tables: Sequence[Array], out: Array, *, averaged: bool) -> None:
    """Fill ``out`` with the mean of tables, of which the second half of a row may follow the first.

    Tables are of 4-byte floats, (rows, numbers); shares are (models, rows).
    """
    rows = len(out)
    out[:] = 0
    for raw, means, table in zip(shares.raw, shares.means, tables, strict=True):
        add_rows(
            np.ascontiguousarray(raw).reshape(rows),
            np.ascontiguousarray(means).reshape(rows) if averaged else np.empty(0),
            np.ascontiguousarray(table, dtype=np.float32),
            out,
        )
