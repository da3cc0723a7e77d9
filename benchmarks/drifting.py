"""Streams that drift at known records, made by river's generators; the same in every run.

A name is a family and a kind of drift: `sea-abrupt`. Each family has four concepts, each with a
seed of its own, so that no record comes twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from river.datasets import synth
from river.datasets.base import SyntheticDataset
from streams import Stream, load_stream

RECORDS = 20_000
CHANGES = (5_000, 10_000, 15_000)


class Drift(NamedTuple):
    """Over how many records a change takes place, and which concepts follow each other."""

    width: int
    concepts: tuple[int, ...]


DRIFTS = {
    "abrupt": Drift(1, (0, 1, 2, 3)),
    "gradual": Drift(1_000, (0, 1, 2, 3)),
    "recurring": Drift(1, (0, 1, 0, 1)),
}


def sea(concept: int) -> SyntheticDataset:
    """Return three numbers, of which the sum of two is compared with a threshold."""
    # In this order the thresholds are 7, 9.5, 8, 9, so that the first change is the largest.
    return synth.SEA(variant=(2, 3, 0, 1)[concept], noise=0.1, seed=concept)


def agrawal(concept: int) -> SyntheticDataset:
    """Return loan applications, decided by rules."""
    return synth.Agrawal(classification_function=concept, perturbation=0.05, seed=concept)


def led(concept: int) -> SyntheticDataset:
    """Return the segments of a digit among as many that mean nothing; they change places."""
    return synth.LEDDrift(
        seed=concept,
        noise_percentage=0.1,
        irrelevant_features=True,
        n_drift_features=(0, 3, 5, 7)[concept],
    )


def rbf(concept: int) -> SyntheticDataset:
    """Return five classes of fifty balls, which lie elsewhere in each concept."""
    return synth.RandomRBF(seed_model=concept, seed_sample=concept, n_classes=5)


def hyperplane(concept: int) -> SyntheticDataset:
    """Return the two sides of a plane in ten dimensions, another plane in each concept."""
    return synth.Hyperplane(seed=concept)


FAMILIES: dict[str, Callable[[int], SyntheticDataset]] = {
    "sea": sea,
    "agrawal": agrawal,
    "led": led,
    "rbf": rbf,
    "hyperplane": hyperplane,
}
# These never stop moving. The speeds are the usual ones: river's balls fly straight on, where
# MOA's turn at the walls, so that ten times this speed would only be a race after the scaling.
STEADY: dict[str, SyntheticDataset] = {
    "rbf": synth.RandomRBFDrift(seed_model=0, seed_sample=0, n_classes=5, change_speed=1e-4),
    "hyperplane": synth.Hyperplane(seed=0, n_drift_features=10, mag_change=1e-3),
}
NAMES = (
    *(f"{family}-{kind}" for family in FAMILIES for kind in DRIFTS),
    *(f"{family}-steady" for family in STEADY),
)


def find_stream(folder: Path | None, name: str, rows: int | None = None, order: int = 0) -> Stream:
    """Return a made stream or load a data set, in this order, at most its first `rows` records."""
    if name in NAMES:
        return made_stream(name, rows)
    if folder is None:
        raise SystemExit(f"the data set {name!r} is read from a folder: give --data DIR")
    return load_stream(folder, name, rows, order)


def made_stream(name: str, rows: int | None = None) -> Stream:
    """Make a stream, at most its first `rows` records."""
    family, kind = name.split("-")
    n = RECORDS if rows is None else min(rows, RECORDS)
    records: Iterator[tuple[dict[Any, float], int]]
    changes: tuple[int, ...] = ()
    if kind == "steady":
        records = STEADY[family].take(n)
    else:
        records = _switching(FAMILIES[family], DRIFTS[kind], n)
        changes = tuple(change for change in CHANGES if change < n)
    columns, labels = zip(*((list(x.values()), y) for x, y in records), strict=True)
    X, y = np.array(columns, dtype=np.float32), np.array(labels, dtype=np.int64)
    return Stream(name, X, y, None, changes)


def _switching(family: Callable[[int], SyntheticDataset], drift: Drift, n: int) -> Iterator[Any]:
    """Yield n records; from a change on, the new concept's share rises to one over the width."""
    luck = np.random.default_rng(0).random(RECORDS)[:n]
    begun = [(np.arange(n) - change + 1) / drift.width for change in CHANGES]
    stages = np.sum([share > luck for share in begun], axis=0)
    # A concept that comes back goes on where it stopped, with records not seen before.
    sources = [iter(family(concept)) for concept in range(max(drift.concepts) + 1)]
    for stage in stages.tolist():
        yield next(sources[drift.concepts[stage]])
