"""Words: one table of several, and tables of other sizes."""

from __future__ import annotations

import numpy as np

from stream_llsvm.members.cells import RAW_POWER
from stream_llsvm.members.pooling import Array, Part, Parted, mean_of
from stream_llsvm.members.words import state as at
from stream_llsvm.members.words.kernel import FADE, MOST_UNIT, MOST_WEIGHT

#: Numbers of a name that are weights, and sums of squares; none is greater than what has room.
LINEAR = [at.WEIGHT, at.LONG_WEIGHT, at.MEAN]
SQUARED = [at.SQUARES, at.LONG_SQUARES]
_LEAST_VARIANCE = 1e-6
#: Counts fade from the first record on, as running means do that are as old as this.
_LONG = 1e9
_GREATEST = float(np.finfo(np.float32).max)


def merge(models: Parted, out: dict[str, Array], cells: int) -> None:
    """Fill ``out``: a name's numbers are of those who have met it (since), by how often.

    Counts fade with each record, and have faded in the end as if all records had come one after the
    other. Sums of squares add up, and so does what AROW knows: ``1 / v`` and ``m / v``. Without a
    base all numbers are means.
    """
    columns = out["sums"].shape[1]
    end = at.NUMBERS * columns
    learned = np.array(_learned(models))
    of_counts = models.by_rows(learned + _LONG, floor=1 - FADE).means
    units = [float(unit) for unit in models.each("running", at.UNIT)]
    totals = [total / unit for total, unit in zip(models.each("totals"), units, strict=True)]
    out["totals"][:] = np.maximum(mean_of(of_counts, totals), 0)
    out["hashes"][:] = models.parts[models.newest].views["hashes"]
    tokens = max(part.views["running"][at.TOKENS] for part in models.parts)
    out["running"][:] = 0
    out["running"][[at.UNIT, at.LEFT]] = 1
    out["running"][at.TOKENS] = tokens
    if models.base and tokens:
        known = models.base.views["table"]
        out["table"][:, :end] = known[:, :end]
        out["table"][:, end:] = known[:, end:] * np.float32((of_counts / units).sum())
    rows = _touched(models, cells, end)
    tables = [_on_one_scale(part, rows, cells, columns) for part in models.parts]
    counts = np.stack([table[:, end:] for table in tables])
    counts[:, 0] = totals  # every record has the bias
    met = counts.sum(axis=2)
    if models.since:
        met = np.maximum(met - met[0] * FADE ** learned[:, None], 0)
        met[0] = 0
    shares = models.by_rows(met, RAW_POWER).raw
    blocks = np.stack([table[:, :end].reshape(len(rows), at.NUMBERS, -1) for table in tables])
    numbers = mean_of(shares, list(blocks))
    if models.since:
        _add_up_what_is_known(models, blocks, numbers)
    numbers[:, LINEAR] = np.clip(numbers[:, LINEAR], -MOST_WEIGHT, MOST_WEIGHT)
    numbers[:, SQUARED] = np.clip(numbers[:, SQUARED], 0, _GREATEST)
    numbers[:, at.SPREAD] = np.clip(numbers[:, at.SPREAD], -1, 0)
    counts[:, 0] = 0
    out["table"][rows, :end] = numbers.reshape(len(rows), end)
    out["table"][rows, end:] = np.maximum(mean_of(of_counts, list(counts)), 0)


def _add_up_what_is_known(models: Parted, blocks: Array, numbers: Array) -> None:
    """Let sums of squares be those of all, and AROW's weights and variances, (rows, numbers, c)."""
    numbers[:, SQUARED] = models.summed(list(blocks[:, :, SQUARED]))
    sure = 1 / np.maximum(1 + blocks[:, :, at.SPREAD], _LEAST_VARIANCE)
    known = np.maximum(models.summed(list(sure)), 1)
    numbers[:, at.MEAN] = models.summed(list(sure * blocks[:, :, at.MEAN])) / known
    numbers[:, at.SPREAD] = 1 / known - 1


