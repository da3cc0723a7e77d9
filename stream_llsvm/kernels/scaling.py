"""Feature scaling, learned on the fly: z = (x - centre) * inverse, bent towards a bound.

Nothing here trusts a single record; many in a row are followed, see levels.py. A deviation counts
at most as eight standard deviations, so that one 1e30 widens a feature's scale by a factor, not for
ever. Up to two standard deviations z is straight, beyond it bends towards 2.5: near-constant
features must not shout (clipped at three, the mean accuracy was 0.2 points lower than at two), and
where a feature has a long tail the order of its values still tells (clipped at two, the mean was
0.1 points lower, magic04 0.16).

A feature is either dense or sparse. A dense feature is centred on its mean, and a missing value
takes that mean: z = 0. A feature is sparse if fewer than half of the records name it (a word of a
text), or if it has one value whenever it is named: to be named at all is its information, absence
means nothing, so its centre is 0 and its scale the root mean square of the values seen. Either way
what a record does not name costs nothing.

Among many features, to have the value 0 is like not to be named: most pixels of a picture are 0,
and what is 0 there can be passed over. Among few that would save nothing, and it costs some
accuracy: centred features are easier to learn from (half a point where half of all values are 0).
"""

from __future__ import annotations

import math

import numpy as np

from stream_llsvm.kernels.boxes import FIRST_BOX
from stream_llsvm.kernels.compile import Array, Real, entry, kernel
from stream_llsvm.kernels.levels import (
    OUTLIER,
    RUN_MEAN,
    RUN_VARIANCE,
    SETTLED,
    WATCHED,
    forget,
    watch,
)
from stream_llsvm.kernels.views import bits_of

COUNT, MEAN, VARIANCE, CENTRE, INVERSE, NAMED, BORN = range(7)
STATISTICS = 7 + WATCHED
NEVER_NEGATIVE = [COUNT, VARIANCE, INVERSE, NAMED, BORN, RUN_VARIANCE]

Z_STRAIGHT = 2.0
Z_MOST = 2.5
# What rows hold is computed in 4-byte floats: a division of 8-byte ones takes thrice as long.
_STRAIGHT, ROOM, FARTHEST = (
    np.float32(Z_STRAIGHT),
    np.float32(Z_MOST - Z_STRAIGHT),
    np.float32(1e6),
)
#: What a value that lies on the centre becomes: 0 is kept for what says nothing.
ON_CENTRE = 1e-30
RAW_CLIP = 1e6
YOUNG = 1000
SLOWEST = 1e-5
THINNING, THINNING_AMONG_MANY = 8, 32
#: From so many features on a 0 is as if the feature were not named.
MANY = 128
#: Among many features one that came late was absent before: from so many records at most.
ABSENT_BEFORE = 100
ABSENT = -np.inf


@kernel
def scaled(statistics: Array, i: int, v: Real, standardize: bool) -> Real:
    """Return the scaled value of v, by a feature's statistics; a pure function of both.

    While a feature is young, v itself counts as already seen: the first records then get sensible
    values (three points of accuracy in the first quarter of a short stream).
    """
    if not standardize:
        return as_it_is(v, statistics.shape[0] >= MANY)
    centre, inverse = statistics[i, CENTRE], statistics[i, INVERSE]
    if statistics[i, COUNT] < YOUNG and v - v == 0:
        rate = 1 / (statistics[i, COUNT] + 1)
        delta = bounded(statistics, i, v)
        mean = statistics[i, MEAN] + rate * delta
        variance = statistics[i, VARIANCE] + rate * (
            (1 - rate) * delta * delta - statistics[i, VARIANCE]
        )
        sparse = centre == 0 and inverse > 0 and statistics[i, MEAN] != 0
        sparse |= statistics[i, COUNT] == 0 and absent_before(statistics, i) > 0
        if sparse:
            variance += mean * mean
            mean = 0.0
        centre = mean
        inverse = 1 / math.sqrt(variance) if variance > 1e-24 * mean * mean else 0.0
    return standing(v, centre, inverse, statistics.shape[0] >= MANY)


