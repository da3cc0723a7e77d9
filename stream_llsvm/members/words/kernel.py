"""Words: a few numbers a name, and four experts that read them side by side.

For records that name few of many: columns of sparse rows, and tokens of texts and lists. x_i is the
scaled value of what a record names, 1 for a token; c is a class, and of two classes there is one
score, of the second against the first.

    H_c   = b_c + sum_i w_ic x_i                             AdaGrad, with steps of 0.1 and of 0.5
    g_ic  = ([c is the label] - softmax(H)_c) x_i
    G_ic += g_ic^2
    w_ic += step g_ic / sqrt(G_ic + 1e-6)

    H_c   = log(N_c + a) + sum_i (log(n_ic + a) - log(N_c + 2 a))     naive Bayes, a = 0.1
    n_ic, N_c  count records of class c, those that name i and all; each record fades by 0.9995
               with each that comes after it. What was never named says nothing.

    H_c   = b_c + sum_i m_ic x_i                             AROW, each class against the rest
    part  = 1 / (1 + v_b + sum_i v_ic x_i^2),   short = max(0, 1 - y H_c),   y = +1 or -1
    m_ic += y short part v_ic x_i,   v_ic -= part (v_ic x_i)^2        if short > 0; v at first 1

The bias learns as a name with x = 1 that is in every record. Steps of its own for each name are
what texts need: rare names, long ones; a mean of weights over time is worse there. A record that
counts w times adds w g^2 to G and takes w steps; AROW's part is then w / (w energy + 1).

A name's numbers stand side by side, in one row of a table: to ask for it is one look into memory.
Tokens have no column: they are hashed, with their field, into rows of their own. On dense rows, and
where a record names nothing that it keeps, the member says nothing and learns nothing.
"""

from __future__ import annotations

import math

import numpy as np

from stream_llsvm.kernels.boxes import FIRST_BOX, content_of, kind_of
from stream_llsvm.kernels.chunk import Chunk, row_of
from stream_llsvm.kernels.compile import Array, Real, inlined, kernel, member_kernel
from stream_llsvm.kernels.losses import CRAMMER_SINGER, LOGISTIC, pushes
from stream_llsvm.kernels.sections import views
from stream_llsvm.kernels.views import bits_of
from stream_llsvm.members.contexts.table import key_of, mixed
from stream_llsvm.members.words.state import (
    COLUMN,
    CONFIDENT,
    COUNTS,
    ENERGY,
    EXPERTS,
    LEFT,
    LOGS,
    LONG,
    LONG_WEIGHT,
    MEAN,
    MOST_TOKENS,
    N_TOKENS,
    NUMBERS,
    PART,
    PRODUCT,
    PUSHES,
    RESTING,
    ROW,
    SHORT,
    SPOKE,
    SPREAD,
    SQUARES,
    SUMS,
    TOKENS,
    UNIT,
    WEIGHT,
    WordsState,
)

ONE = np.float32(1)
SHORT_STEP, LONG_STEP, LEAST_SQUARES = np.float32(0.1), np.float32(0.5), np.float32(1e-6)
ALPHA, FADE = 0.1, 0.9995
#: AROW's r: how slowly it becomes sure.
SLOWNESS = np.float32(1)
#: Bounds, for records that are said to count as much as millions.
MOST_WEIGHT, MOST_COUNTED = np.float32(1e4), 1e3
#: When the unit of counting has grown so large, all counts are divided by it.
MOST_UNIT = 1e20
#: So many shares are multiplied before a logarithm is taken: none comes near what has no room.
AT_ONCE = 8


@inlined
def find_tokens(m: WordsState, values: Array, columns: Array) -> None:
    """Find the rows of a record's tokens."""
    bits, n = bits_of(values), 0
    for t in range(bits.size):
        if bits[t] >= FIRST_BOX and n < MOST_TOKENS:
            key = key_of(m.hashes[columns[t]], kind_of(bits[t]), content_of(bits[t]))
            m.tokens[ROW, n], m.tokens[COLUMN, n] = 1 + (mixed(key) & (m.cells - 1)), columns[t]
            n += 1
    m.found[N_TOKENS] = n