def _learned(models: Parted) -> list[float]:
    """Return how many records each model has counted since they parted, by how its unit grew."""
    logs = [float(np.log(unit)) for unit in models.each("running", at.UNIT)]
    grown = [own - logs[0] + (np.log(MOST_UNIT) if own < logs[0] else 0.0) for own in logs]
    if not models.since:
        return [1.0 for _ in logs]
    return [round(own / -np.log(FADE)) for own in grown]


def _touched(models: Parted, cells: int, end: int) -> Array:
    """Return the rows that some model has changed, or that mean something else by now."""
    tables = models.each("table")
    tokens = any(part.views["running"][at.TOKENS] for part in models.parts)
    rows = np.arange(0 if tokens else 1 + cells, len(tables[0]))
    touched = np.zeros(len(tables[0]), dtype=bool)
    touched[0] = True
    for part, table in zip(models.parts, tables, strict=True):
        before = tables[0][rows, end:] if models.since else 0.0
        touched[rows] |= (table[rows, end:] != before).any(axis=1)
        named = part.rescale.factor[: len(table) - 1 - cells]
        moved = (named != 1) | (part.rescale.offset[: len(named)] != 0)
        touched[1 + cells :] |= moved & table[1 + cells :].any(axis=1)
    return np.flatnonzero(touched)


def _on_one_scale(part: Part, rows: Array, cells: int, columns: int) -> Array:
    """Return rows of a model's table over the merged model's scales, each record counted as 1."""
    table = part.views["table"][rows].astype(np.float64)
    end = at.NUMBERS * columns
    table[:, end:] /= part.views["running"][at.UNIT]
    if part.rescale.is_none:
        return table
    first = int(np.searchsorted(rows, 1 + cells))
    which_columns = rows[first:] - 1 - cells
    numbers = table[first:, :end].reshape(len(which_columns), at.NUMBERS, columns)
    factor, offset = (
        whole[which_columns, None] for whole in (part.rescale.factor, part.rescale.offset)
    )
    square = np.where(factor == 0, 1.0, factor * factor)
    for which in LINEAR:
        table[0, which * columns :][:columns] += (numbers[:, which] * offset).sum(axis=0)
        numbers[:, which] *= factor
    for which in SQUARED:
        numbers[:, which] /= square
    numbers[:, at.SPREAD] = np.minimum((1 + numbers[:, at.SPREAD]) * square, 1) - 1
    table[first:, :end] = numbers.reshape(len(which_columns), end)
    return table


def widened(rows: Array, before: int, after: int) -> Array:
    """Return rows with numbers for more classes; the one of two classes becomes two."""
    wide = np.zeros((len(rows), at.NUMBERS * after + after), dtype=rows.dtype)
    for which in range(at.NUMBERS):
        own = rows[:, which * before :][:, :before]
        place = wide[:, which * after :]
        if before > 1:
            place[:, :before] = own
            continue
        # One against the rest each class has a margin of its own, jointly they share one.
        share = {at.WEIGHT: 0.5, at.LONG_WEIGHT: 0.5, at.MEAN: 1.0}.get(which)
        place[:, :1] = own if share is None else -share * own
        place[:, 1:2] = own if share is None else share * own
    counts = rows[:, at.NUMBERS * before :]
    wide[:, at.NUMBERS * after :][:, : counts.shape[1]] = counts
    return wide


def folded(rows: Array, cells: int) -> Array:
    """Return the bias's row and those of tokens with fewer of these: who came more often stays."""
    while len(rows) - 1 > cells:
        half = (len(rows) - 1) // 2
        low, high = rows[1 : 1 + half], rows[1 + half :]
        # There are fewer only with three classes or more: then all have columns of their own.
        counts = at.NUMBERS * (rows.shape[1] // (at.NUMBERS + 1))
        came = [part[:, counts:].sum(axis=1) for part in (low, high)]
        kept = np.where((came[0] >= came[1])[:, None], low, high)
        rows = np.concatenate([rows[:1], kept])
    return rows
