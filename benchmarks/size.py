"""How much memory and processor a run and a server need: what to ask of a machine for each model.

Each is a process of its own, as it is deployed: with its page, checkpoints, and what watches it. It
is looked at before the first record and after the last one.
"""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np
import options
import results
from serve import cpu_of

from stream_llsvm.client import Client

RECORDS, BATCH = 20_000, 100
MODELS, FIELDS = ("committee", "sapl"), (22, 54)
WAYS = ("run", "serve")
_STEP = 64  # MiB that what is suggested is rounded up to
_SPARE = 1.25
_PATIENCE = 600.0  # seconds


class Needs(NamedTuple):
    """What a process needed."""

    empty: float  # MiB resident before the first record
    full: float  # after the last one
    most: float
    checkpoint: float
    micros: float  # of CPU a record


class Process:
    """A run or a server, and where it answers."""

    def __init__(self, process: subprocess.Popen[str], address: str) -> None:
        self.address, self._process = address, process

    @property
    def cpu(self) -> float:
        """Seconds of CPU that it has used."""
        return cpu_of(self._process.pid)

    def memory(self, what: str) -> float:
        """Return its memory in MiB: VmRSS now, VmHWM the most that there was."""
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        found = re.search(rf"^{what}:\s*(\d+) kB", status, re.MULTILINE)
        assert found is not None
        return int(found[1]) / 1024

    def wait_for(self, learned: int) -> None:
        """Return when so many records have been learned."""
        end = time.monotonic() + _PATIENCE
        while time.monotonic() < end:
            with urllib.request.urlopen(f"{self.address}metrics") as answer:
                text = answer.read().decode()
            found = re.search(r"^stream_llsvm_learned_total(?:{.*})? (\d+)", text, re.MULTILINE)
            if found and int(found[1]) >= learned:
                return
            time.sleep(0.2)
        raise RuntimeError(f"{learned:,} records were not learned within {_PATIENCE:g} s")


@contextmanager
def started(*arguments: object) -> Iterator[Process]:
    """Start the command, and end it."""
    command = [sys.executable, "-m", "stream_llsvm.cli", *map(str, arguments)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stderr is not None
    found = None
    try:
        while found is None:
            line = process.stderr.readline()
            if not line:
                raise RuntimeError(f"{' '.join(command)} ended with {process.wait()}")
            found = re.search(r"(?:serving .*|the live page is) at (http://\S+)", line)
        yield Process(process, found[1])
    finally:
        process.terminate()
        process.communicate()


def rows(number: int, fields: int) -> list[dict[str, float]]:
    """Return records whose label no linear machine can tell."""
    x = np.random.default_rng(1).normal(size=(number, fields)).round(4)
    labels = (x[:, 0] * x[:, 1] > 0).astype(int).tolist()
    names = [f"field_{i}" for i in range(fields)]
    return [
        dict(zip(names, row, strict=True)) | {"y": y}
        for row, y in zip(x.tolist(), labels, strict=True)
    ]


def measured(way: str, model: str, fields: int, number: int) -> Needs:
    """Return what a process needs for a model."""
    some = rows(number, fields)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        data = folder / "records.jsonl"
        data.touch()
        more = ["--label", "y", "--model", model, "--every", 5]
        if way == "run":
            kept = folder / "checkpoints"
            how = ["run", "--from", data, "--follow", "--checkpoints", kept, "--dashboard", 0]
        else:
            kept = folder / "default" / "checkpoints"
            how = ["serve", "--folder", folder, "--port", 0]
        with started(*how, *more) as process:
            process.wait_for(0)
            empty = process.memory("VmRSS")
            first = some[:BATCH]  # the first loads kernels, or compiles them
            learn(way, process, data, first)
            process.wait_for(len(first))
            cpu = process.cpu
            learn(way, process, data, some[BATCH:])
            process.wait_for(number)
            micros = 1e6 * (process.cpu - cpu) / (number - BATCH)
            full, most = process.memory("VmRSS"), process.memory("VmHWM")
        sizes = [file.stat().st_size for file in kept.iterdir() if file.suffix != ".sqlite"]
    return Needs(empty, full, most, max(sizes) / 2**20, micros)


def learn(way: str, process: Process, data: Path, some: list[dict[str, float]]) -> None:
    """Let it have records."""
    if way == "run":
        with data.open("a") as file:
            file.writelines(json.dumps(record) + "\n" for record in some)
    else:
        with Client(process.address, batch=BATCH) as client:
            for _ in client.send(some):
                pass


def suggested(needs: Needs) -> tuple[int, int]:
    """Return how much memory to ask for, and where to end what needs more, in MiB.

    Examples
    --------
    >>> suggested(Needs(150, 250, 260, 4, 20))
    (384, 768)

    """
    asked = math.ceil(_SPARE * needs.most / _STEP) * _STEP
    return asked, 2 * asked


def main() -> None:
    """Measure, and print or write the table."""
    parser = options.parser(__doc__, data="unused")
    parser.add_argument("--records", type=options.at_least(1_000), default=RECORDS)
    given = parser.parse_args()
    lines = []
    for way in WAYS:
        for model in MODELS:
            for fields in FIELDS:
                needs = measured(way, model, fields, given.records)
                asked, most = suggested(needs)
                cells = (needs.empty, needs.full, needs.most)
                lines.append(
                    [
                        f"`{way}`, {model}, {fields} fields",
                        *(results.figure(cell, 0) for cell in cells),
                        results.figure(needs.checkpoint, 1),
                        results.figure(needs.micros, 1),
                        results.figure(1e6 / needs.micros, 0),
                        f"{asked}Mi",
                        f"{most}Mi",
                    ]
                )
    header = ["process", "resident at the start, MiB", "after the records, MiB", "peak, MiB"]
    header += ["checkpoint, MiB", "CPU, us a record", "records a CPU second"]
    header += ["memory to request", "to limit"]
    note = (
        f"{given.records:,} records of two classes, predicted and learned: of `run` from a file of "
        f"JSON lines, of `serve` in requests of {BATCH} that are synced to the disk, with ids. "
        "Page, history and a checkpoint every 5 seconds are part of it; nobody watches. The CPU is "
        "that of all threads, without the first records, which load the kernels. The request is "
        f"{_SPARE:g} times the peak, the limit twice that."
    )
    body = f"{results.table(header, lines)}\n\n{note}"
    results.publish("size", "What a process needs", body, given.write)


if __name__ == "__main__":
    main()
