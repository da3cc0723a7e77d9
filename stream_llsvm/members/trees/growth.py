"""How trees grow: where a leaf is cut in two, and how a tree begins anew."""

from __future__ import annotations

import numpy as np

from stream_llsvm.kernels.compile import Array, kernel, outlined
from stream_llsvm.kernels.random import below, uniform
from stream_llsvm.members.trees.state import (
    BINS,
    BORN,
    DEEPEST,
    EDGE,
    FREE,
    KNOWN,
    LEAF,
    LOW,
    NEVER,
    PACE,
    SEEN,
    SIZE,
    WAITS,
    TreesState,
)

#: A cut must explain so much: with 16 features and 32 bins chance reaches it once in some hundred
#: looks. Each side must hold so much variance.
GAIN, LEAST = np.float32(15), np.float32(1)
#: What remains of a histogram after a look without a cut; how often it begins anew instead.
KEEP, REDRAW = np.float32(0.9), 0.1
#: How much of a Newton step the two new leaves take, and as how many records they count at most.
TRUST, MOST_MASS = np.float32(0.5), np.float32(20)
#: No bin is narrower than a fraction of this.
NARROWEST = np.float32(1e-6)


@kernel
def count(sums: Array, bins: Array, asked: Array, x: Array, error: float, variance: float) -> None:
    """Add a record's error, and its variance, to one bin of each feature asked about."""
    for f in range(asked.size):
        place = (x[asked[f]] - bins[f, LOW]) * bins[f, PACE]
        b = int(min(max(place, np.float32(0)), np.float32(BINS - 1)))
        sums[b, 2 * f] += error
        sums[b, 2 * f + 1] += variance


@kernel
def best_cut(sums: Array, whole: Array, left: Array, best: Array) -> int:
    """Return the feature whose best cut explains more than chance would, or -1.

    ``best`` has for each feature the gain, and the last bin below the cut. A cut's gain is that of
    a score test: of each side the square of its error over its variance.
    """
    whole[:], left[:], best[:] = 0, 0, 0
    for b in range(BINS):
        for u in range(whole.size):
            whole[u] += sums[b, u]
    gains, places = best[0], best[1]
    for b in range(BINS - 1):
        for u in range(left.size):
            left[u] += sums[b, u]
        for f in range(gains.size):
            error, variance = left[2 * f], left[2 * f + 1]
            rest, its = whole[2 * f] - error, whole[2 * f + 1] - variance
            gain = error * error / (variance + LEAST) + rest * rest / (its + LEAST)
            better = (gain > gains[f]) & (variance >= LEAST) & (its >= LEAST)
            gains[f] = gain if better else gains[f]
            places[f] = np.float32(b) if better else places[f]
    found, most = -1, GAIN
    for f in range(gains.size):
        gain = gains[f] - whole[2 * f] * whole[2 * f] / (whole[2 * f + 1] + LEAST)
        if gain > most:
            found, most = f, gain
    return found


@outlined
def cut(m: TreesState, t: int, i: int, f: int, b: int) -> None:
    """Make two leaves of a leaf; each takes its value and half a Newton step along its error."""
    k = m.slots[t, i]
    sums, columns, trust = m.sums[k], m.columns, np.float32(m.pace[0]) * TRUST
    a = m.facts[SIZE, t]
    m.asks[t, i], m.below[t, i] = m.asked[k, f], a
    m.cuts[t, i] = m.bins[k, f, LOW] + np.float32(b + 1) / m.bins[k, f, PACE]
    m.facts[SIZE, t] = a + 2
    for side in range(2):
        j, error, variance = a + side, np.float32(0), np.float32(0)
        for place in range(b + 1 if side == 1 else 0, BINS if side == 1 else b + 1):
            error += sums[place, 2 * f]
            variance += sums[place, 2 * f + 1]
        step = trust * error / (variance + LEAST)
        for c in range(columns):
            m.values[t, j, c] = m.values[t, i, c] + step * m.sides[k, c]
            m.values[t, j, columns + c] = m.values[t, i, columns + c] + step * m.sides[k, c]
        m.mass[t, j] = min(MOST_MASS, m.mass[t, i] / 2)
        m.below[t, j], m.above[t, j], m.slots[t, j] = LEAF, i, WAITS
    m.since[k] = 0
    give_back(m, t, i)
    if a + 4 > m.nodes:  # no leaf of this tree is cut any more
        for j in range(a + 2):
            give_back(m, t, j)


