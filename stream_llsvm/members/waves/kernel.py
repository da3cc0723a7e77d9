"""Waves: least squares over random Fourier features, solved exactly as records come.

    phi_j  = cos(2 pi (phase_j + f_j . x / sqrt(S)))          S: the running mean of |x|^2
    H_c    = w_c . phi
    g      = P phi,  r = phi . g,  d = 1 / importance + r
    w_c   += g (t_c - H_c) / d                     t_c: 1 for the label, 0; with two classes 1, -1
    P     -= g g' / d,  P_jj += 3e-7 up to 3       P: what is not yet known of the weights

That is recursive least squares in the space of a Gaussian kernel: where a gradient's step takes
the records one after the other, this has all of them behind every weight. A record costs as many
multiply-adds as P has numbers, so only those are learned that some score is off by 0.8 or more.
The little that P grows by lets the weights follow a stream, and keeps rounding from making a
certainty of it. The first wave has no frequency: it is the bias.
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import numpy as np

from stream_llsvm.kernels.chunk import Chunk, row_of
from stream_llsvm.kernels.compile import Array, Real, kernel, member_kernel
from stream_llsvm.kernels.linear import scores_of
from stream_llsvm.kernels.sections import scratch, state, views
from stream_llsvm.kernels.vectors import add_multiple, square_of
from stream_llsvm.kernels.views import flat

SEEN, SPREAD = range(2)

#: What nothing is known of varies by so much; and by so much more with each record learned.
FIRST, MORE = 3.0, 3e-7
SURPRISE = 0.8
SLOWEST = 0.001
#: Until then records lie where the first few guesses of the scales put them: nothing is learned.
YOUNG = 20
#: Of the first records all others are learned.
EAGER = 200
MOST_WEIGHT = 1e3
# cos(2 pi r) by powers of r^2, for r from -1/2 to 1/2: Chebyshev's interpolation.
C0, C1, C2, C3 = 0.9999999889445765, -19.739204466576158, 64.93911592834692, -85.45011342750767
C4, C5, C6 = 60.16742979194585, -25.966884612550658, 6.527705962902734


class WavesState(NamedTuple):
    """What a waves member keeps, by name."""

    first_expert: int
    waves: int
    running: Annotated[Array, state("f8", 8)]
    frequencies: Annotated[Array, state("f4", "width", "waves")]
    phases: Annotated[Array, state("f4", "waves")]
    weights: Annotated[Array, state("f4", "columns", "waves")]
    #: P: what is not yet known of the weights.
    variance: Annotated[Array, state("f4", "waves", "waves")]
    #: phi of the record, P phi, and how far each score is from its target.
    codes: Annotated[Array, scratch("f4", "waves")]
    gain: Annotated[Array, scratch("f4", "waves")]
    errors: Annotated[Array, scratch("f4", "columns")]


@member_kernel
def run(state: Array, scratch: Array, plan: Array, member: int, chunk: Chunk) -> None:
    """Score each row, then learn from it if it has a label and surprises."""
    m = views(WavesState, state, scratch, plan, member)
    if m.waves == 0:
        return
    running, everywhere = m.running, chunk.columns[:0]
    for q in range(chunk.labels.size):
        x, at = row_of(chunk, q)
        out = flat(chunk.scores[q, m.first_expert : m.first_expert + 1])
        square = float(square_of(x))
        if not chunk.scored and running[SEEN] < YOUNG:
            out[:] = 0
        elif not chunk.scored:
            ripple(m, x, at, 1 / math.sqrt(running[SPREAD] + 1e-9))
            scores_of(m.weights, m.codes, everywhere, out)
        if chunk.labels[q] < 0:
            continue
        running[SEEN] += 1
        running[SPREAD] += max(SLOWEST, 1 / running[SEEN]) * (square - running[SPREAD])
        if running[SEEN] <= YOUNG:
            continue
        if surprise(out, chunk.labels[q], m.errors) >= SURPRISE or running[SEEN] <= EAGER:
            scores_of(m.variance, m.codes, everywhere, m.gain)
            learn(m, min(chunk.importance[q], MOST_WEIGHT))


@kernel
def ripple(m: WavesState, x: Array, at: Array, factor: Real) -> None:
    """Fill codes with each wave's height at the record."""
    codes = m.codes
    for j in range(codes.size):
        codes[j] = m.phases[j]
    for t in range(x.size):
        add_multiple(codes, m.frequencies[at[t] if at.size > 0 else t], factor * x[t])
    for j in range(codes.size):
        codes[j] = wave(codes[j])


@kernel
def wave(turns: Real) -> Real:
    """cos(2 pi turns), right to a millionth: a polynomial of the square of what is left of it.

    Unlike the library's cosine, the compiler can take eight at a time.
    """
    rest = turns - np.floor(turns + np.float32(0.5))
    t = rest * rest
    height = np.float32(C6)
    height = height * t + np.float32(C5)
    height = height * t + np.float32(C4)
    height = height * t + np.float32(C3)
    height = height * t + np.float32(C2)
    height = height * t + np.float32(C1)
    return height * t + np.float32(C0)


@kernel
def surprise(out: Array, label: int, errors: Array) -> Real:
    """Fill errors with how far each score is from its target; returns the largest."""
    if out.size == 1:
        errors[0] = (np.float32(1) if label == 1 else np.float32(-1)) - out[0]
        return abs(errors[0])
    largest = np.float32(0)
    for c in range(out.size):
        errors[c] = (np.float32(1) if label == c else np.float32(0)) - out[c]
        largest = max(largest, abs(errors[c]))
    return largest


@kernel
def learn(m: WavesState, importance: Real) -> None:
    """One step of recursive least squares; ``gain`` is variance times codes."""
    weights, variance, codes, gain, errors = m.weights, m.variance, m.codes, m.gain, m.errors
    reach = np.float32(0)
    for j in range(codes.size):
        reach += codes[j] * gain[j]
    if not reach >= 0:
        know_nothing(variance)  # rounding has made less than nothing of it
        return
    divisor = np.float32(1 / importance) + reach
    for c in range(errors.size):
        add_multiple(weights[c], gain, errors[c] / divisor)
    part = 1 / np.sqrt(divisor)
    for j in range(gain.size):
        gain[j] *= part
    for i in range(gain.size):
        # Of the same two factors on both sides of the diagonal: it stays symmetric to the bit.
        add_multiple(variance[i], gain, -gain[i])
        if variance[i, i] < np.float32(FIRST):
            variance[i, i] += np.float32(MORE)


@kernel
def know_nothing(variance: Array) -> None:
    """Let all weights be as uncertain as at first, each by itself."""
    variance[:] = 0
    for i in range(variance.shape[0]):
        variance[i, i] = np.float32(FIRST)
