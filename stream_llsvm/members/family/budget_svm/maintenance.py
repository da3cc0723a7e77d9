"""Making room among support vectors: the weakest one goes, or becomes one with another.

Merging a with b puts z = h a + (1 - h) b in their place (Wang, Crammer, Vucetic 2012). With an RBF,
k(a, z) = k^((1 - h)^2) and k(b, z) = k^(h^2), where k = k(a, b), so that the coefficients of z that
change the machines least are

    alpha_z = alpha_a k^((1 - h)^2) + alpha_b k^(h^2)

and they change them by |alpha_a|^2 + |alpha_b|^2 + 2 k alpha_a . alpha_b - |alpha_z|^2, summed over
all machines. The partner is the one that costs least with h at the mean of both by their weight,
which needs no search; h is then found by golden section.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from stream_llsvm.kernels.compile import Array, Real, kernel
from stream_llsvm.kernels.linear import scores_of

REMOVAL, MERGING = range(2)
#: Each width's kernel is the one before to this power.
POWER = 4.0
GOLDEN = (math.sqrt(5) - 1) / 2
#: Of the golden section: by then h is known to a hundredth.
CUTS = 10
# What is summed up of a pair, for each width.
SQUARE_A, SQUARE_B, PRODUCT = range(3)


@kernel
def weakest(coefficients: Array, stamps: Array, held: int) -> int:
    """Return the vector with the smallest coefficients; of those that are alike the oldest."""
    worst, least = 0, np.inf
    for v in range(held):
        w = coefficients[v]
        total = 0.0
        for u in range(w.size):
            total += w[u] * w[u]
        if total < least or (total == least and stamps[v] < stamps[worst]):
            worst, least = v, total
    return worst


@kernel
def sum_up(alpha: Array, beta: Array, sums: Array) -> None:
    """Fill sums, a row a width, with what a merge of the two depends on."""
    columns = alpha.size // sums.shape[0]
    for r in range(sums.shape[0]):
        a, b, both = 0.0, 0.0, 0.0
        for u in range(r * columns, (r + 1) * columns):
            a += alpha[u] * alpha[u]
            b += beta[u] * beta[u]
            both += alpha[u] * beta[u]
        sums[r, SQUARE_A], sums[r, SQUARE_B], sums[r, PRODUCT] = a, b, both


@kernel
def cost_of(h: Real, steep: Real, sums: Array) -> Real:
    """By how much the machines change if the two become one at h; ``steep`` is -log k(a, b)."""
    total = 0.0
    for r in range(sums.shape[0]):
        near_a, near_b = math.exp(-steep * (1 - h) * (1 - h)), math.exp(-steep * h * h)
        a, b, both = sums[r, SQUARE_A], sums[r, SQUARE_B], sums[r, PRODUCT]
        kept = near_a * near_a * a + near_b * near_b * b + 2 * near_a * near_b * both
        total += a + b + 2 * math.exp(-steep) * both - kept
        steep *= POWER
    return total


@kernel
def by_weight(sums: Array) -> Real:
    """Return the place of the mean of the two by their weight."""
    a, b = 0.0, 0.0
    for r in range(sums.shape[0]):
        a += sums[r, SQUARE_A]
        b += sums[r, SQUARE_B]
    a, b = math.sqrt(a), math.sqrt(b)
    return a / (a + b) if a + b > 0 else 0.5


@kernel
def golden_section(steep: Real, sums: Array) -> Real:
    """Return the h in [0, 1] that costs least."""
    low, high = 0.0, 1.0
    left, right = high - GOLDEN, low + GOLDEN
    cost_left, cost_right = cost_of(left, steep, sums), cost_of(right, steep, sums)
    for _ in range(CUTS):
        if cost_left <= cost_right:
            high, right, cost_right = right, left, cost_left
            left = high - GOLDEN * (high - low)
            cost_left = cost_of(left, steep, sums)
        else:
            low, left, cost_left = left, right, cost_right
            right = low + GOLDEN * (high - low)
            cost_right = cost_of(right, steep, sums)
    best, least = 0.0, cost_of(0.0, steep, sums)
    for h in (1.0, (low + high) / 2):
        cost = cost_of(h, steep, sums)
        if cost < least:
            best, least = h, cost
    return best


@kernel
def merge(m: Any, a: int, held: int, gamma: Real, dense: Array) -> None:
    """Let vector a become one with the other for which this changes the machines least."""
    vectors, norms, stamps = m.vectors, m.norms, m.stamps
    coefficients, products, sums = m.coefficients, m.products, m.sums
    scores_of(vectors[:held], vectors[a], dense, products)
    partner, cheapest = -1, np.inf
    for v in range(held):
        if v == a:
            continue
        sum_up(coefficients[a], coefficients[v], sums)
        steep = gamma * max(0.0, norms[a] + norms[v] - 2 * products[v])
        cost = cost_of(by_weight(sums), steep, sums)
        if cost < cheapest:
            partner, cheapest = v, cost
    if partner < 0:
        return
    alpha, beta, x, z = coefficients[a], coefficients[partner], vectors[a], vectors[partner]
    sum_up(alpha, beta, sums)
    steep = gamma * max(0.0, norms[a] + norms[partner] - 2 * products[partner])
    h = golden_section(steep, sums)
    columns = alpha.size // sums.shape[0]
    for r in range(sums.shape[0]):
        near_a, near_b = math.exp(-steep * (1 - h) * (1 - h)), math.exp(-steep * h * h)
        for u in range(r * columns, (r + 1) * columns):
            beta[u] = near_a * alpha[u] + near_b * beta[u]
        steep *= POWER
    norm = 0.0
    for i in range(z.size):
        z[i] = h * x[i] + (1 - h) * z[i]
        norm += z[i] * z[i]
    norms[partner] = norm
    stamps[partner] = max(stamps[a], stamps[partner])
