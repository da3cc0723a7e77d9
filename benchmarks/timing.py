"""Fair timing: what is compared runs in turn, A B A B ..., and medians are reported."""

from __future__ import annotations

import os
import resource
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import NamedTuple

RATIO_HEADER = ("what runs", "us per record", "ratio")


class Section(NamedTuple):
    """What one measurement publishes."""

    title: str
    body: str


class Effort(NamedTuple):
    """How much work to put into a measurement."""

    rounds: int
    share: float

    def rows(self, full: int, lowest: int = 200) -> int:
        """Return the number of rows to use where a full run uses `full`."""
        return max(min(full, lowest), int(full * self.share))


class Rounds(dict[str, list[float]]):
    """Microseconds per record of each runner, one figure a round."""

    def micros(self, name: str) -> float:
        """Return the runner's median."""
        return median(self[name])

    def ratio(self, name: str, to: str) -> float:
        """Return the median over the rounds of one runner's time over another's.

        Within a round both ran at nearly the same moment, so that a machine that slows down for
        a while slows both.
        """
        return median(a / b for a, b in zip(self[name], self[to], strict=True))

    def times(self, name: str, to: str) -> str:
        """Return the ratio as a text."""
        return f"{self.ratio(name, to):,.2f}x"


def alternate(runners: Mapping[str, Callable[[], float]], rounds: int) -> Rounds:
    """Run each runner in turn, `rounds` times; each returns its own microseconds per record."""
    times = Rounds({name: [] for name in runners})
    for _ in range(rounds):
        for name, run in runners.items():
            times[name].append(run())
    return times


def micros(work: Callable[[], object], records: int) -> float:
    """Return the microseconds per record of one call that handles that many."""
    begin = perf_counter()
    work()
    return 1e6 * (perf_counter() - begin) / records


def resident_megabytes() -> float:
    """Return the memory the process holds now or, where that is not told, its peak."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20
    except OSError:
        unit = 2**20 if sys.platform == "darwin" else 2**10
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def needed(data: Path | None) -> Path:
    """Return the data folder, or say that this measurement cannot do without."""
    if data is None:
        raise SystemExit("this measurement reads a data set: give --data DIR")
    return data
