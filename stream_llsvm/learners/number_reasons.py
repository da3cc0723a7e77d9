"""What each feature adds to a number that is told, in the target's units."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.kernels import plan as at
from stream_llsvm.model.attribution import (
    at_places,
    losses,
    most_tried,
    places_of,
    scaled_of,
    usual_values,
    weights_of,
)
from stream_llsvm.model.explain import Explanation, per_unit
from stream_llsvm.model.number_state import NumberState
from stream_llsvm.records.columns import field_of
from stream_llsvm.records.rows import ABSENT, Row

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
    columns, z = scaled_of(state, row)
    parts = state.members[0].parts(state.views(1), z)
    assert parts is not None
    share = state.spread * state.numbers["blend"]
    linear = at_places(np.einsum("e,eci->i", share, parts.of_features), columns)
    slopes = np.einsum("e,eci->i", share, parts.slopes)[columns]
    slopes = per_unit(state, columns, z[columns], slopes)
    named = [names[c] for c in columns]
    places = places_of(row, list(map(field_of, named)))
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
        weights=weights_of(row, named, slopes, np.flatnonzero(row.values.reshape(-1) != ABSENT)),
        reference=found.reference,
    )
