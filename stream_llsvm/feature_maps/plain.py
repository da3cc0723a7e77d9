"""Feature maps as plain values, for a model's file, and made of them again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from stream_llsvm.feature_maps.fourier import FourierFeatures
from stream_llsvm.feature_maps.homogeneous import HomogeneousKernelMap
from stream_llsvm.feature_maps.nystroem import OnlineNystroem
from stream_llsvm.records.features import FeatureSpace

# Only these are ever made from a file: its text is looked up, never imported.
MAPS: dict[str, type[Any]] = {
    kind.__name__: kind for kind in (HomogeneousKernelMap, FourierFeatures, OnlineNystroem)
}
_MAP = "map"
_LANDMARKS = "landmarks"
_FEATURES = "features"


def to_plain(map: Any) -> dict[str, Any]:
    """Return a map as its class's name and its parameters, and the landmarks if it has some."""
    plain = {_MAP: type(map).__name__, **map._get_params()}
    if isinstance(map, OnlineNystroem):
        plain[_LANDMARKS], plain[_FEATURES] = map._landmarks.tolist(), map._features.saved
    return plain


def from_plain(plain: Mapping[str, Any]) -> Any:
    """Return the map that these values are of.

    Raises
    ------
    ValueError
        If they are of none; they may come from a file.

    """
    params = dict(plain)
    kind = MAPS.get(params.pop(_MAP, ""))
    if kind is None:
        raise ValueError(f"a feature map is one of {', '.join(MAPS)}; got {plain!r:.80}")
    landmarks, names = params.pop(_LANDMARKS, None), params.pop(_FEATURES, None)
    made = kind(**params)
    if landmarks is not None:
        space, rows = FeatureSpace().restored(names or ()), np.array(landmarks, dtype=np.float64)
        sound = rows.ndim == 2 and rows.shape[1] <= len(space) == len(names)
        if not sound or not np.isfinite(rows).all() or len(rows) > made.n_landmarks:
            raise ValueError("these are no landmarks of a feature map")
        made._features = space
        made._landmarks = np.zeros((len(rows), len(space)))
        made._landmarks[:, : rows.shape[1]] = rows
        made._seen = made.settled
    return made
