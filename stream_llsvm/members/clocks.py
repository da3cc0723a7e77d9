"""What a member keeps of its own surprise, merged and checked; see ``kernels/surprise.py``."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.kernels.surprise import (
    CLOCKS,
    FAST,
    FAST_VARIANCE,
    FORGOTTEN,
    SLOW,
    SQUARED,
    USUAL,
    WEIGHT,
)
from stream_llsvm.members.pooling import Array, Parted, mean_of


def merged_clock(models: Parted, steps: float, taken: Sequence[Array]) -> Array:
    """Return the clock of several machines that become one of so many steps.

    Each took ``taken`` steps. The most surprised is the one that counts; what is usual is the mean.
    Together they remember as many steps as each of them does, and no more than they took.
    """
    clocks = models.each("clock")
    new: Array = mean_of(models.shares([clock[WEIGHT] for clock in clocks]), clocks)
    own = models.since  # the base's, the first, is what all were before
    most = clocks[own + int(np.argmax([max(c[FAST], c[SLOW]) for c in clocks[own:]]))]
    new[:CLOCKS] = most[:CLOCKS]
    new[WEIGHT] = max(0.0, float(models.counted("clock", WEIGHT)))
    pairs = zip(taken[own:], clocks[own:], strict=True)
    remembered = sum(float(n - clock[FORGOTTEN]) for n, clock in pairs)
    new[FORGOTTEN] = max(0.0, steps - remembered)
    return new


def sound_clock(clock: NDArray[np.float64], steps: float) -> bool:
    """Whether a kernel can trust a clock (it comes from a file) of so many steps."""
    never_negative = clock[[FAST_VARIANCE, FAST_VARIANCE + 1, WEIGHT, USUAL, SQUARED, FORGOTTEN]]
    return bool((never_negative >= 0).all() and clock[FORGOTTEN] <= steps)
