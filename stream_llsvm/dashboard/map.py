"""The map: anchors of one member, the latest records, and what would be said where."""

from __future__ import annotations

import base64
from collections.abc import Callable, Hashable, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.dashboard.json_values import distinct, number, numbers, text
from stream_llsvm.dashboard.map_plane import (
    DeadAnchors,
    Extent,
    Plane,
    Trails,
    leading_pair,
    plane_of,
)
from stream_llsvm.dashboard.recent_records import Array, Recent
from stream_llsvm.kernels.scaling import COUNT
from stream_llsvm.learners.base import LocalClassifier
from stream_llsvm.model.anchor_table import masses_of, positions_of, table_of
from stream_llsvm.model.explain import relevance_of, units
from stream_llsvm.model.state import ModelState
from stream_llsvm.records.rows import dense

MOST_ANCHORS, MOST_RECORDS = 300, 200
#: Of each anchor, so many of its weights; with more classes than these no shares.
_WEIGHTS, _CLASSES = 8, 40
#: Records placed in one look: where they have many features the picture fills up more slowly.
_NUMBERS = 60_000
#: Seconds: what each anchor says and the regions; a plane whose features have changed.
_EVERY, _REDRAWN = 1.0, 10.0

_Made = TypeVar("_Made")
#: The share of the time that one of them may take, however large the model is.
SHARE = 0.04


class Throttle(Generic[_Made]):
    """Keeps a value, and makes it anew at most every so many seconds.

    If making it takes long it is made less often, so that it never takes more than `SHARE` of the
    time.

    Parameters
    ----------
    clock
        Tells the time in seconds.
    every
        Seconds between two values at least.

    """

    def __init__(self, clock: Callable[[], float], every: float) -> None:
        self._clock, self._every = clock, every
        self._due = 0.0
        self._key: Hashable = None
        self._made: _Made | None = None

    def get(self, key: Hashable, make: Callable[[], _Made]) -> _Made:
        """Return the value kept for the key; it is made if it is due, or the key is another."""
        begin = self._clock()
        if self._made is None or key != self._key or begin >= self._due:
            self._made, self._key = make(), key
            self._due = begin + max(self._every, (self._clock() - begin) / SHARE)
        return self._made


class _Told(NamedTuple):
    """What each anchor says, ready to be sent: by its number."""

    label: dict[int, int]
    share: dict[int, list[float]]
    weights: dict[int, list[list[Any]]]


