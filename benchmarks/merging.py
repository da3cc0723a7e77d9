"""Learners of one model that are merged now and then, beside one that learns all records.

The first records are learned by one. Then so many learn side by side, each from a copy of the last
merged model, and are merged after so many records each: records are dealt in turn, or each learner
takes a slice of the stream. Every record is predicted before it is learned, by who learns it.
"""

from __future__ import annotations

import argparse
import copy
import math
import warnings
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any, NamedTuple

import numpy as np
import options
import peers
import results
from numpy.typing import NDArray

from stream_llsvm import CommitteeClassifier
from stream_llsvm.learners.merge import MergeWarning

WARM, EACH = 2_000, 1_000
LEARNERS = (2, 4, 8)
#: Of slices each learner counts so many times as much as the one before it.
NEWER = 2.0
#: Members of the time before words, contexts and trees: 3.4 MB on Covertype.
SMALLER = ("anchors:1", "anchors:30", "anchors:300", "additive:33", "memory:2000", "prior:32",
           "waves:128", "ferns:100")  # fmt: skip
#: A learner's share of a merge of that model shall take at most so many milliseconds.
MOST_MILLISECONDS = 2.0


class Stream(NamedTuple):
    """A stream: how many of its records, whether they are shuffled, and what four may lose."""

    file: str
    rows: int
    shuffled: bool
    dealt: str
    target: float

    @property
    def title(self) -> str:
        """What tables call it."""
        return f"{self.file}, {'shuffled' if self.shuffled else 'in order'}"


STREAMS = (
    Stream("covtype", 80_000, True, "in turn", 0.7),
    Stream("letter", 20_000, True, "in turn", 1.3),
    Stream("mnist", 20_000, True, "in turn", 0.4),
    Stream("electricity", 45_312, False, "in slices", 0.5),
    Stream("covtype", 100_000, False, "in slices", 0.5),
)


class Run(NamedTuple):
    """What became of one way to learn a stream: accuracy in %, and of merges the milliseconds."""

    accuracy: float
    milliseconds: float
    taken: int


def load(folder: Path, stream: Stream, most: float) -> tuple[NDArray[Any], NDArray[Any]]:
    """Read a stream."""
    with np.load(folder / f"{stream.file}.npz") as data:
        if "X" in data:
            X, y = data["X"], data["y"]
        else:
            X, y = (np.concatenate([data[f"{n}_train"], data[f"{n}_test"]]) for n in "Xy")
    X, y = X.reshape(len(X), -1), y.astype(np.int64)
    rows = int(min(stream.rows, most))
    kept = np.random.default_rng(0).permutation(len(X))[:rows] if stream.shuffled else slice(rows)
    return np.ascontiguousarray(X[kept], dtype=np.float64), y[kept]


def learned(X: Any, y: Any, learners: int, dealt: str, *, since: bool) -> Run:
    """Learn a stream by so many learners; what counts comes after the first records."""
    model: Any = peers.ours("committee")
    model.test_then_learn(X[:WARM], y[:WARM])
    right, times, taken = np.zeros(len(y), dtype=bool), [], 0
    for begin in range(WARM, len(y), learners * EACH):
        rows = np.arange(begin, min(begin + learners * EACH, len(y)))
        own = (
            np.arange(len(rows)) % learners if dealt == "in turn" else np.arange(len(rows)) // EACH
        )
        parts = []
        for p in range(learners):
            some = rows[own == p]
            if len(some) > 0:
                part = copy.deepcopy(model)
                right[some] = part.test_then_learn(X[some], y[some]) == y[some]
                parts.append(part)
        before = process_time()
        weights = None if dealt == "in turn" else [NEWER**p for p in range(len(parts))]
        merged = parts[0].merge(parts[1:], weights, since=model if since else None)
        times.append((process_time() - before) / len(parts))
        taken += sum(merged.merge_fallbacks.values()) > sum(model.merge_fallbacks.values())
        model = merged
    return Run(100 * float(right[WARM:].mean()), 1_000 * median(times), taken)


