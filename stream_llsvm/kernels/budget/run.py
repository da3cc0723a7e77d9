"""The budget member: kernelised Pegasos whose support vectors are bounded in number.

    f(x) = s (b + sum_v alpha_v k(x, x_v)),    s = 1 / (l2 (t + t0))

A step of Pegasos, w <- (1 - eta l2) w + eta push phi(x) with eta = 1 / (l2 (t + t0)), is to add
the push to the coefficients of the record: s alone knows the shrinking. Records that push nothing
are no support vectors. Where there is no more room, ``maintenance.py`` makes some (Wang, Crammer,
Vucetic: Breaking the Curse of Kernelization, 2012). The bias is the coefficient of a constant 1.

Several widths of the RBF stand side by side over the same vectors, each with coefficients of its
own, learned on its own error; the mixer finds out which to believe. Each width's kernel is the
one before to the fourth power. The widest one's gamma is relative to the usual squared distance
between records and support vectors, which is measured on the first records and then stands.
"""

from __future__ import annotations

import math

from stream_llsvm.kernels.budget.maintenance import MERGING, merge, weakest
from stream_llsvm.kernels.jit import Array, Real, kernel, member_kernel
from stream_llsvm.kernels.landmarks.projection import become
from stream_llsvm.kernels.linear import copy_to, scores_of
from stream_llsvm.kernels.losses import pushes
from stream_llsvm.kernels.state import (
    COLUMNS,
    FIRST_EXPERT,
    FIRST_SECTION,
    LOSS,
    MULTICLASS,
    OWN,
    OWN_EXPERTS,
    WIDTH,
)
from stream_llsvm.kernels.views import doubles, flat, floats

VECTORS, MAINTENANCE = range(OWN, OWN + 2)
# Settings: the penalty, how far the first steps are shortened, gamma (0: found) and its factor.
L2, T0, GAMMA, BELL = range(4)
# Records learned, vectors held, how often room was made, and the usual squared distance.
SEEN, HELD, MADE, SPREAD = range(4)

#: Until then records lay where the first few guesses of the scales had put them.
YOUNG = 20
#: So many records say what distance is usual.
SETTLED = 500

LAYOUT = (
    ("settings", "f8", (4,), "state"),
    ("running", "f8", (4,), "state"),
    ("vectors", "f4", ("vectors", "width"), "state"),
    ("norms", "f8", ("vectors",), "state"),
    ("stamps", "f8", ("vectors",), "state"),
    ("bias", "f4", ("experts", "columns"), "state"),
    ("coefficients", "f4", ("vectors", "experts", "columns"), "state"),
    ("products", "f4", ("vectors",), "scratch"),
    ("shares", "f4", ("vectors",), "scratch"),
    ("push", "f4", ("experts", "columns"), "scratch"),
    ("sums", "f8", ("experts", 3), "scratch"),
)


