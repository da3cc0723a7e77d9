"""The generator is splitmix64 to the bit, its numbers are even, and its state is one word."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stream_llsvm.kernels import random as chance
from tests.kernels.alone import alone
from tests.oracle_ferns import WORD, Dice
from tests.oracle_parts import Array

below = alone(chance.below)
uniform = alone(chance.uniform)

WORDS = st.integers(-(2**63), 2**63 - 1)


def _source(seed: int) -> Array:
    return np.array([seed], dtype=np.int64)


def _drawn(n: int, seed: int = 0) -> Array:
    source = _source(seed)
    return np.array([uniform(source) for _ in range(n)])


@given(seed=WORDS)
def test_the_numbers_are_splitmix64s(seed: int) -> None:
    source, dice = _source(seed), Dice(seed % WORD)
    for _ in range(5):
        assert uniform(source) == dice.uniform()
        assert int(source[0]) % WORD == dice.state


def test_the_first_words_are_the_published_ones() -> None:
    """Of the reference implementation, for the seed 1234567."""
    dice = Dice(1234567)
    assert [dice.word() for _ in range(3)] == [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
    ]


@given(seed=WORDS, n=st.integers(1, 10**6))
def test_a_whole_number_is_in_its_range(seed: int, n: int) -> None:
    source = _source(seed)
    for _ in range(10):
        assert 0 <= below(source, n) < n


def test_numbers_are_even() -> None:
    """Kolmogorov's distance: beyond 1.95 / sqrt(n) one stream in a thousand would be."""
    n = 20_000
    drawn = np.sort(_drawn(n))
    assert drawn[0] >= 0 and drawn[-1] < 1
    ideal = (np.arange(n) + 0.5) / n
    assert np.abs(drawn - ideal).max() < 1.95 / np.sqrt(n)


def test_whole_numbers_are_even() -> None:
    """Chi squared with 9 degrees of freedom: beyond 27.9 one stream in a thousand would be."""
    source = _source(1)
    counts = np.bincount([below(source, 10) for _ in range(20_000)], minlength=10)
    assert ((counts - 2_000) ** 2 / 2_000).sum() < 27.9


def test_a_number_says_nothing_of_the_next() -> None:
    drawn = _drawn(20_000)
    assert abs(np.corrcoef(drawn[:-1], drawn[1:])[0, 1]) < 0.03


def test_neighbouring_seeds_have_nothing_in_common() -> None:
    firsts = np.array([_drawn(1, seed)[0] for seed in range(2_000)])
    assert abs(np.corrcoef(firsts[:-1], firsts[1:])[0, 1]) < 0.08
    assert len(set(firsts.tolist())) == 2_000
