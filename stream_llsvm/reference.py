"""The optimum of a locally linear SVM for given anchors: what the online solution comes close to.

LL(10), with the codes given, is one linear SVM on ``gamma (x) [x; 1]``:

    min  l2 / 2 sum_j |W_j|^2 + 1/n sum_i max(0, 1 - y_i H(x_i)),
    H(x) = sum_j gamma_j(x) (W_j . x + b_j)

`solve` finds it by dual coordinate descent, with a certificate (the duality gap); `problem_of`
reads anchors, codes and weights off a model, so that one can say how far it is from its optimum.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stream_llsvm.frames import as_matrix
from stream_llsvm.kernels.coding import CODINGS, RECONSTRUCTION
from stream_llsvm.kernels.dual import descend_dual, heights
from stream_llsvm.kernels.scaling import scale_rows
from stream_llsvm.learners.anchored import AnchorClassifier
from stream_llsvm.learners.options import choice, number, whole

Array = NDArray[np.float64]

#: Biases are not penalised in LL(10). Penalised so much less than weights they are not, nearly.
BIAS_SCALE = 10.0
_LOSSES = ("hinge", "squared_hinge")


@dataclass(frozen=True)
class Codes:
    """Local codes of n records: the k anchors that answer each, and their shares, LL(1).

    Attributes
    ----------
    near
        (n, k), numbers of anchors.
    shares
        (n, k), which sum to one in each row; 0 for an anchor that does not answer.
    n_anchors
        How many anchors there are.

    """

    near: NDArray[np.int64]
    shares: Array
    n_anchors: int


@dataclass(frozen=True)
class Solution:
    """What `solve` found.

    Attributes
    ----------
    weights
        (anchors, features): each anchor's W_j.
    biases
        (anchors,): each anchor's b_j.
    objective
        LL(10) at this solution; biases are not penalised in it.
    gap
        How far the problem that was solved (with its slight penalty on biases) is from its
        optimum at most: the difference of the primal and the dual value.
    passes
        How many passes over the records it took.

    """

    weights: Array
    biases: Array
    objective: float
    gap: float
    passes: int


def softmax_codes(
    X: ArrayLike, anchors: ArrayLike, n_neighbors: int = 8, sharpness: float = 1.0
) -> Codes:
    """Return local codes by exp(-beta d^2) over the k nearest anchors, SAPL(2).

    Parameters
    ----------
    X
        (n, features).
    anchors
        (anchors, features).
    n_neighbors
        How many anchors answer.
    sharpness
        beta, times the mean of d^2.

    Examples
    --------
    >>> codes = softmax_codes([[0.0], [1.0]], [[0.0], [2.0]], n_neighbors=2)
    >>> codes.shares[1]
    array([0.5, 0.5])

    """
    x, v = np.asarray(X, dtype=np.float64), np.asarray(anchors, dtype=np.float64)
    k = min(whole("n_neighbors", n_neighbors, 1, 10**6), len(v))
    squared = ((x[:, None, :] - v[None]) ** 2).sum(axis=2)
    near = np.argsort(squared, axis=1, kind="stable")[:, :k]
    squared = np.take_along_axis(squared, near, axis=1)
    spread = squared.mean() or 1.0
    raw = np.exp(-sharpness / spread * (squared - squared[:, :1]))
    return Codes(near, raw / raw.sum(axis=1, keepdims=True), len(v))


def objective(
    X: ArrayLike,
    y: ArrayLike,
    codes: Codes,
    weights: ArrayLike,
    biases: ArrayLike,
    l2: float,
    loss: str = "hinge",
) -> float:
    """Return LL(10) for these weights and biases.

    Parameters
    ----------
    X
        (n, features), scaled as the model sees them.
    y
        -1 or +1 for each record.
    codes
        Their local codes.
    weights
        (anchors, features).
    biases
        (anchors,).
    l2
        The penalty: lambda in LL(10).
    loss
        "hinge" or "squared_hinge".

    """
    w = np.asarray(weights, dtype=np.float64)
    v = np.column_stack([w, np.asarray(biases, dtype=np.float64)])
    x, signs = _checked(X, y, codes)
    out = np.zeros(len(x))
    heights(v, x, codes.near, codes.shares, 1.0, out)
    return float(l2 / 2 * (w * w).sum() + _losses(signs * out, loss).mean())


def solve(
    X: ArrayLike,
    y: ArrayLike,
    codes: Codes,
    l2: float,
    loss: str = "hinge",
    tolerance: float = 1e-4,
    max_passes: int = 2_000,
    bias_scale: float = BIAS_SCALE,
    seed: int = 0,
) -> Solution:
    """Return the optimum of LL(10) for given codes.

    Parameters
    ----------
    X
        (n, features), scaled as the model sees them.
    y
        -1 or +1 for each record: of several classes, solve one against the rest for each.
    codes
        Their local codes: of `softmax_codes`, of `problem_of`, or any others that sum to one.
    l2
        The penalty: lambda in LL(10).
    loss
        "hinge" or "squared_hinge".
    tolerance
        It stops when the gap is below so much of the objective.
    max_passes
        It stops after so many passes in any case.
    bias_scale
        Biases are penalised by this squared less than weights; 1 is LIBLINEAR's problem.
    seed
        For the order of the records.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 2))
    >>> y = np.where(X[:, 0] * X[:, 1] > 0, 1, -1)  # XOR
    >>> codes = softmax_codes(X, [[1, 1], [1, -1], [-1, 1], [-1, -1]], sharpness=4)
    >>> solution = solve(X, y, codes, l2=1e-3)
    >>> bool(solution.gap < 1e-4)
    True
    >>> round(solution.objective, 2)
    0.1...

    """
    choice("loss", loss, _LOSSES)
    number("l2", l2, 1e-12, 1e12)
    number("tolerance", tolerance, 0.0, 1.0)
    s = number("bias_scale", bias_scale, 1e-3, 1e6)
    whole("max_passes", max_passes, 1, 10**9)
    x, signs = _checked(X, y, codes)
    n, width = x.shape
    v = np.zeros((codes.n_anchors, width + 1))
    alpha = np.zeros(n)
    squares = (codes.shares**2).sum(axis=1) * ((x * x).sum(axis=1) + s * s)
    c = 1 / (l2 * n)
    upper, diagonal = (c, 0.0) if loss == "hinge" else (np.inf, 1 / (2 * c))
    rng = np.random.default_rng(seed)
    out = np.zeros(n)
    gap, passes = np.inf, 0
    for passes in range(1, max_passes + 1):  # noqa: B007  it is told in the end
        descend_dual(
            v, alpha, squares, x, signs, codes.near, codes.shares, s, upper, diagonal,
            rng.permutation(n),
        )  # fmt: skip
        heights(v, x, codes.near, codes.shares, s, out)
        half = (v * v).sum() / 2
        primal = half + c * _losses(signs * out, loss).sum()
        dual = alpha.sum() - half - diagonal / 2 * (alpha * alpha).sum()
        gap = l2 * (primal - dual)
        if gap <= tolerance * l2 * primal:
            break
    weights, biases = v[:, :width].copy(), s * v[:, width]
    told = objective(x, signs, codes, weights, biases, l2, loss)
    return Solution(weights, biases, told, float(gap), passes)


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


def problem_of(model: AnchorClassifier, X: Any) -> Problem:
    """Read off a model how it sees these records, and its weights.

    Parameters
    ----------
    model
        A model without the common machine: ``step_size="paper"``, or an `LCCClassifier`.
    X
        Records, as its `predict_many` takes them.

    Examples
    --------
    >>> from stream_llsvm import LLSVMClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(4_000, 3))
    >>> y = np.sin(2 * X[:, 0]) + rng.normal(size=4_000) > 0
    >>> model = LLSVMClassifier(
    ...     n_anchors=20, step_size="paper", loss="hinge", multiclass="ovr", l2=1e-3, t0=1_000
    ... )
    >>> model.warm_start(X, y, epochs=10)
    >>> problem = problem_of(model, X)
    >>> signs = np.where(y, 1, -1) * (1 if model.classes[1] else -1)
    >>> ours = objective(
    ...     problem.X, signs, problem.codes, problem.weights[0], problem.biases[0], l2=1e-3
    ... )
    >>> round(ours / solve(problem.X, signs, problem.codes, l2=1e-3).objective, 2)
    1.0...

    """
    memory = model._memory
    if memory is None:
        raise ValueError("nothing has been learned yet, so the model has no anchors")
    views, width = memory.views(1), len(model._features)
    if len(views["gain"]) > model.n_anchors:
        raise ValueError(
            "the common machine answers every record beside the anchors, which LL(10) does not "
            'know: choose step_size="paper"'
        )
    if CODINGS[model.coding] == RECONSTRUCTION:
        raise ValueError('codes by coding="reconstruction" cannot be read off a model')
    names, matrix = as_matrix(X)
    rows = model._features.encode_many(names, matrix)
    n, born = len(matrix), int(views["running"][0])
    z = np.zeros((n, width), dtype=np.float32)
    statistics = memory.views(0)["statistics"][:width]
    scale_rows(
        statistics, memory.standardize, rows.values.reshape(-1), rows.columns, rows.starts, z
    )
    seen = z
    if views["mapped"].size > 0:  # LL(16): codes of x, machines on phi(x)
        mapped = views["mapped"][:width] > 0
        seen, z = np.where(mapped, 0, z), np.where(mapped, z, 0)
    facts = views["facts"].astype(np.float64)
    anchors = facts[0, :born, None] * views["positions"][:born, :width].astype(np.float64)
    codes = _codes_at(model, seen.astype(np.float64), anchors, float(views["running"][1]))
    raw = views["raw_scale"][0] * views["weights"][:born, 0, 0].astype(np.float64)
    if raw.shape[-1] == 0:
        raw = np.zeros((*raw.shape[:-1], width))
    biases = views["biases"][:born, 0, 0].astype(np.float64)
    return Problem(
        z.astype(np.float64),
        codes,
        np.moveaxis(raw[..., :width], 0, 1).copy(),
        np.moveaxis(biases, 0, 1).copy(),
    )


def _codes_at(model: AnchorClassifier, z: Array, anchors: Array, spread: float) -> Codes:
    """Return the codes that the model's kernel gives, with its running spread."""
    k = min(model.n_neighbors, len(anchors))
    near = np.zeros((len(z), k), dtype=np.int64)
    shares = np.zeros((len(z), k))
    squares = (anchors * anchors).sum(axis=1)
    for begin in range(0, len(z), 1_024):
        some = z[begin : begin + 1_024]
        distance = squares - 2 * some @ anchors.T + (some * some).sum(axis=1)[:, None]
        found = np.argsort(distance, axis=1, kind="stable")[:, :k]
        nearest = np.maximum(np.take_along_axis(distance, found, axis=1), 0.0)
        if CODINGS[model.coding] == CODINGS["softmax"]:
            raw = np.exp(-(nearest - nearest[:, :1]) / (spread + 1e-12))
        else:
            raw = 1 / (np.sqrt(nearest) + 1e-3 * np.sqrt(spread) + 1e-12)
        near[begin : begin + 1_024] = found
        shares[begin : begin + 1_024] = raw / raw.sum(axis=1, keepdims=True)
    return Codes(near, shares, len(anchors))


def _losses(margins: Array, loss: str) -> Array:
    short = np.maximum(0.0, 1 - margins)
    return short if loss == "hinge" else short * short


def _checked(X: ArrayLike, y: ArrayLike, codes: Codes) -> tuple[Array, Array]:
    x = np.ascontiguousarray(X, dtype=np.float64)
    signs = np.ascontiguousarray(y, dtype=np.float64)
    if x.ndim != 2 or len(x) == 0:
        raise ValueError(f"X must be 2-D with at least one row; got shape {x.shape}")
    if not np.isfinite(x).all():
        raise ValueError("X must be finite: scaled values, with 0 for what is missing")
    if signs.shape != (len(x),) or not np.isin(signs, (-1, 1)).all():
        raise ValueError(f"y must be -1 or +1 for each of the {len(x)} rows")
    if codes.near.shape != codes.shares.shape or len(codes.near) != len(x):
        raise ValueError(f"codes must be those of the {len(x)} rows")
    if codes.near.size and not 0 <= codes.near.min() <= codes.near.max() < codes.n_anchors:
        raise ValueError(f"codes name anchors beyond the {codes.n_anchors} there are")
    return x, signs
