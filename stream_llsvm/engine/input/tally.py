"""Counting the values of fields: the compiled loops behind the watch over the input.

Records are counted alike until it is time to look; what was counted then goes into both memories at
once. So a value costs a few additions, and nothing has to fade at each record.
"""

from __future__ import annotations

from math import log2
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.kernels.boxes import CONTENT, FIRST_BOX, KIND_BITS, KIND_SHIFT, NAME, TIME
from stream_llsvm.kernels.cache import kept

#: What a value may be; what is none of these is missing.
NUMBERS, NAMES, TIMES, TEXTS, KINDS = 0, 1, 2, 3, 4
#: Bins of numbers, between quantiles of the first values, and of names and words, by their hash.
BINS_OF_NUMBERS, BINS_OF_NAMES = 16, 32
BINS = BINS_OF_NUMBERS + BINS_OF_NAMES
#: Of all records a field has: bins, those of words apart, times, and missing.
SHARES = BINS + BINS_OF_NAMES + 2
#: So many numbers of a field are kept until it is known where its bins are.
FIRST = 256
#: Bits in which names that have come are marked.
PLACES = 2**17
#: Sums of how many numbers there were, of their distances from the centre, and of the squares.
MOMENTS = 3
#: Numbers beyond this count as that far.
FURTHEST = 1e140
_EARLIEST = 9e8  # a smaller number is no moment in seconds, whatever the field is called


class FieldSums(NamedTuple):
    """What was counted of each field since the last look, a row each, and where its bins are."""

    bins: NDArray[np.float64]
    kinds: NDArray[np.float64]
    moments: NDArray[np.float64]
    outside: NDArray[np.float64]
    fresh: NDArray[np.float64]
    edges: NDArray[np.float64]
    first: NDArray[np.float64]
    filled: NDArray[np.int64]
    centre: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    next_low: NDArray[np.float64]
    next_high: NDArray[np.float64]
    since: NDArray[np.int64]
    clock: NDArray[np.int64]


class Cells(NamedTuple):
    """Values by themselves, of records that are no row of a matrix.

    For each: its record, field and value; and, of words, its share of the text (0: no word).
    """

    records: NDArray[np.int64]
    fields: NDArray[np.int64]
    values: NDArray[np.float64]
    shares: NDArray[np.float64]


NO_CELLS = Cells(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0), np.zeros(0))


