"""A correction for each key: a small Bayesian logistic machine a key, on top of a global model.

    s_c  = T0(age) log p_c + T1(age) c_c       p: the global model's; the answer is softmax(s)
    c_c  = b_c + w_c . z                       of the record's key; one c for two classes
    g    = truth - softmax(log p + c)          what is left to explain
    w   += g z / (1 / PRIOR + h)               h = keep h + q (1 - q) z^2, a diagonal posterior
    T   += RATE g' f / sqrt(FIRST_EFFORT + faded sum of (g' f)^2)   g' = truth - softmax(s)

``keep`` is 1, and less while the key surprises its own machine (``surprise.py``): so a key that
changes is learned anew, however long it was the same.

The prior of every weight is N(0, PRIOR): a key that is new is the global model, and one with few
records moves little. How far a key of that age is to be believed, T1, and how far the global model
beside it, T0, all keys learn together: an age is the logarithm of how many records a key has had.

Scales are the bank's own, so that an answer hangs on nothing but the records before it.
"""

from __future__ import annotations

import math

from stream_llsvm.kernels.compile import Array, Real, entry, kernel
from stream_llsvm.kernels.fetch import AHEAD, fetch_row
from stream_llsvm.kernels.linear import place_of_greatest
from stream_llsvm.kernels.mixer import softmax
from stream_llsvm.kernels.scaling import is_due, observe, scaled
from stream_llsvm.kernels.surprise import FLOOR, kept_by_chance

#: Rows of ``trust``: in the global model and in the key, and the squared gradients of both.
IN_MODEL, IN_KEY, MODEL_EFFORT, KEY_EFFORT = range(4)
TRUST_ROWS = 4
#: Rows of ``tallies``, by age: answers whose label came, those that were right, and those of the
#: global model that were.
ANSWERS, RIGHT, MODEL_RIGHT = range(3)
TALLIES = 3
#: A key has had less than 1, 2, 4, ... records; of the last age are all from 1,024 on.
AGES = 12
PRIOR, BIAS_PRIOR = 0.1, 0.5
#: A key that has seen only what it was sure of still becomes surer of itself.
LEAST_CURVATURE = 0.02
RATE, FIRST_EFFORT, FADE = 0.1, 10.0, 0.9995
LEAST_TRUST, MOST_TRUST = 0.1, 10.0
#: A key is believed by half at first: of twelve streams none then lost more than 0.07 points in its
#: first 3,000 records (0.97 if it is believed wholly), and in the end all are as good or better.
FIRST_TRUST_IN_KEY = 0.5
#: Of a key's ``facts`` the lower bits say how many records it has had, at most so many; the upper
#: ones when it was last used: how many records all keys had learned by then.
COUNT_BITS = 16
MOST_COUNTED = (1 << COUNT_BITS) - 1


@kernel
def age_of(count: int) -> int:
    """Return the age of a key that has had so many records."""
    age = 0
    while count > 0 and age < AGES - 1:
        count >>= 1
        age += 1
    return age


@kernel
def list_features(
    statistics: Array, standardize: bool, values: Array, columns: Array, z: Array, which: Array
) -> int:
    """List what a record says of the features that keys know; returns how many these are."""
    n = 0
    for t in range(values.size):
        i = columns[t] if columns.size > 0 else t
        if i < statistics.shape[0]:
            size = scaled(statistics, i, values[t], standardize)
            if size != 0:
                z[n], which[n] = size, i
                n += 1
    return n


@kernel
def observe_features(statistics: Array, seen: Real, values: Array, columns: Array) -> None:
    """Learn the scales from one record."""
    due = is_due(seen, statistics.shape[0])
    for t in range(values.size):
        i = columns[t] if columns.size > 0 else t
        if i < statistics.shape[0]:
            observe(statistics, i, values[t], seen, due, due)


@kernel
def correct(row: Array, width: int, z: Array, which: Array, own: Array) -> None:
    """Fill ``own`` with what a key adds to each class's score; two classes share one machine."""
    columns = row.size // (2 * width)
    for c in range(columns):
        w = row[2 * c * width : (2 * c + 1) * width]
        total = float(w[0])
        for t in range(z.size):
            total += w[1 + which[t]] * z[t]
        own[c if columns > 1 else 1] = total


@kernel
def learn_key(
    row: Array,
    width: int,
    z: Array,
    which: Array,
    chance: Array,
    label: int,
    importance: Real,
    keep: Real,
) -> None:
    """One step of each of a key's machines; ``chance`` are the probabilities."""
    columns = row.size // (2 * width)
    for c in range(columns):
        k = c if columns > 1 else 1
        g, q = importance * ((1.0 if k == label else 0.0) - chance[k]), chance[k]
        curvature = importance * max(q * (1 - q), LEAST_CURVATURE)
        w = row[2 * c * width : (2 * c + 1) * width]
        h = row[(2 * c + 1) * width : (2 * c + 2) * width]
        if keep < 1:
            for i in range(width):
                h[i] *= keep
        h[0] += curvature
        w[0] += g / (1 / BIAS_PRIOR + h[0])
        for t in range(z.size):
            i = 1 + which[t]
            h[i] += curvature * z[t] * z[t]
            w[i] += g * z[t] / (1 / PRIOR + h[i])


