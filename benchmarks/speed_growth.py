"""How the cost grows: with time, and with the model's size."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import peers
import results
from numpy.typing import NDArray
from scores import run_blocks
from streams import Stream
from timing import Effort, Section, alternate, micros, resident_megabytes

BLOCK = 10_000
DEFAULTS = {"D": 22, "k": 8, "m": 100}
GROWTH = {
    "D": (8, 16, 32, 64, 128, 256, 512),
    "k": (2, 4, 8, 16, 32),
    "m": (25, 50, 100, 200, 400, 800),
}


def for_ever(learner: str, data: Path | None, effort: Effort) -> Section:
    """Time 2 million drifting records: does the last tenth cost what the second did."""
    blocks = effort.rows(2_000_000, 20 * BLOCK) // BLOCK
    tenth = blocks // 10
    model = peers.ours(learner)
    rng = np.random.default_rng(0)
    times: list[float] = []
    memory: list[float] = []
    for number in range(blocks):
        block = drifting(rng, number / blocks)
        times.append(micros(partial(model.test_then_learn, *block), BLOCK))
        memory.append(resident_megabytes())
    second, last = median(times[tenth : 2 * tenth]), median(times[-tenth:])
    lines: list[list[object]] = [
        ["second tenth", results.figure(second, 2), results.figure(memory[2 * tenth - 1])],
        ["last tenth", results.figure(last, 2), results.figure(memory[-1])],
        ["last / second", results.figure(last / second, 3), ""],
    ]
    note = (
        f"{blocks * BLOCK:,} records of 22 features whose concept turns all the while, "
        f"`test_then_learn` in blocks of {BLOCK:,}; medians of a tenth's blocks, resident memory "
        "at the end of the tenth."
    )
    body = results.table(["", "us per record", "memory MB"], lines)
    return Section("Flat for ever", body + "\n\n" + note)


def drifting(rng: np.random.Generator, moment: float) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return a block of records whose boundary turns by half a circle as moment goes 0 to 1."""
    X = rng.standard_normal((BLOCK, DEFAULTS["D"]), dtype=np.float32) + np.float32(moment)
    angle = np.pi * moment
    return X, X[:, 0] * np.cos(angle) + X[:, 1] * np.sin(angle) + 0.5 * X[:, 2] * X[:, 3] > 0


def growth(learner: str, data: Path | None, effort: Effort) -> Section:
    """Time a record against the number of features, neighbours and anchors, one at a time."""
    rows = effort.rows(20_000)
    lines = []
    for symbol, values in GROWTH.items():
        runners = {
            str(value): grown(learner, {**DEFAULTS, symbol: value}, rows) for value in values
        }
        times = alternate(runners, effort.rounds)
        costs = [times.micros(name) for name in times]
        power = np.polyfit(np.log(values), np.log(costs), 1)[0]
        cells = ", ".join(f"{value}: {cost:.2f}" for value, cost in zip(values, costs, strict=True))
        lines.append([symbol, cells, results.figure(float(power), 2)])
    settings = ", ".join(f"{symbol} = {value}" for symbol, value in DEFAULTS.items())
    note = (
        f"One of D features, k neighbours, m anchors is varied, the others at {settings}; 2 "
        f"classes, {rows:,} rows by `test_then_learn` once all anchors are born. Exponent: of the "
        "power law fitted to the row; 1 is linear, below 1 is cheaper than linear."
    )
    body = results.table(["", "us per record", "exponent"], lines)
    return Section("Growth of the cost", body + "\n\n" + note)


def grown(learner: str, sizes: dict[str, int], rows: int) -> Callable[[], float]:
    """Return a runner over a model of these sizes, all its anchors born."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((rows, sizes["D"]), dtype=np.float32)
    stream = Stream("normal", X, X[:, 0] * X[:, 1] + X[:, 2] > 0, None)
    model = peers.ours(learner, n_anchors=sizes["m"], n_neighbors=sizes["k"])
    model.learn_many(X[:5_000], stream.y[:5_000])
    return lambda: run_blocks(model, stream, 1_000).micros()