def tally_fields(
    rows: tuple[Any, Any, Any],
    cells: tuple[Any, Any, Any, Any, Any],
    begun: int,
    sums: FieldSums,
    names: tuple[Any, Any],
    learns: int,
) -> None:
    """Count the values of some records, by a compiled loop.

    Parameters
    ----------
    rows
        Values, their bits, and which field each column is (-1: none that is counted).
    cells
        Values by themselves: record, field, value, bits, and share.
    begun
        How many records came before.
    sums
        What was counted of each field; updated.
    names
        Marks of names that have come, and which row of them each field has (-1: none); updated.
    learns
        Whether marks are made, and ranges widened.

    """
    values, bits, columns = rows
    cell_records, cell_fields, cell_values, cell_bits, cell_shares = cells
    marks, marks_of = names
    for c in range(len(columns) + 1):
        inside = c < len(columns)
        if inside and columns[c] < 0:
            continue
        count = len(values) if inside else len(cell_records)
        j = 0
        while j < count:
            f = columns[c] if inside else cell_fields[j]
            if inside and sums.filled[f] == FIRST and sums.clock[f] == 0:
                # As long as there are numbers, what is counted stays in registers.
                edges, bins = sums.edges[f], sums.bins[f]
                centre, low, high = sums.centre[f], sums.low[f], sums.high[f]
                first, second, outside = sums.moments[f, 1], sums.moments[f, 2], sums.outside[f]
                begin = j
                while j < count:
                    x = values[j, c]
                    if x != x:  # noqa: PLR0124  NaN
                        break
                    x = min(max(x, -FURTHEST), FURTHEST)
                    away = x - centre
                    first += away
                    second += away * away
                    bin_ = 8 if x >= edges[7] else 0
                    bin_ += 4 if x >= edges[bin_ + 3] else 0
                    bin_ += 2 if x >= edges[bin_ + 1] else 0
                    bin_ += 1 if x >= edges[bin_] else 0
                    bins[bin_] += 1.0
                    if x < low or x > high:
                        outside += 1.0
                        if learns:
                            sums.next_low[f] = min(sums.next_low[f], x)
                            sums.next_high[f] = max(sums.next_high[f], x)
                    j += 1
                sums.moments[f, 1], sums.moments[f, 2], sums.outside[f] = first, second, outside
                sums.moments[f, 0] += j - begin
                sums.kinds[f, NUMBERS] += j - begin
                if sums.since[f] < 0 and j > begin:
                    sums.since[f] = begun + begin
                if j == count:
                    break
            if inside:
                i, x, b, share = j, values[j, c], bits[j, c], 0.0
            else:
                i, x, b, share = cell_records[j], cell_values[j], cell_bits[j], cell_shares[j]
            j += 1
            kind = NUMBERS
            if x != x:  # noqa: PLR0124  NaN
                if b < FIRST_BOX:
                    continue  # missing
                box = (b >> KIND_SHIFT) & KIND_BITS
                kind = NAMES if box == NAME else TIMES if box == TIME else TEXTS
            elif sums.clock[f] == 1 and x >= _EARLIEST:
                kind = TIMES
            part = 1.0
            if share > 0:
                kind, part = TEXTS, share
            sums.kinds[f, kind] += part
            if sums.since[f] < 0:
                sums.since[f] = begun + i
            if kind == TIMES:
                continue
            if kind != NUMBERS:
                code = b & CONTENT
                sums.bins[f, BINS_OF_NUMBERS + (code // PLACES) % BINS_OF_NAMES] += part
                row = marks_of[f]
                if row >= 0:
                    place = code % PLACES
                    byte, bit = place >> 3, np.uint8(1) << np.uint8(place & 7)
                    if not marks[row, byte] & bit:
                        sums.fresh[f] += part
                        if learns:
                            marks[row, byte] |= bit
                continue
            x = min(max(x, -FURTHEST), FURTHEST)
            filled = sums.filled[f]
            begin = FIRST - 1
            if filled < FIRST:
                sums.first[f, filled] = x
                sums.filled[f] = filled + 1
                if filled + 1 < FIRST:
                    continue
                begin = 0
                ordered = sums.first[f]
                for place in range(1, FIRST):  # a sort that needs no memory, once a field
                    y, k = ordered[place], place
                    while k > 0 and ordered[k - 1] > y:
                        ordered[k] = ordered[k - 1]
                        k -= 1
                    ordered[k] = y
                for edge in range(BINS_OF_NUMBERS - 1):
                    sums.edges[f, edge] = ordered[(edge + 1) * FIRST // BINS_OF_NUMBERS]
                sums.centre[f] = ordered[FIRST // 2]
                sums.low[f] = sums.next_low[f] = ordered[0]
                sums.high[f] = sums.next_high[f] = ordered[FIRST - 1]
            for k in range(begin, FIRST):
                y = sums.first[f, k] if begin == 0 else x
                away = y - sums.centre[f]
                sums.moments[f, 0] += 1.0
                sums.moments[f, 1] += away
                sums.moments[f, 2] += away * away
                bin_ = 0
                step = BINS_OF_NUMBERS // 2
                while step > 0:
                    if y >= sums.edges[f, bin_ + step - 1]:
                        bin_ += step
                    step //= 2
                sums.bins[f, bin_] += 1.0
            if x < sums.low[f] or x > sums.high[f]:
                sums.outside[f] += 1.0
                if learns:
                    sums.next_low[f] = min(sums.next_low[f], x)
                    sums.next_high[f] = max(sums.next_high[f], x)


def columns_with_names(bits: NDArray[Any], wanted: NDArray[Any]) -> None:
    """Leave 1 for those columns, of those that are 1, that hold a box, by a compiled loop."""
    for c in range(len(wanted)):
        if wanted[c] == 1:
            wanted[c] = 0
            for i in range(len(bits)):
                if bits[i, c] >= FIRST_BOX:
                    wanted[c] = 1
                    break


def diverged(
    now: tuple[Any, Any],
    long: tuple[Any, Any],
    totals: tuple[float, float],
    room: NDArray[Any],
    found: NDArray[Any],
) -> None:
    """Fill in how far each field's shares of values are from those before, in bits.

    It is the Jensen-Shannon divergence: 0 is no difference, 1 is nothing in common. Where there are
    too few numbers for bins, all numbers are alike.

    Parameters
    ----------
    now, long
        Bins and kinds of either memory.
    totals
        How many records either memory spans.
    room
        Two rows of `SHARES` to work in.
    found
        Filled in.

    """
    (now_bins, now_kinds), (long_bins, long_kinds) = now, long
    p, q = room[0], room[1]
    for f in range(len(found)):
        for side in range(2):
            shares = p if side == 0 else q
            bins = now_bins[f] if side == 0 else long_bins[f]
            kinds = now_kinds[f] if side == 0 else long_kinds[f]
            total = totals[side]
            numbers = 0.0
            for i in range(BINS_OF_NUMBERS):
                numbers += bins[i]
            # The first numbers came before there were bins: shares are of those in them.
            scale = kinds[NUMBERS] / numbers if numbers > 0 else 0.0
            for i in range(BINS_OF_NUMBERS):
                shares[i] = bins[i] * scale
            if not numbers > 0:
                shares[0] = kinds[NUMBERS]
            # Names and words share bins; how many texts there are tells both apart.
            both = kinds[NAMES] + kinds[TEXTS]
            words = kinds[TEXTS] / both if both > 0 else 0.0
            for i in range(BINS_OF_NUMBERS, BINS):
                shares[i] = bins[i] * (1.0 - words)
                shares[i + BINS_OF_NAMES] = bins[i] * words
            shares[BINS + BINS_OF_NAMES] = kinds[TIMES]
            there = kinds[NUMBERS] + both + kinds[TIMES]
            shares[BINS + BINS_OF_NAMES + 1] = max(total - there, 0.0)
            whole = 0.0
            for i in range(len(shares)):
                whole += shares[i]
            for i in range(len(shares)):
                shares[i] /= max(whole, 1e-300)
        bits = 0.0
        for i in range(len(p)):
            half = (p[i] + q[i]) / 2
            if p[i] > 0:
                bits += p[i] * log2(p[i] / half) / 2
            if q[i] > 0:
                bits += q[i] * log2(q[i] / half) / 2
        found[f] = min(max(bits, 0.0), 1.0)


def _compiled(function: Any) -> Any:
    return kept(function, Path(__file__))


count_fields, find_names, diverge = map(
    _compiled, (tally_fields, columns_with_names, diverged)
)  # fmt: skip
