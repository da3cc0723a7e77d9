"""What a feature map is to a classifier that learns on it, LL section 3.2."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Any, Protocol, runtime_checkable

#: A feature of phi(x): the feature of x that it is made of, or None if of all, and its number.
Made = tuple[Hashable, int]


@runtime_checkable
class FeatureMap(Protocol):
    """A fixed map from a record to finitely many features: K(x, y) = phi(x) . phi(y)."""

    def made_of(self, names: Iterable[Hashable]) -> list[Made]:
        """Return what it makes of records that name these features."""
        ...

    def map_one(self, x: Mapping[Any, float]) -> list[float]:
        """Return phi of a record, in the order of ``made_of``; NaN for what has no value."""
        ...
