"""Pages of nothing are left out of a saved state, and put back, to the bit and within bounds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_llsvm.model import pages
from stream_llsvm.model.pages import MOST_LEFT_OUT, PAGE, fill, fit, pages_of

SOMETHING = st.sampled_from([1.0, -0.0, np.nan, 5e-324])


@given(n=st.integers(0, 5 * PAGE), held=st.dictionaries(st.integers(0, 5 * PAGE - 1), SOMETHING))
def test_a_state_is_the_same_to_the_bit(n: int, held: dict[int, float]) -> None:
    state = np.zeros(n)
    for place, value in held.items():
        if place < n:
            state[place] = value
    kept, there = pages_of(state)
    assert fit(n, kept, there)
    filled = np.zeros(n)
    fill(filled, kept, there)
    assert filled.tobytes() == state.tobytes()
    whole = n // PAGE
    empty = sum(not state[p * PAGE : (p + 1) * PAGE].view(np.int64).any() for p in range(whole))
    assert kept.size == 8 * (n - empty * PAGE)


def test_what_is_kept_is_a_copy() -> None:
    state = np.ones(2 * PAGE)
    kept, _ = pages_of(state)
    state[:] = 2
    assert (kept.view(np.float64) == 1).all()


def test_what_a_file_can_make_of_nothing_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    assert 8 * PAGE * MOST_LEFT_OUT <= 2**26
    monkeypatch.setattr(pages, "MOST_LEFT_OUT", 2)
    kept, there = pages_of(np.zeros(5 * PAGE))
    assert kept.size == 8 * 3 * PAGE and fit(5 * PAGE, kept, there)
    nothing = np.zeros(0, dtype=np.uint8)
    assert not fit(3 * PAGE, nothing, np.zeros(1, dtype=np.uint8))
    assert fit(2 * PAGE, nothing, np.zeros(1, dtype=np.uint8))


def test_pages_of_another_state_do_not_fit() -> None:
    state = np.arange(2.5 * PAGE)
    state[PAGE : 2 * PAGE] = 0
    kept, there = pages_of(state)
    n = len(state)
    assert fit(n, kept, there)
    others: list[Any] = [
        (n + 1, kept, there),
        (n - 1, kept, there),
        (n + PAGE, kept, there),
        (n, kept[:-8], there),
        (n, kept.reshape(2, -1), there),
        (n, kept.view(np.float64), there),
        (n, kept, there.view(np.int8)),
        (n, kept, np.append(there, there)),
        (n, kept, there | np.uint8(1)),
        (n, kept, ~there),
    ]
    for words, bytes_of, bits in others:
        assert not fit(words, bytes_of, bits)
