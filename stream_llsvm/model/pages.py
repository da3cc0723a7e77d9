"""A state without pages that hold nothing: tables are as large as they may ever become."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

#: Words of a page.
PAGE = 512
#: So many pages are left out at most: what a file makes of nothing is bounded. 64 MB.
MOST_LEFT_OUT = 2**14


def pages_of(state: NDArray[np.float64]) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Return the bytes of the pages that hold something, and a bit a page: whether it is there.

    Parameters
    ----------
    state
        All words of a state.

    Examples
    --------
    >>> state = np.zeros(3 * PAGE)
    >>> state[PAGE] = 1.0
    >>> kept, there = pages_of(state)
    >>> kept.size, np.unpackbits(there)[:3]
    (4096, array([0, 1, 0], dtype=uint8))

    """
    whole = len(state) // PAGE
    words = state.view(np.int64)
    pages, rest = words[: whole * PAGE].reshape(whole, PAGE), words[whole * PAGE :]
    there: NDArray[np.bool_] = np.any(pages, axis=1)
    there[np.flatnonzero(~there)[MOST_LEFT_OUT:]] = True
    kept = np.concatenate([pages[there].reshape(-1), rest])
    last = np.ones(min(1, len(rest)), dtype=np.bool_)
    return kept.view(np.uint8), np.packbits(np.append(there, last))


def fill(state: NDArray[np.float64], kept: NDArray[np.uint8], there: NDArray[np.uint8]) -> None:
    """Fill a state of zeros with the pages that `pages_of` returned.

    Parameters
    ----------
    state
        Zeros.
    kept
        The bytes of the pages that are there.
    there
        A bit a page.

    """
    words = np.frombuffer(kept.tobytes())
    begin = 0
    for page in np.flatnonzero(np.unpackbits(there)).tolist():
        own = state[page * PAGE : (page + 1) * PAGE]
        own[:] = words[begin : begin + len(own)]
        begin += len(own)


def fit(n_words: int, kept: NDArray[np.uint8], there: NDArray[np.uint8]) -> bool:
    """Tell whether these, which may come from a file, are pages of a state of so many words.

    Parameters
    ----------
    n_words
        How many words the state has.
    kept
        The bytes of the pages that are there.
    there
        A bit a page.

    """
    n = -(-n_words // PAGE)
    if there.dtype != np.uint8 or there.shape != (-(-n // 8),) or kept.dtype != np.uint8:
        return False
    bits = np.unpackbits(there).astype(np.bool_)
    if bits[n:].any() or n - bits.sum() > MOST_LEFT_OUT:
        return False
    last = n_words - (n - 1) * PAGE if n > 0 and bits[n - 1] else 0
    return kept.shape == (8 * (PAGE * int(bits[: max(0, n - 1)].sum()) + last),)
