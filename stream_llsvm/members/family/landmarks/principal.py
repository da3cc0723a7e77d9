"""Principal components as landmarks, L3 section 4.3, learned record by record.

The components follow CCIPCA (Weng, Zhang, Hwang 2003): each is drawn towards what the ones before
it leave of a record. They are never quite orthogonal, and they turn. So the landmarks are a copy,
made orthonormal now and then, and the clusters' weights are turned with it: with U the old
directions and V the new, theta becomes V U' theta. What both span is answered as before.
"""

from __future__ import annotations

import math
from typing import Any

from stream_llsvm.kernels.compile import Array, Real, kernel
from stream_llsvm.kernels.linear import copy_to

#: CCIPCA's amnesic parameter: later records count more while the first guesses are forgotten.
AMNESIA = 2.0
SLOWEST = 1e-4
#: A direction of which less than this part is new is none.
LEAST = 1e-5


@kernel
def dot(a: Array, b: Array) -> Real:
    """Return a . b, summed in double precision."""
    total = 0.0
    for i in range(a.size):
        total += a[i] * b[i]
    return total


@kernel
def follow_components(components: Array, found: int, lessons: Real, rest: Array) -> int:
    """Learn from a record, which is used up; returns how many components there are now."""
    whole = dot(rest, rest)
    rate = max(SLOWEST, min(0.5, (1 + AMNESIA) / (lessons + AMNESIA)))
    for i in range(components.shape[0]):
        v = components[i]
        if i >= found:
            if dot(rest, rest) <= LEAST * whole:
                return found
            for d in range(v.size):
                v[d] = rest[d]
            return found + 1
        square = dot(v, v)
        if not square > 0:
            return i
        along = rate * dot(rest, v) / math.sqrt(square)
        for d in range(v.size):
            v[d] = (1 - rate) * v[d] + along * rest[d]
        square = dot(v, v)
        if not square > 0:
            return i
        part = dot(rest, v) / square
        for d in range(v.size):
            rest[d] -= part * v[d]
    return found


@kernel
def orthonormal(components: Array, found: int, basis: Array) -> int:
    """Fill basis with directions of the components; returns how many differ enough."""
    n = 0
    for i in range(found):
        b = basis[n]
        square = dot(components[i], components[i])
        if not square > 0:
            continue
        for d in range(b.size):
            b[d] = components[i, d] / math.sqrt(square)
        for _ in range(2):  # the second time for what rounding left
            for j in range(n):
                part = dot(b, basis[j])
                for d in range(b.size):
                    b[d] -= part * basis[j, d]
        square = dot(b, b)
        if square <= LEAST:
            continue
        for d in range(b.size):
            b[d] /= math.sqrt(square)
        n += 1
    return n


@kernel
def turn_to(m: Any, n: int, held: int, clusters: int) -> None:
    """Let the first n rows of the basis be the landmarks, and turn the weights with them."""
    basis, landmarks, weights, turn, turned = m.basis, m.landmarks, m.weights, m.turn, m.turned
    for p in range(n):
        for old in range(held):
            turn[p, old] = dot(basis[p], landmarks[old])
    for k in range(clusters):
        turned[:] = 0
        for p in range(n):
            for old in range(held):
                factor, w = turn[p, old], weights[k, old]
                for u in range(w.size):
                    turned[p, u] += factor * w[u]
        for p in range(turned.shape[0]):
            copy_to(weights[k, p], turned[p])
    for p in range(n):
        copy_to(landmarks[p], basis[p])
