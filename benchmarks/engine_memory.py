"""The memory that an engine holds while it learns a file much larger than that."""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import engine
import options
import peers
import results
import timing

from stream_llsvm import Engine
from stream_llsvm.connectors import FileSink, FileSource
from stream_llsvm.engine.checkpoints import Checkpoints
from stream_llsvm.engine.watchers import Watcher

PART = 50_000  # records that are written again and again
_SHARES = (0.05, 0.25, 0.5, 0.75)


class Memory(Watcher):
    """Looks at the process's memory now and then."""

    def __init__(self, records: int) -> None:
        self._due = [int(share * records) for share in _SHARES]
        self.seen: list[float] = []
        self.peak = 0.0

    def on_turn(self, run: Engine) -> None:
        now = timing.resident_megabytes()
        self.peak = max(self.peak, now)
        if self._due and run.progress.counts["records"] >= self._due[0]:
            self._due.pop(0)
            self.seen.append(now)

    def on_end(self, run: Engine, error: BaseException | None) -> None:
        self.seen.append(timing.resident_megabytes())


def gigabytes(text: str) -> float:
    """Return a size that is more than nothing."""
    size = float(text)
    if not 0.01 <= size <= 1_000:
        raise argparse.ArgumentTypeError("between 0.01 and 1,000")
    return size


def main() -> None:
    """Measure what the command line asks for."""
    parser = options.parser(__doc__, "unused")
    parser.add_argument("--size", type=gigabytes, default=0.2, help="of the file, in GB")
    arguments = parser.parse_args()
    engine.learn("sapl", *engine.records(2_000))
    with tempfile.TemporaryDirectory() as text:
        folder = Path(text)
        part = engine.write(folder, *engine.records(PART))["CSV"].read_bytes()
        header, _, rows = part.partition(b"\n")
        times = max(1, round(arguments.size * 1e9 / len(rows)))
        data = folder / "large.csv"
        with data.open("wb") as file:
            file.write(header + b"\n")
            for _ in range(times):
                file.write(rows)
        records = PART * times
        memory = Memory(records)
        kept = Checkpoints(folder / "kept")
        sink = FileSink(folder / "out.jsonl", max_bytes=100_000_000, keep=2)
        run = Engine(
            FileSource(data, label="y"), peers.ours("sapl"), sink=sink, checkpoints=kept,
            every=5.0, watchers=[memory],
        )  # fmt: skip
        begin = time.perf_counter()
        run.run()
        rate = records / (time.perf_counter() - begin)
        size = data.stat().st_size / 1e9
        sink.close()
        kept.close()
    shares = [f"{share:.0%}" for share in (*_SHARES, 1.0)]
    lines = [["memory, MB", *(f"{seen:,.0f}" for seen in memory.seen)]]
    text = "\n\n".join(
        [
            results.table(["of the file learned", *shares], lines),
            f"{records:,} records, {size:.1f} GB of CSV, a SAPLClassifier, predictions to rotating "
            f"files, a checkpoint every five seconds; at most {memory.peak:,.0f} MB, {rate:,.0f} "
            "records/s. Most of the memory is Python's, numba's and pyarrow's.",
        ]
    )
    results.publish("engine_memory", "Memory over a large file", text, arguments.write)


if __name__ == "__main__":
    main()