# The next two are written without branches, for long rows.
@kernel
def as_it_is(v: Real, among_many: bool) -> Real:
    """Return v within bounds, 0 if it is missing."""
    z = min(max(v, -RAW_CLIP), RAW_CLIP)
    z = ON_CENTRE if z == 0 and not among_many else z
    return z if v - v == 0 else 0.0


@kernel
def standing(v: Real, centre: Real, inverse: Real, among_many: bool) -> Real:
    """Where v stands by a centre and one over a scale; 0 if it is missing or a constant."""
    z = bent(np.float32((v - centre) * inverse))
    blank = inverse == 0 or (among_many and v == 0)
    z = np.float32(ON_CENTRE) if z == 0 and not blank else z
    return z if v - v == 0 else np.float32(0)


@kernel
def bent(z: Real) -> Real:
    """Return z as it is while it is small, and bent towards a bound beyond, with no kink."""
    straight = min(max(z, -_STRAIGHT), _STRAIGHT)
    far = min(max(z - straight, -FARTHEST), FARTHEST)
    return straight + ROOM * far / (ROOM + abs(far))


@kernel
def take_shares(shares: Array, columns: Array, z: Array) -> None:
    """Let each value of a row count by its column's share; of a dense row there are no columns.

    A field with thirty names is one field: its columns, each brought to variance 1, would drown
    the numbers in every distance (and did: to 0.9 points where numbers decide).
    """
    for t in range(z.size):
        z[t] *= shares[columns[t] if columns.size > 0 else t]


@kernel
def bounded(statistics: Array, i: int, v: Real) -> Real:
    """How far v lies from the mean, as far as it may count."""
    delta = v - statistics[i, MEAN]
    square = OUTLIER * OUTLIER * statistics[i, VARIANCE]
    if statistics[i, COUNT] >= SETTLED and square > 0 and delta * delta > square:
        return math.copysign(math.sqrt(square), delta)
    return delta


@kernel
def observe(statistics: Array, i: int, v: Real, seen: Real, due: bool, watched: bool) -> None:
    """Learn the feature's scale from the value v of the record that is number ``seen``.

    A feature that has been seen a thousand times looks at one record in eight, and among many
    features at one in thirty-two, which stands for all of them: with hundreds of features the
    scales would else cost more than the anchors.
    """
    if v == ABSENT:
        return
    stands_for = 1
    if statistics[i, COUNT] >= YOUNG:
        if not due:
            return
        stands_for = thinning(statistics.shape[0])
    if v != 0 or statistics.shape[0] < MANY:
        statistics[i, NAMED] += stands_for
    if v - v != 0:
        return
    v = min(max(v, -1e100), 1e100)
    statistics[i, COUNT] += 1
    rate = max(1 / statistics[i, COUNT], SLOWEST)
    delta = bounded(statistics, i, v)
    old = statistics[i, MEAN], statistics[i, VARIANCE]
    statistics[i, MEAN] += rate * delta
    statistics[i, VARIANCE] += rate * ((1 - rate) * delta * delta - statistics[i, VARIANCE])
    if watched and statistics[i, COUNT] > SETTLED:
        run = watch(statistics[i], v, *old)
        if run > 0:
            statistics[i, COUNT] = run
            statistics[i, MEAN] = statistics[i, RUN_MEAN]
            statistics[i, VARIANCE] = statistics[i, RUN_VARIANCE]
            forget(statistics[i])
    mean, variance = statistics[i, MEAN], statistics[i, VARIANCE]
    age = seen - statistics[i, BORN] + absent_before(statistics, i)
    if 2 * statistics[i, NAMED] < age or (variance == 0 and statistics[i, NAMED] < age):
        statistics[i, CENTRE] = 0.0
        variance += mean * mean
    else:
        statistics[i, CENTRE] = mean
    statistics[i, INVERSE] = 1 / math.sqrt(variance) if variance > 1e-24 * mean * mean else 0.0


@kernel
def absent_before(statistics: Array, i: int) -> Real:
    """How many records count as having come without the feature before it was first named.

    Among many features: a new word of a text is sparse from birth on, and says something the first
    time. Few features that come late (a new sensor) are dense from birth on.
    """
    late = min(statistics[i, BORN], ABSENT_BEFORE)
    return late if statistics.shape[0] >= MANY else 0.0


