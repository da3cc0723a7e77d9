"""What each feature adds to a number that the anchors' machines told."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from stream_llsvm.explain import Explanation, per_unit
from stream_llsvm.features import ABSENT, Row
from stream_llsvm.kernels.scaling import COUNT, INVERSE
from stream_llsvm.memory import Memory


def explain_number(memory: Memory, names: Sequence[Hashable], row: Row, told: float) -> Explanation:
    """Take the answer apart that the last call gave for this row, in the target's units."""
    columns = row.columns if row.starts.size > 0 else np.arange(row.values.size)
    model, numbers = memory.views(0), memory.views(2)
    z = np.zeros(memory.width)
    z[columns] = model["z"][0, : len(columns)]
    parts = memory.members[0].parts(memory.views(1), z)
    assert parts is not None
    share = _spread(memory) * numbers["blend"]
    contributions = np.einsum("e,eci->i", share, parts.of_features)[columns]
    slopes = per_unit(
        memory, z[columns], np.einsum("e,eci->i", share, parts.slopes)[columns], columns
    )
    named = row.values.reshape(-1) != ABSENT
    shown = [names[c] for c in columns[named]]
    return Explanation(
        label=None,
        score=told,
        # An answer that was cut off is what its bias makes of the rest.
        bias=float(told - contributions[named].sum()),
        contributions=dict(zip(shown, contributions[named].tolist(), strict=True)),
        weights=dict(zip(shown, slopes[named].tolist(), strict=True)),
    )


def _spread(memory: Memory) -> float:
    """Return how many of the target's units a score of 1 is."""
    target = memory.views(2)["target"][0]
    if not memory.standardize or target[COUNT] == 0:
        return 1.0
    return float(1 / target[INVERSE]) if target[INVERSE] > 0 else 0.0
