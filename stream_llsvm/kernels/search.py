"""The nearest of many: distances to all records of a store, and the smallest of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from stream_llsvm.kernels.compile import Array, Real, kernel
from stream_llsvm.kernels.views import bits_of

GROUPS = 128
#: Of fewer close distances each is compared with each.
MOST = GROUPS - 1
#: So many halvings find the place between any two floats well enough.
HALVINGS = 24
_ENDLESS = np.int32(0x7F800000)  # the bits of infinity


@kernel
def subtract_products(store: Array, factors: Array, at: Array, distance: Array) -> None:
    """``distance[j] -= sum_i factors[i] * store[at[i], j]``, four features a pass."""
    n, count = factors.size, distance.size
    by_name = at.size > 0
    fours = n - n % 4
    for t in range(0, fours, 4):
        a = store[at[t] if by_name else t]
        b = store[at[t + 1] if by_name else t + 1]
        c = store[at[t + 2] if by_name else t + 2]
        d = store[at[t + 3] if by_name else t + 3]
        fa, fb, fc, fd = factors[t], factors[t + 1], factors[t + 2], factors[t + 3]
        for j in range(count):
            distance[j] -= fa * a[j] + fb * b[j] + fc * c[j] + fd * d[j]
    for t in range(fours, n):
        a = store[at[t] if by_name else t]
        fa = factors[t]
        for j in range(count):
            distance[j] -= fa * a[j]
    for j in range(count):
        distance[j] = max(distance[j], np.float32(0))


@kernel
def smallest(distance: Array, least: Array, some: Array, near: Array, nearest: Array) -> None:
    """Find the smallest distances, smallest first; none of them is below 0.

    Record j belongs to group j modulo GROUPS. A bound that the minima of k groups do not exceed is
    one that k distances do not exceed: only the groups below it are looked into. ``least`` and
    ``some`` are scratch: one number a group, and three.
    """
    k, groups = near.size, min(GROUPS, distance.size)
    below = some[0]
    group_minima(distance, least)
    minima, bits = bits_of(least)[:groups], bits_of(distance)
    bound = bound_of(minima, k)
    found = 0
    for g in range(groups):
        below[found] = g
        found += 1 if minima[g] <= bound else 0
    n, close = found, below
    if distance.size > GROUPS:
        n, close = 0, some[1]
        for i in range(found):
            for j in range(below[i], distance.size, GROUPS):
                close[n] = j  # written over by the next, if it is not: nothing here branches
                n = min(n + 1, MOST) if bits[j] <= bound else n
    nearest[:] = np.float32(np.inf)
    if n < MOST:
        sort(distance, close[:n], least, some[2], near, nearest)
        return
    # Many are equal.
    for i in range(found):
        for j in range(below[i], distance.size, GROUPS):
            if bits[j] <= bound and distance[j] < nearest[k - 1]:
                insert(distance[j], j, near, nearest)


@kernel
def sort(
    distance: Array, close: Array, own: Array, ranks: Array, near: Array, nearest: Array
) -> None:
    """Put the smallest of the close distances where they belong; equal ones as they come.

    A distance's rank is how many others are smaller: each is compared with each, which for so few
    is faster than to move them, since no branch mispredicts. ``own`` and ``ranks`` are scratch.
    """
    for i in range(close.size):
        d, rank = distance[close[i]], 0
        for j in range(i):
            behind = 1 if own[j] <= d else 0
            rank += behind
            ranks[j] += 1 - behind
        own[i], ranks[i] = d, rank
    for i in range(close.size):
        if ranks[i] < near.size:
            near[ranks[i]], nearest[ranks[i]] = close[i], own[i]


@kernel
def group_minima(distance: Array, least: Array) -> None:
    """Find the smallest of each group.

    Floats that are not negative have the order of their bits, and the lesser of two integers is
    a vector instruction.
    """
    bits, least_bits = bits_of(distance), bits_of(least)
    least[:] = np.float32(np.inf)
    for begin in range(0, bits.size, GROUPS):
        row = bits[begin : begin + GROUPS]
        for j in range(row.size):
            v, m = row[j], least_bits[j]
            least_bits[j] = v if v < m else m


@kernel
def bound_of(minima: Array, k: int) -> Any:
    """Return bits that at least k of the minima do not exceed, and hardly more than k.

    Counting how many are below is a vector instruction, so halving the range a few times is
    cheaper than sorting the k smallest.
    """
    if minima.size <= k:
        return _ENDLESS
    low, high = _ENDLESS, np.int32(0)
    for g in range(minima.size):
        low, high = min(low, minima[g]), max(high, minima[g])
    for _ in range(HALVINGS):
        middle = np.int32(low + ((high - low) >> 1))
        below = np.int32(0)
        for g in range(minima.size):
            below += np.int32(1) if minima[g] <= middle else np.int32(0)
        if below < k:
            low = middle
            continue
        high = middle
        if below <= k + k // 2:
            break
    return high


@kernel
def insert(d: Real, j: int, near: Array, nearest: Array) -> None:
    """Put number j at distance d, which is below the last, where it belongs."""
    p = near.size - 1
    while p > 0 and nearest[p - 1] > d:
        nearest[p] = nearest[p - 1]
        near[p] = near[p - 1]
        p -= 1
    nearest[p] = d
    near[p] = j