@kernel
def scale_row(
    statistics: Array, standardize: bool, values: Array, columns: Array, out: Array
) -> None:
    """Scale one record; of a sparse one only what is no box, one behind the other."""
    sparse, bits, at = columns.size > 0, bits_of(values), 0
    for t in range(values.size):
        if sparse and bits[t] >= FIRST_BOX:
            continue
        i = columns[t] if sparse else t
        out[at] = scaled(statistics, i, values[t], standardize)
        at += 1


@kernel
def put_side_by_side(statistics: Array, scales: Array) -> bool:
    """Lay out all centres, then all scales, for ``scale_settled``.

    Returns whether every feature has been seen so often that its scale is settled: records that
    are not due then teach the scales nothing.
    """
    settled = True
    for i in range(statistics.shape[0]):
        scales[0, i], scales[1, i] = statistics[i, CENTRE], statistics[i, INVERSE]
        settled &= statistics[i, COUNT] >= YOUNG
    return settled


@kernel
def list_young(statistics: Array, young: Array) -> int:
    """List the features whose scales are not settled; returns how many there are."""
    n = 0
    for i in range(statistics.shape[0]):
        if statistics[i, COUNT] < YOUNG:
            young[n] = i
            n += 1
    return n


@kernel
def scale_young(
    statistics: Array, standardize: bool, values: Array, young: Array, out: Array
) -> None:
    """Scale what ``scale_settled`` cannot of a dense record: its young features."""
    for t in range(young.size):
        i = young[t]
        out[i] = scaled(statistics, i, values[i], standardize)


@kernel
def observe_young(statistics: Array, seen: Real, values: Array, young: Array, scales: Array) -> int:
    """Learn the scales from a dense record that settled features do not look at.

    Whoever has grown up leaves the list for ``scales``; returns how many stay.
    """
    n = 0
    for t in range(young.size):
        i = young[t]
        observe(statistics, i, values[i], seen, False, False)
        scales[0, i], scales[1, i] = statistics[i, CENTRE], statistics[i, INVERSE]
        young[n] = i
        n += 1 if statistics[i, COUNT] < YOUNG else 0
    return n


@kernel
def scale_settled(scales: Array, standardize: bool, values: Array, out: Array) -> None:
    """Scale one dense record of settled features, as ``scale_row`` does, in one long loop."""
    among_many = scales.shape[1] >= MANY
    if not standardize:
        for i in range(values.size):
            out[i] = as_it_is(values[i], among_many)
        return
    for i in range(values.size):
        out[i] = standing(values[i], scales[0, i], scales[1, i], among_many)


@kernel
def is_due(seen: Real, width: int) -> bool:
    """Whether settled features, of so many, look at the record that is number ``seen``."""
    return int(seen) % thinning(width) == 0  # of floats the remainder is a slow call


@kernel
def thinning(width: int) -> int:
    """Return one in how many records settled features look at."""
    return THINNING_AMONG_MANY if width >= MANY else THINNING


@kernel
def observe_row(statistics: Array, seen: Real, values: Array, columns: Array) -> None:
    """Learn the scales from one record."""
    due = is_due(seen, statistics.shape[0])
    for t in range(values.size):
        i = columns[t] if columns.size > 0 else t
        observe(statistics, i, values[t], seen, due, due)


@entry
def observe_rows(
    statistics: Array, seen: Real, n: int, values: Array, columns: Array, starts: Array
) -> None:
    """Learn the scales from n rows, dense or sparse as ``kernels.run.run`` takes them."""
    d = values.size // max(1, n)
    for q in range(n):
        begin, end = (q * d, (q + 1) * d) if starts.size == 0 else (starts[q], starts[q + 1])
        observe_row(statistics, seen + q + 1, values[begin:end], columns[begin:end])


@entry
def scale_rows(
    statistics: Array, standardize: bool, values: Array, columns: Array, starts: Array, out: Array
) -> None:
    """Scale rows into the dense matrix ``out``, which is zero where a row names nothing."""
    for q in range(out.shape[0]):
        if starts.size == 0:
            scale_row(
                statistics, standardize, values[q * out.shape[1] :][: out.shape[1]], columns, out[q]
            )
        else:
            for t in range(starts[q], starts[q + 1]):
                out[q, columns[t]] = scaled(statistics, columns[t], values[t], standardize)
