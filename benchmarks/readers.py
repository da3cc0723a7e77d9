"""What readers lose who answer with a model that is some records old, and what publishing costs.

One learner predicts and learns every record. Beside it readers answer the same records with the
model as it was when so many records were last full.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from statistics import median
from time import thread_time
from typing import Any

import numpy as np
import options
import peers
import results
from merging import Stream, load

from stream_llsvm.learners.load import from_payload
from stream_llsvm.learners.pipeline import payload_of
from stream_llsvm.model.file import write

AGES = (100, 1_000, 10_000)

STREAMS = (
    Stream("electricity", 45_312, False, "", 0.0),
    Stream("covtype", 50_000, False, "", 0.0),
    Stream("covtype", 50_000, True, "", 0.0),
    Stream("letter", 20_000, True, "", 0.0),
)


class Reader:
    """Answers with the model as it was when so many records were last full."""

    def __init__(self, age: int) -> None:
        self._age, self._model = age, None
        self.right = 0

    def look(self, begin: int, payload: Any) -> None:
        """Take the newest model."""
        if self._model is None or begin % self._age == 0:
            self._model = from_payload(payload)

    def answer(self, X: Any, y: Any) -> None:
        """Answer some records."""
        assert self._model is not None
        self.right += int(np.count_nonzero(np.asarray(self._model.predict_many(X)) == y))


def measure(X: Any, y: Any) -> list[str]:
    """Return the cells of a stream's row."""
    model: Any = peers.ours("committee")
    copied, written = list[float](), list[float]()
    readers, step, right = [Reader(age) for age in AGES], min(AGES), 0
    model.test_then_learn(X[:step], y[:step])
    with tempfile.TemporaryDirectory() as folder:
        for begin in range(step, len(y) - step + 1, step):
            some = slice(begin, begin + step)
            before = thread_time()
            payload = payload_of(model)
            copied.append(1_000 * (thread_time() - before))
            if begin % 1_000 == 0:
                before = thread_time()
                write(Path(folder) / "model", payload)
                written.append(1_000 * (thread_time() - before))
            for reader in readers:
                reader.look(begin, payload)
                reader.answer(X[some], y[some])
            right += int(np.count_nonzero(model.test_then_learn(X[some], y[some]) == y[some]))
    asked = (len(y) // step - 1) * step
    lost = [f"{100 * (reader.right - right) / asked:+.1f}" for reader in readers]
    prices = [f"{median(copied):.1f}", f"{median(written):.0f}"]
    return [f"{asked:,}", f"{100 * right / asked:.2f}", *lost, *prices]


def main() -> None:
    """Measure what the command line asks for."""
    parser: argparse.ArgumentParser = options.parser(__doc__)
    parser.add_argument("--rows", type=options.at_least(2_000), default=None)
    arguments = parser.parse_args()
    rows = []
    for stream in STREAMS:
        X, y = load(arguments.data, stream, arguments.rows or np.inf)
        rows.append([stream.title, *measure(X, y)])
        print(*rows[-1], sep="  ", flush=True)
    header = ["stream", "records", "the learner, %", *(f"each {age:,}" for age in AGES),
              "copying, ms", "writing, ms"]  # fmt: skip
    text = "\n\n".join(
        [
            "Accuracy in % of a committee that learns every record, and points that readers lose "
            "who answer the same records with the model as it was published last, each so many "
            "records. A run stands still while the model is copied; a thread of its own writes it. "
            "Processor time, medians.",
            results.table(header, rows),
        ]
    )
    results.publish(
        "readers", "Readers with a model that is some records old", text, arguments.write
    )


if __name__ == "__main__":
    main()
