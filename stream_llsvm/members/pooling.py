"""What is merged: the parts of several models that lie at the same place, and means of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


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
    """One model's part: its arrays, how much the model counts, and how its scales change."""

    views: Mapping[str, Array]
    weight: float
    rescale: Rescale
    units: Units = AS_THEY_ARE


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


def by_weight(parts: Sequence[Part], amounts: Sequence[float] | None = None) -> Array:
    """Return each model's share by its weight, times an amount of its own."""
    own = np.ones(len(parts)) if amounts is None else np.array(amounts, dtype=np.float64)
    weights = np.array([part.weight for part in parts])
    return shares_of(weights * own) if (weights * own).any() else shares_of(weights)
