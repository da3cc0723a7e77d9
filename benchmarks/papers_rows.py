"""A paper's figures beside this project's, and what is said where ours are lower."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import mean, pstdev
from typing import NamedTuple

import results

HEADER = ("data set", "method", "paper", "ours", "difference", "settings")


class Task(NamedTuple):
    """What the command line asks for."""

    data: Path
    repeats: int
    rounds: int
    quick: bool
    kept: Path | None = None

    @classmethod
    def of(cls, arguments: Namespace) -> Task:
        """Read the command line; a quick task does the least that gives every row a figure."""
        quick = bool(arguments.quick)
        return cls(
            arguments.data,
            1 if quick else arguments.repeats,
            1 if quick else arguments.rounds,
            quick,
            arguments.keep,
        )


class Row(NamedTuple):
    """One figure of a paper, in %, and ours, of one run or of several.

    ``why`` is what trying has shown to be the reason where ours is lower; it is printed only then.
    """

    data: str
    method: str
    quoted: float
    ours: Sequence[float]
    settings: str
    why: str = ""

    @property
    def behind(self) -> float:
        """Return by how much the paper is ahead, as it is printed; negative if it is not."""
        return round(self.quoted - mean(self.ours), 2)

    def cells(self) -> list[str]:
        """Return the row as the cells of a table."""
        difference = f"below by {self.behind:.2f}" if self.behind > 0 else f"+{-self.behind:.2f}"
        return [
            self.data,
            self.method,
            results.figure(self.quoted, 2),
            spread(self.ours),
            difference,
            self.settings,
        ]


def spread(figures: Sequence[float], digits: int = 2) -> str:
    """Return the mean and, of several, the standard deviation."""
    text = results.figure(mean(figures), digits)
    return f"{text} ± {pstdev(figures):.{digits}f}" if len(figures) > 1 else text


def body(rows: Iterable[Row], protocol: str) -> str:
    """Return the table, how many are reached, why the others are not, and the protocol."""
    listed = list(rows)
    reached = sum(row.behind <= 0 for row in listed)
    parts = [
        results.table(HEADER, [row.cells() for row in listed]),
        f"Accuracy in %; {reached} of {len(listed)} at or above the paper's figure.",
    ]
    below = [row for row in listed if row.behind > 0 and row.why]
    if below:
        parts.append(
            "\n".join(
                f"- {row.data}, {row.method}: below by {row.behind:.2f}. {row.why}" for row in below
            )
        )
    return "\n\n".join([*parts, protocol])


def claims(rows: Iterable[tuple[str, str, bool]]) -> str:
    """Return a table of what a paper's text says, what was measured, and whether it holds here."""
    header = ("what the paper says", "measured here", "holds")
    body = [(said, measured, "yes" if holds else "no") for said, measured, holds in rows]
    return results.table(header, body)
