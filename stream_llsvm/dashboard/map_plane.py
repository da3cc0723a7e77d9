"""The plane in which anchors and records are shown, its extent, trails in it, and dead anchors.

Once drawn the plane stays, so that moves are moves.

Two features are the plane, and one is a line. Of more, two are if they count as much in the learned
distance as all others; else it is spanned by the two leading principal directions of the scaled
records that were there when it was drawn.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.dashboard.json_values import text
from stream_llsvm.dashboard.recent_records import Array, Recent, filled, row_of, rows_of
from stream_llsvm.learners.base import LocalClassifier
from stream_llsvm.model.anchor_table import masses_of, positions_of
from stream_llsvm.model.explain import units
from stream_llsvm.model.state import ModelState
from stream_llsvm.records.columns import field_of, is_derived

#: How many features directions are made of at most: those in which the records differ most.
WIDEST = 500
#: Rows that directions are drawn from.
_ROWS = 200
_FEWEST = 20
#: A pair of features is the plane if it has half of all relevance and each counts three times what
#: others do on the mean; it stays while it has four fifths of that.
_HALF, _TIMES, _STAYS = 0.5, 3.0, 0.8
#: An outlier is shown so many scales away.
_FARTHEST = 6.0


@dataclass(frozen=True)
class Plane:
    """A linear map from features to two numbers; what a record does not name lies at the origin.

    Attributes
    ----------
    kind
        "features", "value", "pair" (two features of many) or "projection".
    n_features
        How many features there were when it was drawn.
    axes
        What to call the two numbers.
    columns
        The features that it looks at, in increasing order.
    origin, scale
        Of each of them.
    directions
        What each of them, taken from the origin in its scale, adds to the two numbers.

    """

    kind: str
    n_features: int
    axes: tuple[str, str]
    columns: NDArray[np.int64]
    origin: Array
    scale: Array
    directions: Array

    def of_values(self, values: Array) -> Array:
        """Return the places (n, 2) of rows of its features, in the user's units."""
        if self.kind != "projection":
            return values @ self.directions
        scaled = np.clip((values - self.origin) / self.scale, -_FARTHEST, _FARTHEST)
        return scaled @ self.directions

    def of_records(
        self, model: LocalClassifier, records: Sequence[Mapping[Any, Any]]
    ) -> list[Array | None]:
        """Return the place of each record, None if it cannot be used."""
        rows = rows_of(model, records, self.columns, self.origin)
        kept = [row for row in rows if row is not None]
        if not kept:
            return [None] * len(rows)
        places = self.of_values(np.stack(kept))
        finite = np.asarray(np.isfinite(places).all(axis=1))
        found = iter([p if fine else None for p, fine in zip(places, finite, strict=True)])
        return [None if row is None else next(found) for row in rows]


def leading_pair(
    relevance: Mapping[Any, float], names: Sequence[Any], before: tuple[int, int] | None
) -> tuple[int, int] | None:
    """Return the two of many features that count most in a distance, None if others do as well.

    Parameters
    ----------
    relevance
        How much each field counts.
    names
        The columns: fields, and what is derived of those that have names or times.
    before
        The pair that was shown before: it stays while it counts nearly as much.

    Examples
    --------
    >>> leading_pair({"a": 0.1, "b": 3.0, "c": 2.0, "d": 0.2}, "abcd", None)
    (1, 2)
    >>> leading_pair({"a": 1.0, "b": 1.1, "c": 1.2, "d": 0.9}, "abcd", None) is None
    True

    """
    if len(names) <= 2 or not relevance:
        return None
    # Only numbers have an axis.
    derived = {field_of(name) for name in names if is_derived([name])}
    counts = np.array([0.0 if name in derived else relevance.get(name, 0.0) for name in names])
    total, fields = sum(relevance.values()), len(relevance)
    least = max(_HALF, 2 * _TIMES / (2 * _TIMES + fields - 2)) * total
    there = before is not None and max(before) < len(counts)
    if before is not None and there and counts[list(before)].sum() > _STAYS * least:
        return before
    first, second = sorted(np.argsort(-counts, kind="stable")[:2].tolist())
    return (first, second) if counts[[first, second]].sum() > least else None


def plane_of(
    model: LocalClassifier,
    memory: ModelState,
    member: int,
    recent: Sequence[Recent],
    pair: tuple[int, int] | None = None,
) -> Plane | None:
    """Return a plane for the model as it is now; None as long as there is too little to see.

    Of many features it is made of a pair, if there is one.
    """
    names = model._features.names
    centre, scale = units(memory, len(names))
    if len(names) == 0:
        return None
    if len(names) <= 2 and not is_derived(names):
        both = [text(name) for name in names]
        axes = (both[0], both[1] if len(both) == 2 else "")
        kind = "features" if len(both) == 2 else "value"
        columns, directions = np.arange(len(names)), np.eye(2)[: len(names)]
        return Plane(kind, len(names), axes, columns, centre, scale, directions)
    if pair is not None:
        columns, axes = np.array(pair), (text(names[pair[0]]), text(names[pair[1]]))
        return Plane("pair", len(names), axes, columns, centre[columns], scale[columns], np.eye(2))
    rows = [row for one in recent[-_ROWS:] if (row := row_of(model, one.x)) is not None]
    born = np.argsort(-masses_of(memory, member))[: max(0, _ROWS - len(rows))]
    if len(rows) + len(born) < _FEWEST:
        return None
    columns = _most_varied(rows, centre, scale)
    origin, scale = centre[columns], np.where(scale[columns] > 0, scale[columns], 1.0)
    table = np.array([filled(row, columns, origin) for row in rows]).reshape(-1, len(columns))
    table = np.concatenate([table, positions_of(memory, member, born, columns)])
    directions = _principal(np.clip((table - origin) / scale, -_FARTHEST, _FARTHEST))
    axes = _axes([names[c] for c in columns.tolist()], directions)
    return Plane("projection", len(names), axes, columns, origin, scale, directions)


