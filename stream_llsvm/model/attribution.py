"""What a record's features add to a score: what the score loses when one is set to its mean.

A feature's contribution is the score of the record less that of the same record with this feature
at its mean (for a sparse feature: not named), by the model itself: its anchors, curves, waves and
ferns see another record then. What is left of the score is the bias: what it is where all features
are at their means, and what features do together. Two features of which each tells only beside the
other (exclusive or) both lose the whole score, and the bias takes one of the two back; two that say
the same lose nothing, since one stands for the other, and the bias keeps what they say.

Members whose accounts are the last word (contexts) are not asked again: their shares are added.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.kernels import plan as at
from stream_llsvm.kernels.boxes import FIRST_BOX
from stream_llsvm.kernels.mixer import AWAKE, Z_CLIP, rms_of
from stream_llsvm.kernels.scaling import CENTRE, COUNT, MEAN
from stream_llsvm.model.state import ModelState
from stream_llsvm.records.columns import HOURS, NameColumn, PartColumn
from stream_llsvm.records.rows import ABSENT, Row

Array = NDArray[np.float64]
Columns = NDArray[np.int64]

#: Multiply-adds that an explanation may take, and features that are tried in any case.
_WORK, _FEWEST = 20_000_000, 8


class Losses(NamedTuple):
    """What a score loses without each of some features, and what it is without any of them."""

    each: Array
    reference: float


def losses(
    row: Row,
    usual: Array,
    tried: Sequence[Columns],
    score: Callable[[Row], Array],
    at_once: int,
) -> Losses:
    """Return what the score of a record loses when features are as usual.

    Parameters
    ----------
    row
        The record.
    usual
        What each of its values is usually; `ABSENT` if it is usually not named.
    tried
        Each feature's places among the values of the row.
    score
        Returns the score of each row.
    at_once
        How many rows it takes.

    """
    places = np.concatenate([*tried, np.zeros(0, dtype=np.int64)])
    changed = [np.zeros(0, dtype=np.int64), places, *tried]
    scores = np.concatenate(
        [
            score(_as_usual(row, usual, changed[first : first + at_once]))
            for first in range(0, len(changed), at_once)
        ]
    )
    return Losses(scores[0] - scores[2:], float(scores[1]))


def _as_usual(row: Row, usual: Array, changed: Sequence[Columns]) -> Row:
    """Return a record several times, each time with other places as usual."""
    n, values = len(changed), row.values.reshape(-1)
    rows = np.tile(values, (n, 1))
    for one, places in zip(rows, changed, strict=True):
        one[places] = usual[places]
    if row.starts.size == 0:
        return Row(rows, row.columns, row.starts)
    kept = rows != ABSENT
    starts = np.concatenate([[0], np.cumsum(kept.sum(axis=1))]).astype(np.int64)
    return Row(rows[kept], np.tile(row.columns, n)[kept.reshape(-1)], starts)


def scaled_of(memory: ModelState, row: Row) -> tuple[Columns, Array]:
    """Return the column of each value of the last row that was run, and all scaled features."""
    columns = row.columns if row.starts.size > 0 else np.arange(row.values.size)
    z = np.zeros(memory.width)
    # Of a sparse row names and times are left out.
    bits = row.values.reshape(-1).view(np.int64)
    scaled = columns[bits < FIRST_BOX] if row.starts.size > 0 else columns
    z[scaled] = memory.views(0)["z"][0, 0, : len(scaled)]
    return columns, z


def at_places(by_column: Array, columns: Columns) -> Array:
    """Return what each value of a row adds: of a column that comes several times, the first."""
    added: Array = by_column[columns]
    added[1:][columns[1:] == columns[:-1]] = 0.0
    return added


def usual_values(memory: ModelState, row: Row) -> Array:
    """Return each feature's mean; `ABSENT` for a sparse one, which is usually not named."""
    statistics = memory.views(0)["statistics"]
    own = statistics[row.columns] if row.starts.size > 0 else statistics[: row.values.size]
    sparse = (own[:, CENTRE] == 0) & (own[:, MEAN] != 0)
    unknown = own[:, COUNT] == 0
    usual = np.where(sparse | unknown, ABSENT, own[:, MEAN])
    values = row.values.reshape(-1)
    return np.where(np.isnan(values), values, usual)  # what is missing adds nothing