@inlined
def row_of_name(m: WordsState, i: int, z: Array, at: Array) -> int:
    """Return the row of what a record names in place i; -1 if that says nothing.

    First comes the bias, then tokens, then numbers in columns.
    """
    if i == 0:
        return 0
    t = i - 1 - m.found[N_TOKENS]
    if t < 0:
        return int(m.tokens[ROW, i - 1])
    return 1 + m.cells + at[t] if at[t] < m.named and z[t] != 0 else -1


@inlined
def score(m: WordsState, z: Array, at: Array, out: Array) -> None:
    """Fill in what the experts say of a record; all 0 if it names nothing."""
    sums, logs, columns, classes = m.sums, m.logs, m.columns, m.classes
    sums[:] = 0
    for c in range(classes):
        logs[LOGS, c], logs[PRODUCT, c] = math.log(m.totals[c] / m.running[UNIT] + ALPHA), 1.0
    tokens, names, known = m.found[N_TOKENS], -1, 0
    for i in range(1 + tokens + z.size):
        row = row_of_name(m, i, z, at)
        if row < 0:
            continue
        names += 1
        w, x = m.table[row], z[i - 1 - tokens] if i > tokens else ONE
        for c in range(columns):
            sums[SUMS, c] += w[WEIGHT * columns + c] * x
            sums[SUMS + 1, c] += w[LONG_WEIGHT * columns + c] * x
            sums[SUMS + 2, c] += w[MEAN * columns + c] * x
            sums[ENERGY, c] += (ONE + w[SPREAD * columns + c]) * x * x
        known = take_counts(m, w[NUMBERS * columns :], known)
    m.found[SPOKE] = 1 if names > 0 else 0
    if names <= 0:
        out[:] = 0
        return
    take_logarithms(logs)
    for c in range(classes):
        logs[LOGS, c] -= known * math.log(m.totals[c] / m.running[UNIT] + 2 * ALPHA)
    for c in range(columns):
        out[SHORT, c], out[LONG, c] = sums[SUMS, c], sums[SUMS + 1, c]
        out[COUNTS, c], out[CONFIDENT, c] = logs[LOGS, c], sums[SUMS + 2, c]
    if columns == 1:
        out[COUNTS, 0] = logs[LOGS, 1] - logs[LOGS, 0] if classes > 1 else 0.0


@inlined
def take_counts(m: WordsState, counts: Array, known: int) -> int:
    """Take a name's counts into the logs; returns how many names so far have any."""
    logs, total = m.logs, np.float32(0)
    for c in range(m.classes):
        total += counts[c]
    if total == 0:
        return known
    for c in range(m.classes):
        logs[PRODUCT, c] *= counts[c] / m.running[UNIT] + ALPHA
    if (known + 1) % AT_ONCE == 0:
        take_logarithms(logs)
    return known + 1


@kernel
def take_logarithms(logs: Array) -> None:
    """Take the products so far into the sums of logarithms."""
    for c in range(logs.shape[1]):
        logs[LOGS, c] += math.log(logs[PRODUCT, c])
        logs[PRODUCT, c] = 1.0


@inlined
def find_pushes(m: WordsState, out: Array, label: int, importance: Real) -> None:
    """Find how the label pushes each linear expert: none, where it is sure enough."""
    sums, columns = m.sums, m.columns
    pushes(LOGISTIC, CRAMMER_SINGER, out[SHORT], label, sums[PUSHES])
    pushes(LOGISTIC, CRAMMER_SINGER, out[LONG], label, sums[PUSHES + 1])
    for c in range(columns):
        y = ONE if label == (c if columns > 1 else 1) else -ONE
        short = max(ONE - y * out[CONFIDENT, c], np.float32(0))
        sums[PART, c] = importance / (importance * sums[ENERGY, c] + SLOWNESS)
        sums[PUSHES + 2, c] = y * short * sums[PART, c]


