"""Where the machine ends: multiply-adds and bytes a record against what the machine can do.

Multiply-adds are counted from a model's plan, each member's own; of one that rests an eighth. Each
takes one number of four bytes from what the model keeps, the other is the record's. How fast the
machine multiplies and reads is measured by two small loops, the latter over as many bytes as the
members at work keep.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from statistics import median
from typing import Any, NamedTuple

import numpy as np
import options
import peers
import results
from numba import njit
from numpy.typing import NDArray
from streams import Stream, load_stream

from stream_llsvm.kernels.judge import JUDGE_ONE_IN
from stream_llsvm.kernels.mixer import AWAKE
from stream_llsvm.kernels.plan import MEMBER_ROW
from stream_llsvm.learners.base import LocalClassifier
from stream_llsvm.model.state import ModelState

STREAMS = ("electricity", "magic04", "covtype", "letter", "mnist")
RECORDS, BLOCK = 20_000, 500
#: What a number takes that a multiply-add reads, and one of a record.
NUMBER, VALUE = 4, 8
#: Multiply-adds in a row of the loop that only multiplies, and how long each loop runs.
IN_A_ROW, SECONDS = 16, 0.3
#: What is smaller than this would be read from the nearest cache alone, and never alone.
FEWEST_BYTES = 32_768


class Demand(NamedTuple):
    """What a record asks of the machine."""

    multiply_adds: float
    bytes: float
    #: How many bytes the members at work keep.
    kept: float


@njit(fastmath=True)
def _multiply(x: Any) -> None:
    """Sixteen multiply-adds for each number, which lies in the nearest cache."""
    for i in range(x.size):
        v, a, b = x[i], np.float32(0.9999), np.float32(1e-4)
        v = v * a + b
        v = v * a + b
        v = v * a + b
        v = v * a + b
        v = v * a + b
        v = v * a + b
        v = v * a + b
        v = v * a + b
        v = v * a + b
        v = v * a + b
        v = v * a + b
        v = v * a + b
        v = v * a + b
        v = v * a + b
        v = v * a + b
        v = v * a + b
        x[i] = v


@njit(fastmath=True)
def _read(x: Any) -> Any:
    """Read each number once."""
    total = np.float32(0)
    for i in range(x.size):
        total += x[i]
    return total


def rate(loop: Callable[[NDArray[np.float32]], object], size: int, each: int) -> float:
    """Return how much of what a loop does, so much for each number, is done in a second."""
    x = np.ones(size, dtype=np.float32)
    loop(x)
    rounds = max(1, 2_000_000 // size)
    rates: list[float] = []
    end = time.perf_counter() + SECONDS
    while time.perf_counter() < end or len(rates) < 3:
        begin = time.perf_counter()
        for _ in range(rounds):
            loop(x)
        rates.append(rounds * size * each / (time.perf_counter() - begin))
    return median(rates)


def demand(state: ModelState) -> Demand:
    """Return what a record asks for now: of the members at work, and an eighth of the others."""
    works = state.views(0)["members"][AWAKE] > 0
    share = np.where(works, 1.0, 1 / JUDGE_ONE_IN)
    costs = float(state.plan[1:, MEMBER_ROW.cost] @ share)
    kept = [
        sum(view.nbytes for view in state.views(1 + i).values()) for i in range(len(state.members))
    ]
    return Demand(costs, NUMBER * costs + VALUE * state.width, float(kept @ works))


def followed(model: LocalClassifier, stream: Stream) -> tuple[Demand, float]:
    """Return what the records of a stream asked for, on the mean, and their processor time."""
    demands, seconds = [], 0.0
    for i in range(0, len(stream.y), BLOCK):
        begin = time.process_time()
        model.test_then_learn(stream.X[i : i + BLOCK], stream.y[i : i + BLOCK])
        seconds += time.process_time() - begin
        assert model._state is not None
        demands.append(demand(model._state))
    return Demand(*np.mean(demands, axis=0).tolist()), seconds / len(stream.y)


def line(learner: str, stream: Stream, multiplied: float) -> list[str]:
    """Return a learner on a stream as the cells of a table; the machine multiplies that fast."""
    make = partial(peers.ours, learner)
    followed(make(), stream._replace(X=stream.X[:BLOCK], y=stream.y[:BLOCK]))  # compiled, loaded
    asked, seconds = followed(make(), stream)
    read = rate(_read, int(max(asked.kept, FEWEST_BYTES)) // NUMBER, NUMBER)
    least = max(asked.multiply_adds / multiplied, asked.bytes / read)
    return [
        stream.name,
        peers.title(learner),
        results.figure(asked.multiply_adds, 0),
        results.figure(asked.bytes, 0),
        results.figure(asked.kept / 2**20, 2),
        results.figure(read / 1e9, 0),
        results.figure(1e6 * asked.multiply_adds / multiplied, 2),
        results.figure(1e6 * asked.bytes / read, 2),
        results.figure(1e6 * seconds, 2),
        results.figure(100 * least / seconds, 0),
    ]


HEADER = (
    "stream", "learner", "multiply-adds", "bytes", "MB kept", "GB/s", "us, multiplying",
    "us, reading", "us, measured", "bound / measured, %",
)  # fmt: skip


def main() -> None:
    """Measure what the command line asks for."""
    parser = options.parser(__doc__)
    options.add_streams(parser, STREAMS)
    options.add_learners(parser, "committee,sapl")
    arguments = parser.parse_args()
    options.check_names(parser, arguments.data, arguments.streams)
    multiplied = rate(_multiply, 2_048, IN_A_ROW)
    rows = []
    for name in dict.fromkeys(arguments.streams):
        stream = load_stream(arguments.data, name, arguments.rows or RECORDS)
        rows += [line(learner, stream, multiplied) for learner in arguments.learners]
    note = (
        f"The first {arguments.rows or RECORDS:,} records at most, in blocks of {BLOCK}, on one "
        f"core, which multiplies and adds {multiplied / 1e9:,.0f} thousand million numbers a "
        "second. Multiply-adds and bytes are of a record, counted from the plan; who rests counts "
        "an eighth. GB/s: how fast as many bytes as the members at work keep are read, again and "
        "again. The bound is the longer of both times: what is above it goes into searches that "
        "branch, cells fetched one by one, exponentials, and the mixer."
    )
    body = results.table(HEADER, rows) + "\n\n" + note
    results.publish("roofline", "Where the machine ends", body, arguments.write)


if __name__ == "__main__":
    main()
