"""The cost of records that name a few of very many features, as texts do."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import peers
import results
from numpy.typing import NDArray
from river import linear_model
from scores import Record, RecordLearner, predict_and_learn
from timing import Effort, Section, alternate, micros, resident_megabytes

NAMED = 75


def names(learner: str, data: Path | None, effort: Effort) -> Section:
    """Time records that name 75 features against the number of all names."""
    rows = effort.rows(3_000)
    lines = []
    for total in (1_000, 4_700, 14_000, 47_000):
        records, labels = texts(total, rows, np.random.default_rng(0))
        models: dict[str, RecordLearner] = {
            learner: peers.ours(learner),
            "river": linear_model.LogisticRegression(),
        }
        for model in models.values():
            predict_and_learn(model, records[:-rows], labels[:-rows])
        last = records[-rows:], labels[-rows:]
        runners = {
            name: partial(micros, partial(predict_and_learn, model, *last), rows)
            for name, model in models.items()
        }
        times = alternate(runners, effort.rounds)
        cells = [results.figure(times.micros(name)) for name in models]
        lines.append([f"{total:,}", *cells, results.figure(resident_megabytes(), 0)])
    note = (
        f"{rows:,} records a round that name {NAMED} features each, `predict_one` and `learn_one`, "
        "2 classes, after every name was seen once. Memory is the whole process's."
    )
    header = ["all names", f"{learner} us", "river LogisticRegression us", "memory MB"]
    return Section("Sparse records", results.table(header, lines) + "\n\n" + note)


def texts(total: int, rows: int, rng: np.random.Generator) -> tuple[list[Record], list[bool]]:
    """Return records that together name everything once, then `rows` more drawn at random."""
    shuffled = np.array_split(rng.permutation(total), -(-total // NAMED))
    drawn: Iterable[NDArray[Any]] = (rng.choice(total, NAMED, replace=False) for _ in range(rows))
    weight = rng.standard_normal(total)
    records: list[Record] = []
    labels: list[bool] = []
    for columns in [*shuffled, *drawn]:
        records.append({f"word_{column}": 1.0 for column in columns.tolist()})
        labels.append(bool(weight[columns].sum() > 0))
    return records, labels
