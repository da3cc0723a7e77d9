"""What each feature adds to a number that is told, in the target's units."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.kernels import plan as at
from stream_llsvm.model.attribution import losses, most_tried, places_of, usual_values
from stream_llsvm.model.explain import Explanation, per_unit
from stream_llsvm.model.number_state import NumberState
from stream_llsvm.records.rows import Row

Array = NDArray[np.float64]


def explain_number(state: NumberState, names: Sequence[Hashable], row: Row) -> Explanation:
    """Take the answer to a row apart.

    Parameters
    ----------
    state
        The model. The last row that it has run is another one afterwards.
    names
        Its features.
    row
        The record.

    """
    told = state.answer_one(row)
    columns = row.columns if row.starts.size > 0 else np.arange(row.values.size)
    model = state.views(0)
    z = np.zeros(state.width)
    z[columns] = model["z"][0, 0, : len(columns)]
    parts = state.members[0].parts(state.views(1), z)
    assert parts is not None
    share = state.spread * state.numbers["blend"]
    linear = np.einsum("e,eci->i", share, parts.of_features)[columns]
    slopes = np.einsum("e,eci->i", share, parts.slopes)[columns]
    slopes = per_unit(model["statistics"][columns], state.standardize, z[columns], slopes)
    places = places_of(row, [names[c] for c in columns])
    strongest = sorted(places, key=lambda name: -abs(linear[places[name]].sum()))
    strongest = strongest[: most_tried(state)]

    def answers(rows: Row) -> Array:
        n = len(rows.values) if rows.starts.size == 0 else len(rows.starts) - 1
        out = np.zeros((n, 1))
        state.answer(rows, np.full(n, np.nan), np.ones(n), out)
        return out[:, 0]

    tried = [places[name] for name in strongest]
    found = losses(
        row, usual_values(state, row), tried, answers, int(state.plan[0, at.MODEL_ROW.chunk])
    )
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