class AnchorMap:
    """Draws the anchors of one member again and again.

    Parameters
    ----------
    clock
        Tells the time in seconds.

    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._drawn = 0.0
        self._plane: Plane | None = None
        self._pair: tuple[int, int] | None = None
        self._pairs = Throttle[tuple[tuple[int, int] | None]](clock, _REDRAWN)
        self._member = ""
        self._told = Throttle[_Told](clock, _EVERY)
        self._regions = Throttle[dict[str, Any] | None](clock, _EVERY)
        self._begin_anew()

    def _begin_anew(self) -> None:
        self._lives, self._trails, self._extent = DeadAnchors(), Trails(), Extent()
        self._places: dict[tuple[int, str], Array | None] = {}

    def look(
        self, model: LocalClassifier, memory: ModelState, member: int, recent: Sequence[Recent]
    ) -> dict[str, Any] | None:
        """Return the map as it is now, None as long as there is too little to see."""
        plane = self._plane_for(model, memory, member, recent)
        if plane is None:
            return None
        name = memory.members[member].name
        if name != self._member:
            self._member, self._lives, self._trails = name, DeadAnchors(), Trails()
        masses = masses_of(memory, member)
        dead = self._lives.dead(masses, float(memory.views(0)["counters"][0]))
        which = np.sort(np.argsort(-masses, kind="stable")[:MOST_ANCHORS])
        places = plane.of_values(positions_of(memory, member, which, plane.columns))
        records, around = self._records(model, plane, recent[-MOST_RECORDS:])
        alive = ~dead[which]
        self._extent.cover(around, places[alive] if alive.any() else places)
        self._trails.follow(which, places, self._extent.size)
        trails = _rounded([self._trails.of(a) for a in which.tolist()])
        told = self._told.get(
            (name, plane.n_features, len(model.classes), len(which)),
            lambda: _told(model, memory, member, which),
        )
        share = masses / max(float(masses.sum()), 1e-12)
        return {
            "member": text(name),
            "members": [text(memory.members[i].name) for i in candidates(memory)],
            "axes": list(plane.axes),
            "plane": plane.kind,
            "classes": distinct(model.classes),
            "anchors": [
                {
                    "id": a,
                    "at": at,
                    "mass": number(share[a], 3),
                    "label": told.label.get(a),
                    "share": told.share.get(a, []),
                    "dead": bool(dead[a]),
                    "trail": trail,
                    "weights": told.weights.get(a, []),
                }
                for a, at, trail in zip(which.tolist(), numbers(places), trails, strict=True)
            ],
            "records": records,
            "regions": self._regions_of(model, memory, plane),
        }

    def _plane_for(
        self, model: LocalClassifier, memory: ModelState, member: int, recent: Sequence[Recent]
    ) -> Plane | None:
        """Return the plane, drawn once for the same features, and the same two that lead them."""
        plane, now = self._plane, self._clock()
        names = model._features.names
        (pair,) = self._pairs.get(
            len(names), lambda: (leading_pair(relevance_of(memory, names), names, self._pair),)
        )
        same = plane is not None and plane.n_features == len(names) and pair == self._pair
        # Where features keep coming, the picture holds still for a while all the same.
        young = plane is not None and plane.kind == "projection" and now - self._drawn < _REDRAWN
        if not same and not young:
            self._begin_anew()
            self._pair, self._drawn = pair, now
            self._plane = plane_of(model, memory, member, recent, pair)
        return self._plane

    def _records(
        self, model: LocalClassifier, plane: Plane, recent: Sequence[Recent]
    ) -> tuple[list[dict[str, Any]], Array]:
        """Return the latest records as they are shown, and their places."""
        before, left = self._places, max(1, _NUMBERS // max(1, plane.n_features))
        self._places = {}
        codes = {label: code for code, label in enumerate(model.classes)}
        fresh = [one for one in recent if (one.record, one.place) not in before][-left:]
        fresh_places = plane.of_records(model, [one.x for one in fresh])
        before |= {
            (one.record, one.place): place for one, place in zip(fresh, fresh_places, strict=True)
        }
        shown, places = [], []
        for one in recent:
            key = one.record, one.place
            if key not in before:
                continue
            place = self._places[key] = before[key]
            code = codes.get(one.prediction if one.label is None else one.label)
            if place is None or code is None:
                continue
            right = None if one.label is None else bool(one.prediction == one.label)
            shown.append({"label": code, "right": right})
            places.append(place)
        around = np.array(places).reshape(-1, 2)
        return [{"at": at} | one for at, one in zip(numbers(around), shown, strict=True)], around

    def _regions_of(
        self, model: LocalClassifier, memory: ModelState, plane: Plane
    ) -> dict[str, Any] | None:
        if plane.kind not in ("features", "pair") or plane.n_features > _WIDEST:
            return None
        low, high = self._extent.low, self._extent.high
        key = (*low.tolist(), *high.tolist(), len(model.classes), *plane.columns.tolist())
        middle = units(memory, plane.n_features)[0]
        # Where a column has had no number, as the own one of a field of names, there is none.
        middle[memory.views(0)["statistics"][: plane.n_features, COUNT] == 0] = np.nan
        return self._regions.get(key, lambda: regions(model, low, high, plane.columns, middle))


def _rounded(trails: Sequence[Sequence[tuple[float, float]]]) -> list[list[list[float]]]:
    """Return trails as they are sent, all rounded in one go."""
    points = iter(numbers(np.array([point for trail in trails for point in trail]).reshape(-1, 2)))
    return [[next(points) for _ in trail] for trail in trails]


def _told(
    model: LocalClassifier, memory: ModelState, member: int, which: NDArray[np.int64]
) -> _Told:
    names = [text(name) for name in model._features.names]
    table = table_of(memory, member, which, len(names), _WEIGHTS)
    shares = np.round(table.proba, 3).tolist() if table.proba.shape[1] <= _CLASSES else None
    slopes = numbers(np.nan_to_num(table.slopes), 4)
    rows = zip(which.tolist(), table.columns.tolist(), slopes, strict=True)
    return _Told(
        dict(zip(which.tolist(), table.proba.argmax(axis=1).tolist(), strict=True)),
        {} if shares is None else dict(zip(which.tolist(), shares, strict=True)),
        {
            a: [[names[c], v] for c, v in zip(columns, values, strict=True)]
            for a, columns, values in rows
        },
    )


def candidates(memory: ModelState) -> list[int]:
    """Return the members with anchors; a linear machine, which has one, if there are no others."""
    sizes = [member.n_anchors for member in memory.members]
    least = 2 if any(size > 1 for size in sizes) else 1
    return [i for i, size in enumerate(sizes) if size >= least]


def _answers(model: LocalClassifier, rows: Array) -> tuple[Array, NDArray[np.int64]]:
    """Return the probabilities and the likeliest class of rows with a value for each column."""
    memory, n = model._state, len(rows)
    assert memory is not None
    proba, codes = np.zeros((n, memory.n_classes)), np.full(n, -1, dtype=np.int64)
    memory.run(*dense(rows), codes.copy(), None, codes, proba, keep=False)
    return proba, codes


CELLS = 48
_WIDEST = 64  # features of a model that is asked about all cells
_MOST_CLASSES = 256


def regions(
    model: LocalClassifier, low: Array, high: Array, columns: NDArray[np.int64], middle: Array
) -> dict[str, Any] | None:
    """Return the likeliest class of each cell of a grid, and how sure it is.

    A byte each, row by row from the lowest second feature; a cell is asked for at its middle. None
    if there are more classes than a byte can tell.

    Parameters
    ----------
    model
        Who is asked.
    low, high
        The corners of the grid.
    columns
        The two features of the plane.
    middle
        The values of all features, for those that are not in the plane.

    """
    if len(model.classes) > _MOST_CLASSES:
        return None
    middles = (np.arange(CELLS) + 0.5) / CELLS
    xs, ys = (low[i] + (high[i] - low[i]) * middles for i in (0, 1))
    grid = np.tile(middle, (CELLS * CELLS, 1))
    grid[:, columns[0]], grid[:, columns[1]] = np.tile(xs, CELLS), np.repeat(ys, CELLS)
    proba, codes = _answers(model, grid)
    sure = np.rint(255 * proba.max(axis=1)).astype(np.uint8)
    return {
        "box": [number(v, 9) for v in (low[0], low[1], high[0], high[1])],
        "columns": CELLS,
        "rows": CELLS,
        "codes": base64.b64encode(codes.astype(np.uint8).tobytes()).decode(),
        "sure": base64.b64encode(sure.tobytes()).decode(),
    }
