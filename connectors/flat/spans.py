"""Many records' bytes in one block, which is how compiled loops want them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import overload

import numpy as np
from numpy.typing import NDArray

Ends = NDArray[np.int64]


class Spans(Sequence[bytes | None]):
    """The bytes of records, each made when it is asked for.

    Parameters
    ----------
    block
        The bytes of all of them, and maybe others.
    starts, ends
        Where each begins and ends; below 0 if there is none.

    Examples
    --------
    >>> raws = Spans.of([b"one", b"two"])
    >>> raws[1], raws.block
    (b'two', b'onetwo')

    """

    __slots__ = ("block", "ends", "starts")

    def __init__(self, block: bytes, starts: Ends, ends: Ends) -> None:
        self.block, self.starts, self.ends = block, starts, ends

    @classmethod
    def of(cls, raws: Sequence[bytes]) -> Spans:
        """Put them into one block."""
        ends = np.cumsum(np.fromiter(map(len, raws), np.int64, len(raws)))
        starts = np.zeros_like(ends)
        starts[1:] = ends[:-1]
        return cls(b"".join(raws), starts, ends)

    @classmethod
    def joined(cls, several: Sequence[Spans]) -> Spans:
        """Put those of several blocks into one, without what lies before and behind them."""
        if len(several) == 1:
            return several[0]
        blocks, starts, ends = [], [], []
        size = 0
        for raws in several:
            there = raws.starts >= 0
            first = int(raws.starts[there].min()) if there.any() else 0
            blocks.append(raws.block[first : max(first, int(raws.ends.max()))])
            starts.append(np.where(there, raws.starts + (size - first), -1))
            ends.append(np.where(there, raws.ends + (size - first), -1))
            size += len(blocks[-1])
        return cls(b"".join(blocks), np.concatenate(starts), np.concatenate(ends))

    def __len__(self) -> int:
        return len(self.starts)

    def __iter__(self) -> Iterator[bytes | None]:
        return iter(self[:])

    @overload
    def __getitem__(self, index: int) -> bytes | None: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[bytes | None]: ...
    def __getitem__(self, index: int | slice) -> bytes | Sequence[bytes | None] | None:
        if isinstance(index, slice):
            block, ends = self.block, self.ends[index].tolist()
            spans = zip(self.starts[index].tolist(), ends, strict=True)
            return [None if start < 0 else block[start:end] for start, end in spans]
        start = int(self.starts[index])
        return None if start < 0 else self.block[start : int(self.ends[index])]


def stretches(odd: NDArray[np.uint8]) -> Iterator[tuple[bool, int, int]]:
    """Yield each stretch of records that are alike: whether they are odd, and from where to where.

    Examples
    --------
    >>> list(stretches(np.array([0, 0, 1, 0], dtype=np.uint8)))
    [(False, 0, 2), (True, 2, 3), (False, 3, 4)]

    """
    changes = np.flatnonzero(np.diff(odd != 0)) + 1
    cuts = [0, *changes.tolist(), len(odd)]
    for start, stop in pairwise(cuts):
        yield bool(odd[start]), start, stop
