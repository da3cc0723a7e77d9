"""What a record costs on real streams: by default, and with two threads instead of one."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import peers
import results
from measuring import BLOCK
from scores import run_blocks
from streams import Stream, load_stream
from timing import Effort, Rounds, Section, alternate, needed

ROWS = 20_000
HEADER = ("stream", "rows", "features", "classes")
NOTE = f"`test_then_learn` in blocks of {BLOCK:,}, a fresh model a round, us per record."


def by_default(learner: str, data: Path | None, effort: Effort) -> Section:
    """Time test_then_learn with the defaults, where there are many classes or features."""
    lines = []
    for name in ("letter", "mnist"):
        stream = load_stream(needed(data), name, effort.rows(ROWS))
        times, _ = timed(learner, stream, {learner: {}}, effort.rounds)
        lines.append([*described(stream), results.figure(times.micros(learner))])
    body = results.table([*HEADER, f"{learner}, us"], lines)
    return Section("By default", f"{body}\n\n{NOTE}")


def threads(learner: str, data: Path | None, effort: Effort) -> Section:
    """Time one thread against two, and compare to the bit what they have learned."""
    choices = {"1 thread": {"threads": 1}, "2 threads": {"threads": 2}}
    lines = []
    for name in ("covtype", "mnist"):
        stream = load_stream(needed(data), name, effort.rows(ROWS))
        times, same = timed(learner, stream, choices, effort.rounds)
        figures = [results.figure(times.micros(choice)) for choice in choices]
        faster = times.times("1 thread", "2 threads")
        lines.append([*described(stream), *figures, faster, "yes" if same else "NO"])
    header = [*HEADER, *(f"{choice}, us" for choice in choices), "faster", "same to the bit"]
    note = f"{NOTE} Same to the bit: the whole state of `{learner}` after the last record."
    return Section("Two threads", f"{results.table(header, lines)}\n\n{note}")


def timed(
    learner: str, stream: Stream, choices: Mapping[str, dict[str, Any]], rounds: int
) -> tuple[Rounds, bool]:
    """Time each choice of options, and tell whether all came to the same state."""
    few = stream._replace(X=stream.X[:100], y=stream.y[:100])
    states: dict[str, bytes] = {}

    def run(choice: str) -> float:
        model = peers.ours(learner, **choices[choice])
        done = run_blocks(model, stream, BLOCK)
        states[choice] = model._state.state.tobytes()
        return done.micros()

    for options in choices.values():
        run_blocks(peers.ours(learner, **options), few, BLOCK)
    times = alternate({choice: partial(run, choice) for choice in choices}, rounds)
    return times, len(set(states.values())) == 1


def described(stream: Stream) -> list[str]:
    """Return the stream's name and sizes as cells."""
    sizes = len(stream.y), stream.X.shape[1], len(np.unique(stream.y))
    return [stream.name, *(f"{size:,}" for size in sizes)]
