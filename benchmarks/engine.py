"""From file to model: what decoding costs, what learning costs, and what the engine adds."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
import options
import peers
import results

from stream_llsvm import Engine
from stream_llsvm.connectors import FileSource
from stream_llsvm.engine.checkpoints import Checkpoints

FEATURES = 22
BLOCK = 1_000
ROUNDS = 5


def records(n: int) -> tuple[Any, Any]:
    """Make records of two classes."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, FEATURES)).round(4)
    return X, (X[:, 0] * X[:, 1] + X[:, 2] > 0).astype(int)


def write(folder: Path, X: Any, y: Any) -> dict[str, Path]:
    """Write the records in two formats."""
    names = [f"f{i}" for i in range(FEATURES)]
    paths = {"CSV": folder / "stream.csv", "JSON Lines": folder / "stream.jsonl"}
    with paths["CSV"].open("w") as file:
        file.write(",".join([*names, "y"]) + "\n")
        for row, label in zip(X.tolist(), y.tolist(), strict=True):
            file.write(",".join(map(str, [*row, label])) + "\n")
    with paths["JSON Lines"].open("w") as file:
        for row, label in zip(X.tolist(), y.tolist(), strict=True):
            file.write(json.dumps(dict(zip(names, row, strict=True)) | {"y": label}) + "\n")
    return paths


def decode(path: Path) -> float:
    """Return the seconds that reading and decoding take by themselves."""
    source = FileSource([path], label="y")
    begin = perf_counter()
    while source.poll(BLOCK, 0.1) is not None:
        pass
    return perf_counter() - begin


def learn(name: str, X: Any, y: Any) -> float:
    """Return the seconds that predicting and learning take by themselves."""
    model = peers.ours(name)
    begin = perf_counter()
    for first in range(0, len(y), BLOCK):
        model.test_then_learn(X[first : first + BLOCK], y[first : first + BLOCK])
    return perf_counter() - begin


def run(name: str, path: Path, folder: Path) -> float:
    """Return the seconds of a whole run, with checkpoints and drift detection."""
    kept = Checkpoints(folder)
    engine = Engine(FileSource([path], label="y"), peers.ours(name), checkpoints=kept, every=1.0)
    begin = perf_counter()
    engine.run()
    seconds = perf_counter() - begin
    kept.close()
    return seconds


def pause() -> float:
    """Return the seconds for which a checkpoint of the largest default model holds the loop."""
    rng = np.random.default_rng(0)
    model = peers.ours("committee")
    model.learn_many(rng.normal(size=(1_000, 784)), np.arange(1_000) % 10)
    with tempfile.TemporaryDirectory() as folder:
        kept = Checkpoints(folder)
        engine = Engine(FileSource("-", format="csv", label="y"), model, checkpoints=kept)
        times = []
        for _ in range(5):
            begin = perf_counter()
            engine.checkpoint()
            times.append(perf_counter() - begin)
            kept.finish()
        kept.close()
    return median(times)


def main() -> None:
    """Measure what the command line asks for."""
    parser = options.parser(__doc__, "unused")
    parser.add_argument("--rows", type=options.at_least(BLOCK), default=300_000)
    arguments = parser.parse_args()
    X, y = records(arguments.rows)
    lines = []
    for name in ("sapl", "committee"):
        learn(name, X[:2_000], y[:2_000])  # compiled before the clock starts
    with tempfile.TemporaryDirectory() as text:
        folder = Path(text)
        for kind, path in write(folder, X, y).items():
            for name in ("sapl", "committee"):
                rounds = [
                    (decode(path), learn(name, X, y), run(name, path, folder / f"{kind}{name}{i}"))
                    for i in range(ROUNDS)
                ]
                rates = [f"{arguments.rows / median(s):,.0f}" for s in zip(*rounds, strict=True)]
                slower = median(whole / max(alone, taught) for alone, taught, whole in rounds)
                total = median(whole / (alone + taught) for alone, taught, whole in rounds)
                lines.append([kind, name, *rates, f"{slower:.2f}", f"{total:.2f}"])
    header = ["file", "model", "decoding, records/s", "learning", "the engine"]
    header += ["to the slower of both", "to their sum"]
    text = "\n\n".join(
        [
            results.table(header, lines),
            f"{arguments.rows:,} records of {FEATURES} features and 2 classes in batches of "
            f"{BLOCK:,}; medians of {ROUNDS} alternating rounds, also of the ratios. The engine "
            "reads, decodes, predicts, scores, learns, looks for drift and writes a checkpoint a "
            "second, the last of them at its end. A checkpoint of a committee over 784 features "
            "and 10 classes holds the loop for "
            f"{1e3 * pause():.1f} ms.",
        ]
    )
    results.publish("engine", "From file to model", text, arguments.write)


if __name__ == "__main__":
    main()
