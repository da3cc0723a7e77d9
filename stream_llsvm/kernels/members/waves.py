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

import numpy as np

from stream_llsvm.kernels.jit import Array, Real, kernel, member_kernel
from stream_llsvm.kernels.linear import scores_of
from stream_llsvm.kernels.state import COLUMNS, FIRST_EXPERT, FIRST_SECTION, OWN, WIDTH
from stream_llsvm.kernels.vectors import add_multiple, square_of
from stream_llsvm.kernels.views import doubles, flat, floats

WAVES = OWN
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

LAYOUT = (
    ("running", "f8", (8,), "state"),
    ("frequencies", "f4", ("width", "waves"), "state"),
    ("phases", "f4", ("waves",), "state"),
    ("weights", "f4", ("columns", "waves"), "state"),
    ("variance", "f4", ("waves", "waves"), "state"),
    ("codes", "f4", ("waves",), "scratch"),
    ("gain", "f4", ("waves",), "scratch"),
    ("errors", "f4", ("columns",), "scratch"),
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
    """Score each row, then learn from it if it has a label and surprises."""
    row = plan[member]
    width, columns, waves = plan[0, WIDTH], plan[0, COLUMNS], row[WAVES]
    if waves == 0:
        return
    first = row[FIRST_EXPERT]
    o = row[FIRST_SECTION:]
    running = doubles(state, o[0], 8)
    frequencies = floats(state, o[1], (width, waves))
    phases = floats(state, o[2], waves)
    weights = floats(state, o[3], (columns, waves))
    variance = floats(state, o[4], (waves, waves))
    codes = floats(scratch, o[5], waves)
    gain = floats(scratch, o[6], waves)
    errors = floats(scratch, o[7], columns)
    everywhere = at_all[:0]
    for q in range(labels.size):
        x = z[starts[q] : starts[q + 1]]
        at = at_all[starts[q] : starts[q + 1]] if at_all.size > 0 else at_all
        out = flat(scores[q, first : first + 1])
        square = float(square_of(x))
        if not scored and running[SEEN] < YOUNG:
            out[:] = 0
        elif not scored:
            ripple(frequencies, phases, x, at, 1 / math.sqrt(running[SPREAD] + 1e-9), codes)
            scores_of(weights, codes, everywhere, out)
        if labels[q] < 0:
            continue
        running[SEEN] += 1
        running[SPREAD] += max(SLOWEST, 1 / running[SEEN]) * (square - running[SPREAD])
        if running[SEEN] <= YOUNG:
            continue
        if surprise(out, labels[q], errors) >= SURPRISE or running[SEEN] <= EAGER:
            scores_of(variance, codes, everywhere, gain)
            learn(weights, variance, codes, gain, errors, min(importance[q], MOST_WEIGHT))


@kernel
def ripple(
    frequencies: Array, phases: Array, x: Array, at: Array, factor: Real, codes: Array
) -> None:
    """Fill codes with each wave's height at the record."""
    for j in range(codes.size):
        codes[j] = phases[j]
    for t in range(x.size):
        add_multiple(codes, frequencies[at[t] if at.size > 0 else t], factor * x[t])
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
def learn(
    weights: Array, variance: Array, codes: Array, gain: Array, errors: Array, importance: Real
) -> None:
    """One step of recursive least squares; ``gain`` is variance times codes."""
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
