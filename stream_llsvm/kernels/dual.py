"""Dual coordinate descent for one linear machine per anchor: the optimum that SGD aims at.

    min  1/2 |v|^2 + C sum_i loss(y_i v . u_i),   u_i = gamma_i (x) [x_i; s]

after Hsieh et al. (ICML 2008), LIBLINEAR's method. ``u`` is never laid out: record i touches only
the machines of its near anchors. With s > 1 biases are penalised s^2 times less than weights.
"""

from __future__ import annotations

from stream_llsvm.kernels.compile import Array, Real, entry, kernel


@kernel
def height(v: Array, x: Array, near: Array, shares: Array, s: Real) -> float:
    """Return v . u of one record: LL(8)."""
    total = 0.0
    for j in range(near.size):
        if shares[j] == 0:
            continue
        w = v[near[j]]
        h = s * w[x.size]
        for i in range(x.size):
            h += w[i] * x[i]
        total += shares[j] * h
    return total


@kernel
def add(v: Array, x: Array, near: Array, shares: Array, s: Real, step: Real) -> None:
    """Let v += step u."""
    for j in range(near.size):
        if shares[j] == 0:
            continue
        w = v[near[j]]
        scaled = step * shares[j]
        w[x.size] += scaled * s
        for i in range(x.size):
            w[i] += scaled * x[i]


@entry
def descend_dual(
    v: Array,
    alpha: Array,
    squares: Array,
    x: Array,
    y: Array,
    near: Array,
    shares: Array,
    s: Real,
    upper: Real,
    diagonal: Real,
    order: Array,
) -> float:
    """One pass over the records in this order; returns the largest violation met.

    ``upper`` bounds each alpha and ``diagonal`` is added to the quadratic: C and 0 for the hinge,
    infinity and 1 / 2C for its square.
    """
    worst = 0.0
    for t in range(order.size):
        i = order[t]
        square = squares[i] + diagonal
        if square <= 0:
            continue
        gradient = y[i] * height(v, x[i], near[i], shares[i], s) - 1 + diagonal * alpha[i]
        old = alpha[i]
        if old == 0:
            violation = min(gradient, 0.0)
        elif old >= upper:
            violation = max(gradient, 0.0)
        else:
            violation = gradient
        worst = max(worst, abs(violation))
        if violation == 0:
            continue
        alpha[i] = min(max(old - gradient / square, 0.0), upper)
        add(v, x[i], near[i], shares[i], s, (alpha[i] - old) * y[i])
    return worst


@entry
def heights(v: Array, x: Array, near: Array, shares: Array, s: Real, out: Array) -> None:
    """Fill out with v . u of all records."""
    for i in range(out.size):
        out[i] = height(v, x[i], near[i], shares[i], s)