@inlined
def learn(m: WordsState, w: Array, x: Real, importance: Real) -> None:
    """Step the linear experts' numbers of a name."""
    sums, columns, left = m.sums, m.columns, np.float32(m.running[LEFT])
    for c in range(columns):
        for e in range(2):
            slope = sums[PUSHES + e, c] * x
            if slope != 0:
                i = (LONG_WEIGHT if e == 1 else WEIGHT) * columns + c
                j = i + (SQUARES - WEIGHT) * columns
                w[j] += importance * slope * slope
                step = left * importance * (LONG_STEP if e == 1 else SHORT_STEP)
                moved = w[i] + step * slope / np.sqrt(w[j] + LEAST_SQUARES)
                w[i] = min(max(moved, -MOST_WEIGHT), MOST_WEIGHT)
        if sums[PUSHES + 2, c] != 0:
            i, j = MEAN * columns + c, SPREAD * columns + c
            pull = (ONE + w[j]) * x
            moved = w[i] + sums[PUSHES + 2, c] * pull
            w[i] = min(max(moved, -MOST_WEIGHT), MOST_WEIGHT)
            w[j] = max(w[j] - sums[PART, c] * pull * pull, -ONE)


@inlined
def learn_row(m: WordsState, z: Array, at: Array, label: int, importance: Real) -> None:
    """Learn a record from its label, and from what that pushes."""
    running, tokens = m.running, m.found[N_TOKENS]
    steps, add = running[LEFT] > 0, np.float32(0)
    if running[RESTING] == 0:
        running[UNIT] /= FADE
        add = np.float32(running[UNIT] * min(importance, MOST_COUNTED))
        m.totals[label] += add
    if tokens > 0:
        running[TOKENS] = 1
    for i in range(1 + tokens + z.size):
        row = row_of_name(m, i, z, at)
        if row < 0:
            continue
        w, x = m.table[row], z[i - 1 - tokens] if i > tokens else ONE
        if steps:
            learn(m, w, x, np.float32(importance))
        if i > 0:
            w[NUMBERS * m.columns + label] += add
    if running[UNIT] > MOST_UNIT:
        count_anew(m)


@kernel
def count_anew(m: WordsState) -> None:
    """Let the unit of counting be 1 again."""
    for c in range(m.classes):
        m.totals[c] /= m.running[UNIT]
    for i in range(0 if m.running[TOKENS] == 1 else m.cells, m.table.shape[0]):
        counts = m.table[i, NUMBERS * m.columns :]
        for c in range(counts.size):
            counts[c] = np.float32(counts[c] / m.running[UNIT])
    m.running[UNIT] = 1.0


@member_kernel
def run(state: Array, scratch: Array, plan: Array, member: int, chunk: Chunk) -> None:
    """Score each row, then learn from it if it has a label."""
    m = views(WordsState, state, scratch, plan, member)
    first, n = m.first_expert, chunk.labels.size
    if chunk.value_columns.size == 0:
        m.found[SPOKE] = 0
        chunk.scores[:n, first : first + EXPERTS] = 0
        return
    for q in range(n):
        out = chunk.scores[q, first : first + EXPERTS]
        z, at = row_of(chunk, q)
        if not chunk.scored:
            begin, end = chunk.value_starts[q], chunk.value_starts[q + 1]
            find_tokens(m, chunk.values[begin:end], chunk.value_columns[begin:end])
            score(m, z, at, out)
        label = chunk.labels[q]
        if label >= 0 and m.found[SPOKE] == 1:
            find_pushes(m, out, label, np.float32(chunk.importance[q]))
            learn_row(m, z, at, label, chunk.importance[q])
