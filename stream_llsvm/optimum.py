"""The optimum of a locally linear SVM for given anchors, by dual coordinate descent.

LL(10), with the codes given, is one linear SVM on ``gamma (x) [x; 1]``, LL(8):

    min  l2 / 2 sum_j |W_j|^2 + 1/n sum_i max(0, 1 - y_i H(x_i)),    LL(9)
    H(x) = sum_j gamma_j(x) (W_j . x + b_j)

gamma (x) [x; 1] is SAPL(20). With one anchor it is the linear SVM, LL(4), SAPL(3), or, as a QP,
LL(5); with phi(x) in the place of x it is LL(17).

`solve` finds it, with a certificate: the duality gap.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stream_llsvm.kernels.dual import descend_dual, heights
from stream_llsvm.options import choice, number, whole

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