@kernel
def give_back(m: TreesState, t: int, i: int) -> None:
    """Take a node's histogram, if it has one: it needs none any more."""
    if m.slots[t, i] >= 0:
        m.free[m.running[FREE]] = m.slots[t, i]
        m.running[FREE] += 1
    m.slots[t, i] = NEVER


@outlined
def begin_anew(m: TreesState, t: int) -> None:
    """Make a tree a single leaf that adds nothing."""
    for i in range(m.facts[SIZE, t]):
        give_back(m, t, i)
    m.facts[SIZE, t], m.facts[BORN, t], m.use[t] = 1, m.running[SEEN], 0
    m.below[t, 0], m.slots[t, 0], m.mass[t, 0] = LEAF, WAITS, 0
    m.values[t, 0] = 0


@outlined
def take(m: TreesState, t: int, i: int) -> int:
    """Give a leaf a histogram, if one is free; returns its number, or why it has none."""
    depth, j = 0, i
    while j > 0:
        j = m.above[t, j]
        depth += 1
    if depth >= DEEPEST:
        m.slots[t, i] = NEVER
    elif m.running[FREE] > 0:
        m.running[FREE] -= 1
        m.slots[t, i] = m.free[m.running[FREE]]
        draw(m, t, i)
    return int(m.slots[t, i])


@kernel
def draw(m: TreesState, t: int, i: int) -> None:
    """Let a leaf's histogram begin: features and sides by lot, bins over the part that it holds."""
    k = m.slots[t, i]
    asked, bins = m.asked[k], m.bins[k]
    m.sums[k], m.since[k] = 0, 0
    draw_features(m.source, m.running[KNOWN], asked)
    draw_sides(m.source, m.sides[k])
    for f in range(asked.size):
        low, high, j = -np.float32(EDGE), np.float32(EDGE), i
        while j > 0:
            up = m.above[t, j]
            if m.asks[t, up] == asked[f] and j > m.below[t, up]:
                low = max(low, m.cuts[t, up])
            elif m.asks[t, up] == asked[f]:
                high = min(high, m.cuts[t, up])
            j = up
        bins[f, LOW] = low
        bins[f, PACE] = np.float32(BINS) / max(high - low, NARROWEST)


@kernel
def draw_features(source: Array, known: int, asked: Array) -> None:
    """Draw different columns of those that are named: all, if they are few (Floyd's sampling)."""
    if known <= asked.size:
        for f in range(asked.size):
            asked[f] = f
        return
    for f in range(asked.size):
        last = known - asked.size + f
        column = below(source, last + 1)
        for g in range(f):
            if asked[g] == column:
                column = last
                break
        asked[f] = column


@kernel
def draw_sides(source: Array, sides: Array) -> None:
    """With many classes count the error of half of them against that of the others, by lot."""
    if sides.size == 1:
        sides[0] = 1
        return
    above = (sides.size + 1) // 2
    for c in range(sides.size):
        left = sides.size - c
        sides[c] = 1 if below(source, left) < above else -1
        above -= 1 if sides[c] > 0 else 0


@kernel
def fade(m: TreesState, t: int, i: int) -> None:
    """After a look without a cut: forget a little, and now and then ask something else."""
    k = m.slots[t, i]
    m.since[k] = 0
    other = m.columns > 1 or m.running[KNOWN] > m.features
    if other and uniform(m.source) < REDRAW:
        draw(m, t, i)
        return
    sums = m.sums[k]
    for b in range(BINS):
        for u in range(sums.shape[1]):
            sums[b, u] *= KEEP
