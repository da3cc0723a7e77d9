"""The budget member: kernelised Pegasos whose support vectors are bounded in number.

    f(x) = s (b + sum_v alpha_v k(x, x_v)),    s = 1 / (l2 (t - forgotten + t0))

A step of Pegasos, w <- (1 - eta l2) w + eta push phi(x) with eta = s, is to add the push to the
coefficients of the record: s alone knows the shrinking. With ``forgets`` steps are forgotten while
there are more errors than usual (``kernels/surprise.py``): s grows, and b and alpha become as much
smaller, so that f stays what it is. Records that push nothing
are no support vectors. Where there is no more room, ``maintenance.py`` makes some (Wang, Crammer,
Vucetic: Breaking the Curse of Kernelization, 2012). The bias is the coefficient of a constant 1.

Several widths of the RBF stand side by side over the same vectors, each with coefficients of its
own, learned on its own error; the mixer finds out which to believe. Each width's kernel is the
one before to the fourth power. The widest one's gamma is relative to the usual squared distance
between records and support vectors, which is measured on the first records and then stands.
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

from stream_llsvm.kernels.chunk import Chunk, row_of
from stream_llsvm.kernels.compile import Array, Real, kernel, member_kernel
from stream_llsvm.kernels.linear import copy_to, place_of_greatest, scores_of
from stream_llsvm.kernels.losses import pushes
from stream_llsvm.kernels.sections import scratch, state, views
from stream_llsvm.kernels.surprise import (
    FORGOTTEN,
    STEP_CLOCKS,
    forget_steps,
    kept_by_loss,
    least_steps,
)
from stream_llsvm.kernels.views import flat
from stream_llsvm.members.family.budget_svm.maintenance import MERGING, merge, weakest
from stream_llsvm.members.family.landmarks.projection import become

# Settings: the penalty, how far the first steps are shortened, gamma (0: found) and its factor.
L2, T0, GAMMA, BELL = range(4)
# Records learned, vectors held, how often room was made, and the usual squared distance.
SEEN, HELD, MADE, SPREAD = range(4)

#: Until then records lay where the first few guesses of the scales had put them.
YOUNG = 20
#: So many records say what distance is usual.
SETTLED = 500


class BudgetState(NamedTuple):
    """What a budgeted Pegasos keeps, by name."""

    columns: int
    first_expert: int
    experts: int
    loss: int
    multiclass: int
    n_vectors: int
    maintenance: int
    forgets: int
    settings: Annotated[Array, state("f8", 4)]
    running: Annotated[Array, state("f8", 4)]
    clock: Annotated[Array, state("f8", STEP_CLOCKS)]
    vectors: Annotated[Array, state("f4", "n_vectors", "width")]
    norms: Annotated[Array, state("f8", "n_vectors")]
    #: When each vector was learned.
    stamps: Annotated[Array, state("f8", "n_vectors")]
    bias: Annotated[Array, state("f4", ("experts", "columns"))]
    coefficients: Annotated[Array, state("f4", "n_vectors", ("experts", "columns"))]
    products: Annotated[Array, scratch("f4", "n_vectors")]
    shares: Annotated[Array, scratch("f4", "n_vectors")]
    push: Annotated[Array, scratch("f4", ("experts", "columns"))]
    sums: Annotated[Array, scratch("f8", "experts", 3)]


@member_kernel
def run(state: Array, scratch: Array, plan: Array, member: int, chunk: Chunk) -> None:
    """Score each row, in any case anew, then learn from it if it has a label."""
    m = views(BudgetState, state, scratch, plan, member)
    running, settings, push, columns = m.running, m.settings, m.push, m.columns
    for q in range(chunk.labels.size):
        x, at = row_of(chunk, q)
        label, importance = chunk.labels[q], chunk.importance[q]
        out = flat(chunk.scores[q, m.first_expert : m.first_expert + m.experts])
        x_norm = 0.0
        for i in range(x.size):
            x_norm += x[i] * x[i]
        held = int(running[HELD])
        scores_of(m.vectors[:held], x, at, m.products)
        apart = distances(m.products, m.norms, held, x_norm, m.shares)
        gamma = gamma_of(settings, running, apart)
        score(m, scale_of(settings, running, m.clock), gamma, m.shares[:held], out)
        if label < 0:
            continue
        running[SEEN] += 1
        if running[SEEN] == YOUNG:
            begin_anew(running, m.bias)
            held = 0
        if running[SEEN] <= SETTLED and held > 0:
            follow_distances(running, apart)
        if m.forgets == 1:
            forget(m, out, label, importance, int(running[HELD]))
        any_push = False
        for e in range(m.experts):
            a, b = e * columns, (e + 1) * columns
            any_push |= pushes(m.loss, m.multiclass, out[a:b], label, push[a:b])
        if not any_push:
            continue
        if held == m.n_vectors:
            v = weakest(m.coefficients, m.stamps, held)
            if m.maintenance == MERGING:
                merge(m, v, held, gamma, at[:0])
            running[MADE] += 1
        else:
            v = held
            running[HELD] += 1
        become(m.vectors[v], x, at)
        m.norms[v], m.stamps[v] = x_norm, running[SEEN]
        w = m.coefficients[v]
        for u in range(w.size):
            w[u] = importance * push[u]
            m.bias[u] += w[u]


@kernel
def scale_of(settings: Array, running: Array, clock: Array) -> Real:
    """Return s: what all coefficients are worth, after the steps so far."""
    return 1 / (settings[L2] * (max(1.0, running[SEEN] - clock[FORGOTTEN]) + settings[T0]))


@kernel
def forget(m: BudgetState, scores: Array, label: int, importance: Real, held: int) -> None:
    """Forget steps while more widths err than usual; the machines stay what they are."""
    columns, settings, wrong = m.columns, m.settings, 0.0
    for begin in range(0, scores.size, columns):
        own = scores[begin : begin + columns]
        best = place_of_greatest(own) if columns > 1 else int(own[0] > 0)
        wrong += 0.0 if best == label else 1.0
    keep = kept_by_loss(m.clock, wrong * columns / scores.size, False, importance)
    if keep == 1:
        return
    t0, before = settings[T0], scale_of(settings, m.running, m.clock)
    forget_steps(m.clock, m.running[SEEN], keep, least_steps(settings[L2], t0, 1))
    share = before / scale_of(settings, m.running, m.clock)
    if share < 1:
        for u in range(m.bias.size):
            m.bias[u] *= share
        for v in range(held):
            w = m.coefficients[v]
            for u in range(w.size):
                w[u] *= share


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
def score(m: BudgetState, scale: Real, gamma: Real, shares: Array, out: Array) -> None:
    """Turn squared distances into the widest kernel, and into the scores of all widths."""
    copy_to(out, m.bias)
    for v in range(shares.size):
        share = math.exp(-gamma * shares[v])
        shares[v] = share
        w = m.coefficients[v]
        for begin in range(0, out.size, m.columns):
            for u in range(begin, begin + m.columns):
                out[u] += share * w[u]
            share *= share
            share *= share
    for u in range(out.size):
        out[u] *= scale
