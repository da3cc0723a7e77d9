"""Random numbers that are part of the model: a saved one draws the same as one never saved."""

from __future__ import annotations

import numpy as np

from stream_llsvm.kernels.compile import Array, kernel


@kernel
def below(source: Array, n: int) -> int:
    """Draw a whole number from 0 to n - 1."""
    return int(uniform(source) * n)


@kernel
def uniform(source: Array) -> float:
    """Draw a number from 0 to 1, 1 excluded; ``source`` is the generator's word (splitmix64)."""
    word = np.uint64(source[0]) + np.uint64(0x9E3779B97F4A7C15)
    source[0] = np.int64(word)
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    word = word ^ (word >> np.uint64(31))
    return float(word >> np.uint64(11)) / 9007199254740992.0