@member_kernel
def run(
    state: Array,
    scratch: Array,
    plan: Array,
    member: int,
    z: Array,
    at_all: Array,
    starts: Array,
    labels: Array,
    importance: Array,
    scored: bool,
    scores: Array,
) -> None:
    """Score each row, in any case anew, then learn from it if it has a label."""
    row = plan[member]
    width, columns = plan[0, WIDTH], plan[0, COLUMNS]
    first, experts, most = row[FIRST_EXPERT], row[OWN_EXPERTS], row[VECTORS]
    wide = experts * columns
    o = row[FIRST_SECTION:]
    settings = doubles(state, o[0], 4)
    running = doubles(state, o[1], 4)
    vectors = floats(state, o[2], (most, width))
    norms = doubles(state, o[3], most)
    stamps = doubles(state, o[4], most)
    bias = floats(state, o[5], wide)
    coefficients = floats(state, o[6], (most, wide))
    products = floats(scratch, o[7], most)
    shares = floats(scratch, o[8], most)
    push = floats(scratch, o[9], wide)
    sums = doubles(scratch, o[10], (experts, 3))
    for q in range(labels.size):
        x = z[starts[q] : starts[q + 1]]
        at = at_all[starts[q] : starts[q + 1]] if at_all.size > 0 else at_all
        out = flat(scores[q, first : first + experts])
        x_norm = 0.0
        for i in range(x.size):
            x_norm += x[i] * x[i]
        held = int(running[HELD])
        scores_of(vectors[:held], x, at, products)
        apart = distances(products, norms, held, x_norm, shares)
        gamma = gamma_of(settings, running, apart)
        scale = scale_of(settings, running)
        score(scale, gamma, shares[:held], bias, coefficients, columns, out)
        if labels[q] < 0:
            continue
        running[SEEN] += 1
        if running[SEEN] == YOUNG:
            begin_anew(running, bias)
            held = 0
        if running[SEEN] <= SETTLED and held > 0:
            follow_distances(running, apart)
        any_push = False
        for e in range(experts):
            a, b = e * columns, (e + 1) * columns
            any_push |= pushes(row[LOSS], row[MULTICLASS], out[a:b], labels[q], push[a:b])
        if not any_push:
            continue
        if held == most:
            v = weakest(coefficients, stamps, held)
            if row[MAINTENANCE] == MERGING:
                merge(
                    v, held, gamma, vectors, norms, stamps, coefficients, at[:0], products, sums
                )  # fmt: skip
            running[MADE] += 1
        else:
            v = held
            running[HELD] += 1
        become(vectors[v], x, at)
        norms[v], stamps[v] = x_norm, running[SEEN]
        w = coefficients[v]
        for u in range(wide):
            w[u] = importance[q] * push[u]
            bias[u] += w[u]


@kernel
def scale_of(settings: Array, running: Array) -> Real:
    """Return s: what all coefficients are worth, after the steps so far."""
    return 1 / (settings[L2] * (max(1.0, running[SEEN]) + settings[T0]))


@kernel
def distances(products: Array, norms: Array, held: int, x_norm: Real, shares: Array) -> Real:
    """Fill shares with the squared distances to the vectors; returns their mean."""
    total = 0.0
    for v in range(held):
        distance = max(0.0, x_norm + norms[v] - 2 * products[v])
        total += distance
        shares[v] = distance
    return total / max(1, held)


@kernel
def follow_distances(running: Array, apart: Real) -> None:
    """Follow the squared distance that is usual, as a mean."""
    if running[SPREAD] == 0:
        running[SPREAD] = apart
        return
    since = running[SEEN] - (YOUNG if running[SEEN] > YOUNG else 0)
    running[SPREAD] += (apart - running[SPREAD]) / since


@kernel
def begin_anew(running: Array, bias: Array) -> None:
    """Forget the vectors, and what was learned over them."""
    running[HELD] = 0
    running[SPREAD] = 0
    for u in range(bias.size):
        bias[u] = 0


@kernel
def gamma_of(settings: Array, running: Array, apart: Real) -> Real:
    """Return the widest kernel's gamma: what was asked for, or 1 / the usual squared distance."""
    if settings[GAMMA] > 0:
        return settings[GAMMA]
    usual = running[SPREAD] if running[SPREAD] > 0 else apart
    return settings[BELL] / usual if usual > 0 else 0.0


@kernel
def score(
    scale: Real, gamma: Real, shares: Array, bias: Array, coefficients: Array, columns: int,
    out: Array,
) -> None:  # fmt: skip
    """Turn squared distances into the widest kernel, and into the scores of all widths."""
    copy_to(out, bias)
    for v in range(shares.size):
        share = math.exp(-gamma * shares[v])
        shares[v] = share
        w = coefficients[v]
        for begin in range(0, out.size, columns):
            for u in range(begin, begin + columns):
                out[u] += share * w[u]
            share *= share
            share *= share
    for u in range(out.size):
        out[u] *= scale
