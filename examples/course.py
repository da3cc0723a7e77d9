"""How right a model is while a stream goes on; and what all stories have in common."""

from __future__ import annotations

import argparse
from collections.abc import Hashable, Iterable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any


class Course:
    """Which answers of a model were right, in their order."""

    def __init__(self) -> None:
        self._right = [0]  # so many were right of the first 0, 1, 2, ...

    def take(self, answer: Hashable, truth: Hashable) -> None:
        """Note one answer, which was given before the truth was learned."""
        self._right.append(self._right[-1] + (answer == truth))

    def __len__(self) -> int:
        return len(self._right) - 1

    def percent(self, begin: int = 0, end: int | None = None) -> float:
        """Return how many of 100 records were right: of all, unless some are named."""
        last = len(self) if end is None else min(end, len(self))
        return 100 * (self._right[last] - self._right[begin]) / (last - begin)

    def of_late(self, window: int) -> tuple[list[int], list[float]]:
        """Return the same of the last so many records, at each record from there on."""
        ends = range(window, len(self) + 1)
        return list(ends), [self.percent(end - window, end) for end in ends]


def course(
    model: Any,
    records: Iterable[Mapping[str, Any]],
    label: str,
    found: Course | None = None,
) -> Course:
    """Let a model answer each record, and then learn it; return how right it was.

    If a course is given it goes on there.
    """
    found = Course() if found is None else found
    for record in records:
        x = {name: value for name, value in record.items() if name != label}
        found.take(model.predict_one(x), record[label])
        model.learn_one(x, record[label])
    return found


def commonest(records: Iterable[Mapping[str, Any]], label: str) -> float:
    """Return how many of 100 are right who always tells the commonest label."""
    labels = [record[label] for record in records]
    return 100 * max(map(labels.count, set(labels))) / len(labels)


def picture_wanted(what: str) -> Path | None:
    """Read the command line of a story; return where its picture is to be written, if at all."""
    parser = argparse.ArgumentParser(description=what)
    parser.add_argument("--picture", type=Path, help="write a picture there (needs matplotlib)")
    wanted: Path | None = parser.parse_args().picture
    if wanted is not None and not all(map(find_spec, ("matplotlib", "PIL"))):
        parser.error("--picture needs two packages: pip install matplotlib pillow")
    return wanted
