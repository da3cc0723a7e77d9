"""Reconstruction codes: the k nearest anchors' best affine blend that gives the record back.

    minimise |x - sum_j c_j v_j|^2 + ridge |c|^2   with sum_j c_j = 1

as locally linear embedding (Roweis and Saul) and LLC (Wang et al.) have it, LL section 2. With the
Gram matrix G_jl = (v_j - x) . (v_l - x) the answer is G c = 1, scaled to sum to one. Codes may be
negative: a record outside its neighbours is extrapolated.
"""

from __future__ import annotations

import math

import numpy as np

from stream_llsvm.kernels.compile import Array, Real, kernel, outlined
from stream_llsvm.members.anchors.state import NORM, ZOOM

#: The ridge, relative to the mean diagonal of the Gram matrix; it bounds the codes.
RIDGE = 0.01


@outlined
def reconstruct(
    positions: Array,
    facts: Array,
    near: Array,
    along: Array,
    x_norm: Real,
    gram: Array,
    code: Array,
) -> None:
    """Fill code for the near anchors, given each one's product with the record (``along``)."""
    k = near.size
    trace = 0.0
    for j in range(k):
        a = near[j]
        for m in range(j + 1):
            b = near[m]
            product = float(facts[NORM, a])
            if m < j:
                left, right = positions[a], positions[b]
                inner = np.float32(0)
                for i in range(left.size):
                    inner += left[i] * right[i]
                product = float(facts[ZOOM, a]) * facts[ZOOM, b] * inner
            gram[j, m] = product - along[j] - along[m] + x_norm
        gram[j, j] = max(gram[j, j], 0.0)
        trace += gram[j, j]
    ridge = RIDGE * trace / k + 1e-12
    for j in range(k):
        gram[j, j] += ridge
    solve_for_ones(gram, code)
    total = 0.0
    for j in range(k):
        total += code[j]
    for j in range(k):
        code[j] /= total


@kernel
def solve_for_ones(matrix: Array, solution: Array) -> None:
    """Solve ``matrix . solution = 1`` by Cholesky's decomposition, in the lower triangle.

    The last column of ``matrix`` is scratch, and it has one more than rows.
    """
    k = solution.size
    free = matrix.shape[1] - 1
    for j in range(k):
        for m in range(j + 1):
            total = matrix[j, m]
            for i in range(m):
                total -= matrix[j, i] * matrix[m, i]
            if m < j:
                matrix[j, m] = total / matrix[m, m]
            else:
                # Rounding can leave a singular matrix a little negative.
                matrix[j, j] = math.sqrt(max(total, 1e-6 * matrix[j, j] + 1e-18))
    for j in range(k):
        total = 1.0
        for i in range(j):
            total -= matrix[j, i] * matrix[i, free]
        matrix[j, free] = total / matrix[j, j]
    for j in range(k - 1, -1, -1):
        total = matrix[j, free]
        for i in range(j + 1, k):
            total -= matrix[i, j] * matrix[i, free]
        matrix[j, free] = total / matrix[j, j]
        solution[j] = matrix[j, free]