@kernel
def answer(trust: Array, age: int, told: Array, own: Array, chance: Array) -> int:
    """Fill ``chance`` with what model and key say together; returns the likeliest class."""
    for c in range(told.size):
        chance[c] = trust[IN_MODEL, age] * told[c] + trust[IN_KEY, age] * own[c]
    best = place_of_greatest(chance)
    softmax(chance)
    return best


@kernel
def learn_trust_in_key(
    trust: Array, age: int, told: Array, own: Array, chance: Array, label: int, importance: Real
) -> None:
    """One step on how far a key of this age and the global model beside it are believed."""
    by_model, by_key = told[label], own[label]
    for c in range(told.size):
        by_model -= chance[c] * told[c]
        by_key -= chance[c] * own[c]
    for row, gradient in ((IN_MODEL, by_model), (IN_KEY, by_key)):
        effort = row + MODEL_EFFORT - IN_MODEL
        trust[effort, age] = FADE * trust[effort, age] + gradient * gradient
        step = importance * RATE * gradient / math.sqrt(FIRST_EFFORT + trust[effort, age])
        least = LEAST_TRUST if row == IN_MODEL else 0.0
        trust[row, age] = min(max(trust[row, age] + step, least), MOST_TRUST)


@entry
def run_bank(
    keys: Array,
    facts: Array,
    clocks: Array,
    trust: Array,
    tallies: Array,
    statistics: Array,
    standardize: bool,
    values: Array,
    columns: Array,
    starts: Array,
    slots: Array,
    labels: Array,
    importance: Array,
    proba: Array,
    likeliest: Array,
    scratch: Array,
    which: Array,
) -> None:
    """Correct the global model's answer to each row, and learn from it if it has a label.

    Parameters
    ----------
    keys
        (slots, machines * 2 * (features + 1)): of each machine its bias and weights, then how much
        each has learned.
    facts
        (slots,): how many records a key has had, and when it was last used.
    clocks
        (slots, CLOCKS): how far each key surprises its own machine.
    trust, tallies
        (TRUST_ROWS, AGES) and (TALLIES, AGES).
    statistics
        (features, STATISTICS): the scales; only the first features are known to keys.
    standardize
        Whether features are scaled.
    values, columns, starts
        The rows, dense or sparse, as `kernels.run.run` takes them.
    slots
        The place of each row's key, -1 of one that has none.
    labels
        The code of each row's label, -1 where there is none.
    importance
        How much each row counts.
    proba
        (n, classes): in, what the global model says (0: a class that it did not know yet); out, the
        answer.
    likeliest
        Filled with the likeliest class of each.
    scratch, which
        (3, features or classes) and (features,).

    """
    n, classes, width = slots.size, proba.shape[1], statistics.shape[0] + 1
    sparse = starts.size > 0
    d = 0 if sparse or n == 0 else values.size // n
    told, own = scratch[0, :classes], scratch[1, :classes]
    taught = 0
    for age in range(AGES):
        taught += tallies[ANSWERS, age]
    for q in range(n):
        if q + AHEAD < n and slots[q + AHEAD] >= 0:
            fetch_row(keys, slots[q + AHEAD])
            fetch_row(facts, slots[q + AHEAD])
            fetch_row(clocks, slots[q + AHEAD])
        begin, end = (starts[q], starts[q + 1]) if sparse else (q * d, (q + 1) * d)
        x, at = values[begin:end], columns[begin:end] if sparse else columns
        p, label, slot = proba[q], labels[q], slots[q]
        first = place_of_greatest(p)
        for c in range(classes):
            told[c], own[c] = math.log(max(p[c], FLOOR)), 0.0
        known = list_features(statistics, standardize, x, at, scratch[2], which)
        z, named = scratch[2, :known], which[:known]
        count = 0
        if slot >= 0:
            count = facts[slot] & MOST_COUNTED
            correct(keys[slot], width, z, named, own)
        age = age_of(count)
        surprised = label >= 0 and p[label] == 0  # nobody knew of the class
        best = answer(trust, age, told, own, p)
        likeliest[q] = best
        if label >= 0:
            if slot >= 0 and not surprised and classes > 1:
                learn_trust_in_key(trust, age, told, own, p, label, importance[q])
                for c in range(classes):
                    told[c] += own[c]
                    own[c] = told[c]
                softmax(own)
                keep = kept_by_chance(clocks[slot], told, own, label, importance[q])
                learn_key(keys[slot], width, z, named, own, label, importance[q], keep)
            taught += 1
            tallies[ANSWERS, age] += 1
            tallies[RIGHT, age] += 1 if best == label and not surprised else 0
            tallies[MODEL_RIGHT, age] += 1 if first == label and not surprised else 0
            count = min(count + 1, MOST_COUNTED)
            observe_features(statistics, taught, x, at)
        if slot >= 0:
            facts[slot] = (taught << COUNT_BITS) | count
