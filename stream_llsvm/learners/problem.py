"""A model's own problem: records as it sees them, its codes and its weights, as LL(10) has them.

So that one can say how far a model is from its optimum, or put it there.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.kernels.scaling import scale_rows
from stream_llsvm.members.anchors.codes import SOFTMAX
from stream_llsvm.members.anchors.member import Anchors
from stream_llsvm.members.anchors.state import MASS, N_ANCHORS, SEEN, SPREAD, ZOOM
from stream_llsvm.members.base import Views
from stream_llsvm.model.state import ModelState
from stream_llsvm.model.warm_start import History, Order
from stream_llsvm.optimum import BIAS_SCALE, Codes, solve
from stream_llsvm.records.features import FeatureSpace
from stream_llsvm.records.frames import Matrix

Array = NDArray[np.float64]

_BLOCK = 1_024
#: Of how many numbers a problem may be: of more records it is solved for a part.
_FLOATS = 50_000_000


@dataclass(frozen=True)
class Problem:
    """A model's own problem: records as it sees them, its codes, and its present weights.

    Attributes
    ----------
    X
        (n, features), scaled.
    codes
        Its codes of them.
    weights
        (classes, anchors, features), of its first step size, not averaged; one row for two
        classes, of the second against the first.
    biases
        (classes, anchors).

    """

    X: Array
    codes: Codes
    weights: Array
    biases: Array


def problem_at(
    memory: ModelState, features: FeatureSpace, names: Sequence[Hashable], matrix: Matrix
) -> Problem:
    """Read off a model, made of one anchors member, how it sees these records, and its weights."""
    (member,) = memory.members
    assert isinstance(member, Anchors)
    views, width = memory.views(1), len(features)
    z, seen = _scaled(memory, features, names, matrix)
    codes = _codes_at(member, seen, _anchors_of(views, width), float(views["running"][SPREAD]))
    born = codes.n_anchors
    raw = member.plain_weights(views, slice(born))[:, 0, 0]
    if raw.shape[-1] == 0:
        raw = np.zeros((*raw.shape[:-1], width))
    biases = views["biases"][:born, 0, 0].astype(np.float64)
    return Problem(
        z,
        codes,
        np.moveaxis(raw[..., :width], 0, 1).copy(),
        np.moveaxis(biases, 0, 1).copy(),
    )


def put_at_optimum(memory: ModelState, history: History, order: Order, epochs: int) -> None:
    """Give a model with anchors the W and b that solve LL(10) for these records.

    Its schedule goes on as if they had been learned in so many passes. SAPL Algorithm 1 takes
    W and b from LL-SVM in this way before it moves the anchors.
    """
    (member,) = memory.members
    assert isinstance(member, Anchors)
    views, width = memory.views(1), len(history.features)
    rows = order[: max(1, _FLOATS // max(1, width))]
    x, seen = _scaled(memory, history.features, history.names, history.matrix[rows])
    anchors = _anchors_of(views, width)
    if views["running"][SPREAD] == 0:
        k = min(member.n_neighbors, len(anchors))
        total = sum(float(d.sum()) for _, _, d in _nearest_of(seen, anchors, k))
        views["running"][SPREAD] = total / (k * len(rows))
    codes = _codes_at(member, seen, anchors, float(views["running"][SPREAD]))
    born, columns = codes.n_anchors, views["biases"].shape[-1]
    views["raw_scale"][:] = 1
    views["keep"][:born] = 1
    for c in range(columns):
        signs = np.where(history.codes[rows] == (c if columns > 1 else 1), 1.0, -1.0)
        # Biases are all the weights that LCC has, and are penalised like them, SAPL section 3.3.
        given, scale = (x[:, :0], 1.0) if member.flat else (x, BIAS_SCALE)
        found = solve(given, signs, codes, member.l2, bias_scale=scale)
        views["weights"][:born, 0, 0, c, : given.shape[1]] = found.weights
        views["biases"][:born, 0, 0, c] = found.biases
    mass = np.bincount(codes.near.ravel(), codes.shares.ravel(), minlength=born)
    views["facts"][MASS, :born] += mass
    views["running"][SEEN] += epochs * len(rows)


def _scaled(
    memory: ModelState, features: FeatureSpace, names: Sequence[Hashable], matrix: Matrix
) -> tuple[Array, Array]:
    """Return records as the machines see them, and as the codes do."""
    rows, width = features.encode_many(names, matrix), len(features)
    scaled = np.zeros((len(matrix), width), dtype=np.float32)
    statistics = memory.views(0)["statistics"]
    scale_rows(
        statistics, memory.standardize, rows.values.reshape(-1), rows.columns, rows.starts, scaled
    )
    z = (scaled * memory.shares(width)).astype(np.float64)
    of_phi = memory.views(1)["mapped"][:width] > 0
    if of_phi.size == 0:
        return z, z
    return np.where(of_phi, z, 0.0), np.where(of_phi, 0.0, z)  # LL(16)


def _anchors_of(views: Views, width: int) -> Array:
    born = int(views["running"][N_ANCHORS])
    zoom = views["facts"][ZOOM, :born, None].astype(np.float64)
    return np.asarray(zoom * views["positions"][:born, :width])


def _codes_at(member: Anchors, z: Array, anchors: Array, spread: float) -> Codes:
    """Return the codes that the model's kernel gives, with its running spread."""
    k = min(member.n_neighbors, len(anchors))
    near = np.zeros((len(z), k), dtype=np.int64)
    shares = np.zeros((len(z), k))
    for begin, found, nearest in _nearest_of(z, anchors, k):
        part = slice(begin, begin + len(found))
        if member.coding == SOFTMAX:
            beta = member.sharpness / (spread + 1e-12)
            raw = np.exp(-beta * (nearest - nearest[:, :1]))
        else:
            raw = 1 / (np.sqrt(nearest) + 1e-3 * np.sqrt(spread) + 1e-12)
        near[part], shares[part] = found, raw / raw.sum(axis=1, keepdims=True)
    return Codes(near, shares, len(anchors))


def _nearest_of(z: Array, anchors: Array, k: int) -> Iterator[tuple[int, NDArray[np.int64], Array]]:
    """Yield the k nearest anchors and their squared distances, some records at a time."""
    squares = (anchors * anchors).sum(axis=1)
    for begin in range(0, len(z), _BLOCK):
        some = z[begin : begin + _BLOCK]
        distance = squares - 2 * some @ anchors.T + (some * some).sum(axis=1)[:, None]
        found = np.argsort(distance, axis=1, kind="stable")[:, :k]
        yield begin, found, np.maximum(np.take_along_axis(distance, found, axis=1), 0.0)
