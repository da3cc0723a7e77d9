"""Records beside which stands what a feature map makes of them, LL section 3.2."""

from __future__ import annotations

from stream_llsvm.kernels.compile import Array, outlined


@outlined
def take_apart(x: Array, at: Array, mapped: Array, halves: Array, places: Array) -> tuple[int, int]:
    """Part a record into x and phi(x), both by columns; returns the length of each.

    Halves and places have a row for x, then one for phi(x).
    """
    n_seen = n_mapped = 0
    for i in range(x.size):
        column = at[i] if at.size > 0 else i
        if mapped[column] > 0:
            halves[1, n_mapped], places[1, n_mapped] = x[i], column
            n_mapped += 1
        else:
            halves[0, n_seen], places[0, n_seen] = x[i], column
            n_seen += 1
    return n_seen, n_mapped