def _most_varied(rows: list[Any], centre: Array, scale: Array) -> NDArray[np.int64]:
    """Return the features in which the records differ most, all of them if they are few."""
    if len(centre) <= WIDEST:
        return np.arange(len(centre))
    inverse = np.where(scale > 0, 1 / np.where(scale > 0, scale, 1.0), 0.0)
    spread = np.zeros(len(centre))
    for columns, values in rows:
        scaled = np.clip((values - centre[columns]) * inverse[columns], -_FARTHEST, _FARTHEST)
        np.add.at(spread, columns, np.square(scaled))
    return np.sort(np.argsort(-spread, kind="stable")[:WIDEST])


def _principal(rows: Array) -> Array:
    """Return the two leading principal directions, (features, 2), of one sign for one table."""
    centred = rows - rows.mean(axis=0)
    # Of the two products the smaller one, whose eigenvectors lead to the same directions.
    if rows.shape[1] <= rows.shape[0]:
        directions = np.linalg.eigh(centred.T @ centred)[1][:, :-3:-1]
    else:
        values, vectors = np.linalg.eigh(centred @ centred.T)
        lengths = np.sqrt(np.maximum(values[:-3:-1], 1e-12))
        directions = centred.T @ vectors[:, :-3:-1] / lengths
    top = np.abs(directions).argmax(axis=0)
    signs = np.where(directions[top, [0, 1]] < 0, -1.0, 1.0)
    return np.asarray(directions * signs)


def _axes(names: list[Any], directions: Array) -> tuple[str, str]:
    """Name each direction after the two fields that count most in it."""
    fields = list(map(field_of, names))
    places = {field: place for place, field in enumerate(dict.fromkeys(fields))}
    sizes = np.zeros((len(places), 2))
    np.add.at(sizes, [places[field] for field in fields], directions**2)
    known = list(places)
    first, second = (
        "mostly " + ", ".join(text(known[f])[:40] for f in np.argsort(-column)[:2].tolist())
        for column in sizes.T
    )
    return first, second


_MARGIN = 0.15
#: The picture is drawn closer when what is in it fills less than this share of its sides.
_LOOSE = 0.5


class Extent:
    """Keeps a box around places until they leave it, or fill little of it."""

    def __init__(self) -> None:
        self.low, self.high = np.zeros(2), np.zeros(2)

    @property
    def size(self) -> Array:
        """Width and height; never 0."""
        return np.maximum(self.high - self.low, 1e-9)

    def cover(self, *groups: Array) -> None:
        """Let the box hold almost all places, (n, 2), of each of the groups."""
        ends = [np.percentile(places, [2, 98], axis=0) for places in groups if len(places) > 0]
        if not ends:
            return
        low, high = np.min(ends, axis=(0, 1)), np.max(ends, axis=(0, 1))
        wide = np.maximum(high - low, 1e-6 * np.maximum(1.0, np.abs(high)))
        outside = (low < self.low) | (high > self.high)
        if (outside | (wide < _LOOSE * self.size)).any():
            self.low, self.high = low - _MARGIN * wide, high + _MARGIN * wide


#: So long a trail is drawn.
TRAIL = 12
#: A move is visible from this share of the picture on.
_VISIBLE = 0.01
#: An anchor is dead if it has answered next to nothing in so many records for each anchor.
_PATIENCE, _LEAST = 20, 2_000
_LIFE = 0.5
#: From here on a mass is a 4-byte float that small shares no longer change.
_FULL = 2.0**21


class DeadAnchors:
    """Follows the masses of anchors, and tells which have stopped growing."""

    def __init__(self) -> None:
        self._mass = np.zeros(0)
        self._grown = np.zeros(0)

    def dead(self, masses: Array, learned: float) -> NDArray[np.bool_]:
        """Return for each anchor whether it has long answered nobody; ``learned`` is now."""
        if len(masses) < len(self._mass) or (self._grown > learned).any():
            self._mass = self._grown = np.zeros(0)  # another model
        new = len(masses) - len(self._mass)
        self._mass = np.concatenate([self._mass, masses[len(masses) - new :]])
        self._grown = np.concatenate([self._grown, np.full(new, learned)])
        grown = (masses >= self._mass + _LIFE) | (masses > _FULL)
        self._mass[grown], self._grown[grown] = masses[grown], learned
        return np.asarray(learned - self._grown > max(_LEAST, _PATIENCE * len(masses)))


class Trails:
    """Where each anchor was before, as far as one can see that it has moved."""

    def __init__(self) -> None:
        self._trails: dict[int, deque[tuple[float, float]]] = {}

    def follow(self, which: NDArray[np.int64], places: Array, size: Array) -> None:
        """Note the places of anchors in a picture of this size; forget all other anchors."""
        kept: dict[int, deque[tuple[float, float]]] = {}
        for number, (x, y) in zip(which.tolist(), places.tolist(), strict=True):
            trail = self._trails.get(number)
            if trail is None:
                trail = deque([(x, y)], maxlen=TRAIL)
            elif max(abs(x - trail[-1][0]) / size[0], abs(y - trail[-1][1]) / size[1]) > _VISIBLE:
                trail.append((x, y))
            kept[number] = trail
        self._trails = kept

    def of(self, number: int) -> list[tuple[float, float]]:
        """Return where an anchor was, oldest first."""
        return list(self._trails[number])
