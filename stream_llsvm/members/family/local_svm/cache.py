"""Machines that were solved already: they stand as long as their neighbourhood does.

A machine depends on nothing but the records it was solved for, in the order of their places, and
the map. So one that is found again answers to the bit as one solved anew, nothing of this is
saved, and how many are kept changes the time and nothing else.
"""

from __future__ import annotations

from stream_llsvm.kernels.compile import Array, kernel

# An entry's first words; the neighbours' stamps follow.
SIZE, VERSION, MACHINES, STAMPS = range(4)


@kernel
def sort_places(near: Array, places: Array) -> None:
    """Fill places with the same numbers, ascending."""
    for j in range(near.size):
        p, value = j, near[j]
        while p > 0 and places[p - 1] > value:
            places[p] = places[p - 1]
            p -= 1
        places[p] = value


@kernel
def entry_of(places: Array, stamps: Array, entries: int) -> int:
    """Return the entry that such a neighbourhood would be in."""
    mixed = 0
    for j in range(places.size):
        mixed = (mixed * 31 + int(stamps[places[j]])) % 1_000_003
    return mixed % entries


@kernel
def stands(entry: Array, version: int, places: Array, stamps: Array) -> bool:
    """Whether the entry was solved for these records, and this map."""
    if entry[SIZE] != places.size or entry[VERSION] != version:
        return False
    for j in range(places.size):  # noqa: SIM110  # numba knows no generators
        if entry[STAMPS + j] != stamps[places[j]]:
            return False
    return True


@kernel
def write_down(entry: Array, version: int, machines: int, places: Array, stamps: Array) -> None:
    """Say what the entry is solved for."""
    entry[SIZE], entry[VERSION], entry[MACHINES] = places.size, version, machines
    for j in range(places.size):
        entry[STAMPS + j] = int(stamps[places[j]])
