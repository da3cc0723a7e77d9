"""A small SVM, solved to the end: the dual LAS(1) by sequential minimal optimisation.

With b_i = y_i alpha_i the dual of LAS(1) reads

    min  1/2 b' K b - b' y      subject to  sum b = 0,  b_i between 0 and y_i C_i

Each step moves two of them, the pair that LIBSVM would (second-order selection; Fan, Chen, Lin,
JMLR 2005), so that the sum stays. The machine is f(x) = sum_i b_i k(x_i, x) + bias.
"""

from __future__ import annotations

import math

import numpy as np

from stream_llsvm.kernels.compile import Array, Real, kernel

RBF, LINEAR = range(2)
#: When the best pair violates optimality by less, it is solved. LIBSVM's own default.
TOLERANCE = 1e-3
#: Steps that a machine may take per record: the time of a query has a bound. The few that reach it
#: are as good as solved.
STEPS_EACH = 100
ROUNDING = 1e-12
_FLAT = 1e-12


@kernel
def squared_distances(points: Array, gram: Array) -> Real:
    """Fill gram with the squared distances of all pairs; returns their mean."""
    n = points.shape[0]
    total: Real = 0.0
    for i in range(n):
        gram[i, i] = 0
        a = points[i]
        for j in range(i):
            b = points[j]
            square = np.float32(0)
            for t in range(a.size):
                d = a[t] - b[t]
                square += d * d
            gram[i, j] = gram[j, i] = square
            total += square
    return 2 * total / max(1, n * (n - 1))


@kernel
def fill_gram(points: Array, kind: int, sigma: Real, gram: Array) -> Real:
    """Fill gram with k(x_i, x_j); returns 1 / sigma^2.

    A sigma of 0 stands for the neighbourhood's own: sigma^2 is the mean squared distance of its
    pairs, LAS section I, so that nothing changes if all that is near is scaled alike.
    """
    n = points.shape[0]
    mean = squared_distances(points, gram)
    square = sigma * sigma if sigma > 0 else mean
    precision = 1 / square if square > 0 else 0.0
    for i in range(n):
        for j in range(i + 1):
            if kind == RBF:
                value = math.exp(-0.5 * precision * gram[i, j])
            else:
                value = precision * dot(points[i], points[j])
            gram[i, j] = gram[j, i] = value
    return precision


@kernel
def dot(a: Array, b: Array) -> Real:
    """Return the inner product, summed in doubles."""
    total = 0.0
    for t in range(a.size):
        total += float(a[t]) * float(b[t])
    return total


@kernel
def value_of(kind: int, precision: Real, x: Array, point: Array) -> Real:
    """Return k(x, point), the entry of a gram matrix."""
    if kind == LINEAR:
        return precision * dot(x, point)
    square = np.float32(0)
    for t in range(x.size):
        d = x[t] - point[t]
        square += d * d
    return math.exp(-0.5 * precision * square)


@kernel
def solve(gram: Array, y: Array, most: Array, tolerance: Real, b: Array, gradient: Array) -> Real:
    """Fill b with the solution for labels y (1 or -1) and bounds C_i (most); returns the bias."""
    n = y.size
    for t in range(n):
        b[t] = 0
        gradient[t] = -y[t]
    for _ in range(STEPS_EACH * n):
        i, up = -1, -np.inf
        for t in range(n):  # who gains most by rising
            if b[t] < (most[t] if y[t] > 0 else 0.0) and -gradient[t] > up:
                i, up = t, -gradient[t]
        if i < 0:
            break
        j, down, best = -1, np.inf, 0.0
        for t in range(n):  # with whom, falling, the objective falls most
            if b[t] <= (0.0 if y[t] > 0 else -most[t]):
                continue
            down = min(down, -gradient[t])
            gap = up + gradient[t]
            if gap > 0:
                curve = max(gram[i, i] + gram[t, t] - 2 * gram[i, t], _FLAT)
                if gap * gap / curve > best:
                    j, best = t, gap * gap / curve
        if j < 0 or up - down < tolerance:
            break
        curve = max(gram[i, i] + gram[j, j] - 2 * gram[i, j], _FLAT)
        step = (up + gradient[j]) / curve
        room = (most[i] if y[i] > 0 else 0.0) - b[i]
        rest = b[j] - (0.0 if y[j] > 0 else -most[j])
        step = min(step, room, rest)
        b[i] = snapped(b[i] + step, y[i], most[i])
        b[j] = snapped(b[j] - step, y[j], most[j])
        row, other = gram[i], gram[j]
        for t in range(n):
            gradient[t] += step * (row[t] - other[t])
    return bias_of(y, most, b, gradient)


@kernel
def snapped(value: Real, y: Real, most: Real) -> Real:
    """Return the bound that value has reached but for rounding, else value.

    Who is a hair below the bound would have a say in the bias, as if on the margin.
    """
    high = most if y > 0 else 0.0
    low = high - most
    if value > high - ROUNDING * most:
        return high
    return low if value < low + ROUNDING * most else value


@kernel
def bias_of(y: Array, most: Array, b: Array, gradient: Array) -> Real:
    """Return the bias that the records on the margin agree on, or the middle of what is allowed."""
    total, free, low, high = 0.0, 0, -np.inf, np.inf
    for t in range(y.size):
        below_top = b[t] < (most[t] if y[t] > 0 else 0.0)
        above_bottom = b[t] > (0.0 if y[t] > 0 else -most[t])
        if below_top and above_bottom:
            total -= gradient[t]
            free += 1
        if below_top:
            low = max(low, -gradient[t])
        if above_bottom:
            high = min(high, -gradient[t])
    if free > 0:
        return total / free
    if low == -np.inf:
        return high
    return low if high == np.inf else 0.5 * (low + high)