def alone(X: Any, y: Any) -> float:
    """Return the accuracy of one learner, in %."""
    model: Any = peers.ours("committee")
    model.test_then_learn(X[:WARM], y[:WARM])
    return 100 * float((model.test_then_learn(X[WARM:], y[WARM:]) == y[WARM:]).mean())


def measure(folder: Path, stream: Stream, most: float) -> list[list[str]]:
    """Return the rows of the table that are a stream's."""
    X, y = load(folder, stream, most)
    one, rows = alone(X, y), []
    for dealt in ("in turn", "in slices"):
        lost = [learned(X, y, n, dealt, since=True) for n in LEARNERS]
        mean = learned(X, y, 4, dealt, since=False)
        target = f"{-stream.target:.1f}" if dealt == stream.dealt else "-"
        rows.append(
            [stream.title, f"{len(y):,}", f"{one:.2f}", dealt]
            + [f"{run.accuracy - one:+.2f}" for run in lost]
            + [target, f"{mean.accuracy - one:+.2f}", f"{lost[1].milliseconds:.1f}"]
            + [str(lost[1].taken)]
        )
        print(*rows[-1], sep="  ", flush=True)
    return rows


def prices(folder: Path, rounds: int) -> str:
    """Say what a merge of four costs, of a model of 3.4 MB and of the usual committee."""
    X, y = load(folder, STREAMS[0], WARM + 5 * EACH)
    rows = []
    for title, members in (("without words, contexts and trees", SMALLER), ("usual", None)):
        base = CommitteeClassifier() if members is None else CommitteeClassifier(members=members)
        base.learn_many(X[:WARM], y[:WARM])
        parts = [copy.deepcopy(base) for _ in range(4)]
        for p, part in enumerate(parts):
            some = slice(WARM + p * EACH, WARM + (p + 1) * EACH)
            part.learn_many(X[some], y[some])
        times: dict[bool, list[float]] = {True: [], False: []}
        for i in range(2 * rounds + 2):
            since = i % 2 == 0
            before = process_time()
            parts[0].merge(parts[1:], since=base if since else None)
            if i > 1:
                times[since].append(1_000 * (process_time() - before) / len(parts))
        state = base._state
        assert state is not None
        target = f"{MOST_MILLISECONDS:.0f}" if members else "-"
        rows.append(
            [title, f"{state.state.nbytes / 1e6:.1f}", f"{median(times[True]):.2f}", target,
             f"{median(times[False]):.2f}"]
        )  # fmt: skip
    header = ["committee", "MB", "since, ms a learner", "target", "mean, ms a learner"]
    return results.table(header, rows)


def main() -> None:
    """Measure what the command line asks for."""
    parser: argparse.ArgumentParser = options.parser(__doc__)
    parser.add_argument("--rows", type=options.at_least(WARM + EACH), default=None)
    parser.add_argument("--rounds", type=options.at_least(1), default=21)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", MergeWarning)  # counted in the table
    price = prices(arguments.data, arguments.rounds)
    print(price, flush=True)
    most = arguments.rows or math.inf
    rows = [row for stream in STREAMS for row in measure(arguments.data, stream, most)]
    header = ["stream", "records", "one learner, %", "dealt", *(f"{n} learners" for n in LEARNERS),
              "target of 4", "4, mean", "ms a learner", "merges with a fallback"]  # fmt: skip
    text = "\n\n".join(
        [
            f"Accuracy in %, and points that learners lose against one who learns all records; "
            f"merged after {EACH:,} records each, the first {WARM:,} learned by one. Merged with "
            "`since`; beside it four whose mean is taken, as without it. In slices a learner "
            "counts twice as much as the one whose slice came before its own.",
            results.table(header, rows),
            "Processor time of a merge of four on Covertype, by the number of learners; medians.",
            price,
        ]
    )
    results.publish("merging", "Models that learned side by side", text, arguments.write)


if __name__ == "__main__":
    main()
