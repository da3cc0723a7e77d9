"""What a classifier with a feature map does about it: the option, and contributions by feature."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from stream_llsvm.feature_maps.base import FeatureMap
from stream_llsvm.feature_maps.plain import MAPS, from_plain
from stream_llsvm.feature_maps.space import PHI, MappedSpace, is_mapped
from stream_llsvm.model.explain import Explanation
from stream_llsvm.records.columns import HOURS, NameColumn, PartColumn, field_of

CODE_IN = ("input", "feature")
_STEP = 1e-4


def checked_map(given: Any) -> Any:
    """Return a feature map: the one given, or the one that a file's values are of; None for None.

    Raises
    ------
    ValueError
        If it is no feature map.

    """
    if given is None or type(given) in MAPS.values():
        return given
    if isinstance(given, dict):
        return from_plain(given)
    raise ValueError(f"feature_map must be None or one of {', '.join(MAPS)}; got {given!r:.80}")


def unmapped(told: Explanation, space: MappedSpace, x: Mapping[Any, Any]) -> Explanation:
    """Return an explanation by the features of x instead of those of phi(x)."""
    numbers = space.numbers(x)
    fields = dict.fromkeys(map(field_of, numbers), 0.0)
    slopes = fields.copy()
    for name, value in numbers.items():
        # Of a name that the record has, not of the others; of a time by its hour.
        if isinstance(name, NameColumn) and value == 0:
            continue
        if isinstance(name, PartColumn) and name.part != HOURS:
            continue
        slope = _slope(told.weights, space.map, numbers, name)
        slopes[field_of(name)] = told.weights.get(field_of(name), 0.0) + slope
    return replace(told, contributions=fields | told.contributions, weights=slopes)


def feature_of(name: Any) -> Any:
    """Return which field a column is of, None if a map made it of all together."""
    return field_of(name[1] if is_mapped(name) else name)


def _slope(weights: Mapping[Any, float], map: FeatureMap, x: dict[Any, float], name: Any) -> float:
    """Return sum_p w_p d phi_p / d x_name, by differences."""
    value = x[name]
    made = map.made_of((name,))
    alone = bool(made) and made[0][0] is not None
    # A map of amounts has no slope at 0.
    if math.isnan(value) or (alone and value == 0):
        return 0.0
    step = _STEP * (abs(value) if alone else max(1.0, abs(value)))
    sides = []
    for moved in (value + step, value - step):
        record = {name: moved} if alone else x | {name: moved}
        phi = map.map_one(record)
        sides.append(
            sum(weights.get((PHI, *one), 0.0) * v for one, v in zip(made, phi, strict=True))
        )
    return (sides[0] - sides[1]) / (2 * step)