def places_of(row: Row, features: Sequence[Hashable]) -> dict[Any, Columns]:
    """Return where among a record's values each feature that it names is.

    Parameters
    ----------
    row
        The record.
    features
        The feature of each value. A None is nobody's.

    """
    found: dict[Any, list[int]] = {}
    named = row.values.reshape(-1) != ABSENT
    for place, feature in enumerate(features):
        if named[place] and feature is not None:
            found.setdefault(feature, []).append(place)
    return {feature: np.array(places) for feature, places in found.items()}


def weights_of(
    row: Row, names: Sequence[Hashable], slopes: Array, shown: Columns
) -> dict[Any, float]:
    """Return how steep a score is in each field.

    Of a name it is by its 0/1 column, of a time by its hour.

    Parameters
    ----------
    row
        The record.
    names
        What names the column of each value.
    slopes
        How steep the score is in each.
    shown
        Which are told of.

    """
    values = row.values.reshape(-1)
    found: dict[Any, float] = {}
    for i in shown.tolist():
        name = names[i]
        if isinstance(name, NameColumn | PartColumn):
            speaks = values[i] == 1 if isinstance(name, NameColumn) else name.part == HOURS
            if speaks:
                found[name.field] = float(slopes[i])
            else:
                found.setdefault(name.field, 0.0)
        elif not np.isnan(values[i]) or name not in found:
            found[name] = float(slopes[i])
    return found


def class_contributions(
    memory: ModelState,
    row: Row,
    code: int,
    places: dict[Any, Columns],
    linear: Array,
    held: Array,
) -> tuple[dict[Any, float], float]:
    """Return what each feature adds to a class's score, and the score without any of them.

    Of a record with more features than there is time for the strongest are tried; of the others
    it is what the members' own accounts say, which for linear machines is the same.

    Parameters
    ----------
    memory
        The model. The last row that it has run is another one afterwards.
    row
        The record.
    code
        The class.
    places
        Where among the row's values each feature is.
    linear
        What each value adds by the accounts of members that are asked again.
    held
        What each value adds by the accounts of members that are not asked again.

    """
    if not any(member.attributes for member in memory.members):
        return {}, 0.0
    added = {feature: float(linear[where].sum()) for feature, where in places.items()}
    strongest = sorted(places, key=lambda feature: -abs(added[feature]))[: most_tried(memory)]
    found = _class_losses(memory, row, code, [places[feature] for feature in strongest])
    added.update(zip(strongest, found.each.tolist(), strict=True))
    for feature, where in places.items():
        added[feature] += float(held[where].sum())
    return added, found.reference


def _class_losses(memory: ModelState, row: Row, code: int, tried: Sequence[Columns]) -> Losses:
    """Return what a class's score loses, of the members that can tell it by features."""
    telling = np.concatenate(
        [
            np.full(int(plan[at.MEMBER_ROW.experts]), member.attributes and not member.accounts)
            for plan, member in zip(memory.plan[1:], memory.members, strict=True)
        ]
    )

    def score(rows: Row) -> Array:
        n = len(rows.values) if rows.starts.size == 0 else len(rows.starts) - 1
        memory.run(*rows, np.full(n, -1, dtype=np.int64), keep=False)
        told: Array = _votes(memory, n, code) @ telling
        return told

    return losses(
        row, usual_values(memory, row), tried, score, int(memory.plan[0, at.MODEL_ROW.chunk])
    )


def _votes(memory: ModelState, n: int, code: int) -> Array:
    """Return what each expert adds to a class's score of the rows that were run last."""
    model = memory.views(0)
    scores = model["scores"][0, :n].astype(np.float64)
    rms = rms_of(model["mixer"])
    if memory.n_classes == 1:
        return np.zeros(scores.shape[:2], dtype=np.float64)
    if memory.n_classes == 2:
        normal = scores[:, :, 0] * (code - 0.5) / rms
    else:
        normal = (scores[:, :, code] - scores.mean(axis=2)) / rms
    votes: Array = memory.trust * np.clip(normal, -Z_CLIP, Z_CLIP)
    return votes


def most_tried(memory: ModelState) -> int:
    """Return how many features there is time for."""
    awake = memory.views(0)["members"][AWAKE] > 0
    cost = int(memory.plan[1:, at.MEMBER_ROW.cost][awake].sum())
    return max(_FEWEST, _WORK // max(1, cost))
