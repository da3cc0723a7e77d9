"""What each feature adds to a number that is told, in the target's units."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.kernels import plan as at
from stream_llsvm.kernels.scaling import COUNT, INVERSE, scale_rows
from stream_llsvm.model.attribution import losses, most_tried, places_of, usual_values
from stream_llsvm.model.explain import Explanation, per_unit
from stream_llsvm.model.state import ModelState
from stream_llsvm.records.features import ABSENT, Row

Array = NDArray[np.float64]


def explain_number(
    memory: ModelState,
    names: Sequence[Hashable],
    row: Row,
    told: float,
    tell: Callable[[Row], Array],
) -> Explanation:
    """Take the answer apart that the last call gave for this row.

    Parameters
    ----------
    memory
        The model.
    names
        Its features.
    row
        The record.
    told
        The answer.
    tell
        Returns the answer to each row; the last row that was run is another one afterwards.

    """
    columns = row.columns if row.starts.size > 0 else np.arange(row.values.size)
    model, numbers = memory.views(0), memory.views(2)
    z = np.zeros(memory.width)
    z[columns] = model["z"][0, 0, : len(columns)]
    parts = memory.members[0].parts(memory.views(1), z)
    assert parts is not None
    share = spread_of(memory.standardize, numbers["target"][0]) * numbers["blend"]
    linear = np.einsum("e,eci->i", share, parts.of_features)[columns]
    slopes = np.einsum("e,eci->i", share, parts.slopes)[columns]
    slopes = per_unit(model["statistics"][columns], memory.standardize, z[columns], slopes)
    places = places_of(row, [names[c] for c in columns])
    strongest = sorted(places, key=lambda name: -abs(linear[places[name]].sum()))
    strongest = strongest[: most_tried(memory)]
    tried = [places[name] for name in strongest]
    chunk = int(memory.plan[0, at.CHUNK])
    found = losses(row, usual_values(memory, row), tried, tell, chunk)
    contributions = {name: float(linear[where].sum()) for name, where in places.items()}
    contributions.update(zip(strongest, found.each.tolist(), strict=True))
    return Explanation(
        label=None,
        score=told,
        bias=told - sum(contributions.values()),
        contributions=contributions,
        weights={name: float(slopes[where[0]]) for name, where in places.items()},
        reference=found.reference,
    )


def explain_linear(
    names: Sequence[Hashable],
    row: Row,
    told: float,
    machine: Array,
    statistics: Array,
    *,
    standardize: bool,
) -> Explanation:
    """Take what a linear machine tells apart, which is exact: weight times scaled value each.

    Parameters
    ----------
    names
        The features.
    row
        The record.
    told
        The answer.
    machine
        The answer's change with each scaled feature.
    statistics
        Each feature's scale.
    standardize
        Whether features are scaled.

    """
    columns = row.columns if row.starts.size > 0 else np.arange(row.values.size)
    values, scaled = row.values.reshape(-1), np.zeros((1, len(statistics)))
    filled = scaled if row.starts.size > 0 else scaled[:, : len(columns)]
    scale_rows(statistics, standardize, values, row.columns, row.starts, filled)
    z = filled[0, columns]
    given = machine[columns] * z
    slopes = per_unit(statistics[columns], standardize, z, machine[columns])
    named = np.flatnonzero(values != ABSENT)
    reference = told - float(given[named].sum())
    return Explanation(
        label=None,
        score=told,
        bias=reference,
        contributions={names[columns[i]]: float(given[i]) for i in named},
        weights={names[columns[i]]: float(slopes[i]) for i in named},
        reference=reference,
    )


def spread_of(standardize: bool, target: Array) -> float:
    """Return how many of the target's units a score of 1 is."""
    if not standardize or target[COUNT] == 0:
        return 1.0
    return float(1 / target[INVERSE]) if target[INVERSE] > 0 else 0.0
