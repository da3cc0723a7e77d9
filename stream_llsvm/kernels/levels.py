"""A feature whose level leaves the range that was learned: its scale begins anew.

A sensor is replaced, a counter starts again, seconds become milliseconds. A scale that trusts no
single record would take tens of thousands of them to get there, and be far too wide on the way.

    far     |v - mean| > FAR standard deviations
    a run   far values, of which each near one takes back two:           FAR_RUN are a level
            or near ones, NARROW times closer together than the scale:   NEAR_RUN are a level

The scale then begins anew from the run's mean and variance; what members have learned stays valid,
since the scaled values are what they were. Far runs follow a level to wherever it goes, near ones
follow milliseconds that become seconds again, and let go of a scale that was spoiled at its start.

A value that repeats the only one of its run counts nothing: where a flag is 1 for long after having
been 0 for long, nothing has moved. And only those records count that a settled feature looks at, so
that a run takes the same time at whatever age.
"""

from __future__ import annotations

import math

from stream_llsvm.kernels.compile import Array, Real, kernel

# A feature's last three statistics: how many values are in the run (below zero: near ones), their
# mean and their variance.
RUN, RUN_MEAN, RUN_VARIANCE = range(7, 10)
WATCHED = 3
FAR, FAR_RUN = 4.0, 24
NARROW, NEAR_RUN = 32.0, 64
#: A deviation counts at most as so many standard deviations, from so many values on.
OUTLIER, SETTLED = 8.0, 20
#: Relative to the mean, what differs less is rounding.
ROUNDING = 1e-12


@kernel
def watch(feature: Array, v: Real, mean: Real, variance: Real) -> Real:
    """Take v into the feature's run; returns of how many values the run is a level, or 0.

    ``mean`` and ``variance`` are those from before v.
    """
    far = (v - mean) ** 2 > FAR * FAR * variance
    if feature[RUN] > 0 and not far:
        feature[RUN] -= 2
        if feature[RUN] > 0:
            return 0.0
    if feature[RUN] == 0 or far != (feature[RUN] > 0):
        return begin_run(feature, v, far)
    delta = v - feature[RUN_MEAN]
    if abs(delta) <= ROUNDING * abs(feature[RUN_MEAN]):
        return 0.0
    n = abs(feature[RUN]) + 1
    square = OUTLIER * OUTLIER * feature[RUN_VARIANCE]
    if n >= SETTLED and delta * delta > square:
        delta = math.copysign(math.sqrt(square), delta)
    feature[RUN] = n if far else -n
    feature[RUN_MEAN] += delta / n
    feature[RUN_VARIANCE] += ((1 - 1 / n) * delta * delta - feature[RUN_VARIANCE]) / n
    if not far and NARROW * NARROW * feature[RUN_VARIANCE] > variance:
        return begin_run(feature, v, far)
    return n if n >= (FAR_RUN if far else NEAR_RUN) else 0.0


@kernel
def begin_run(feature: Array, v: Real, far: bool) -> Real:
    """Let v be the first of a run, which is no level yet."""
    feature[RUN] = 1.0 if far else -1.0
    feature[RUN_MEAN], feature[RUN_VARIANCE] = v, 0.0
    return 0.0


@kernel
def forget(feature: Array) -> None:
    """Watch for nothing."""
    feature[RUN], feature[RUN_MEAN], feature[RUN_VARIANCE] = 0.0, 0.0, 0.0
