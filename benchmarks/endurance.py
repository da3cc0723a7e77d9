"""Long runs: memory, price and progress must not change with the number of records.

Three cases: a file, a backlog of four uneven Kafka partitions, a server under load. Anonymous
memory (that of no file) is sampled some hundred times; its slope is a least-squares line through
all samples after the first tenth. A run that stands still ends the script with an error.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import engine_kafka
import numpy as np
import order
import peers
import results

from stream_llsvm import Engine
from stream_llsvm.connectors import FileSink, FileSource, KafkaSource, message_codec
from stream_llsvm.engine.checkpoints import Checkpoints
from stream_llsvm.engine.watchers import Watcher

LOOKS = 200
SHARES = (0.1, 0.25, 0.5, 0.75, 1.0)
PART = 100_000  # records that are written again and again
UNEVEN = (0.6, 0.25, 0.12, 0.03)  # of a topic's messages in each partition
STILL = 120.0  # seconds without a record end a run

HOW = {
    "file": "a CSV, a checkpoint every five seconds, predictions to rotating files.",
    "kafka": "a backlog on four partitions that hold "
    f"{', '.join(f'{share:.0%}' for share in UNEVEN)} of it, in the order of time; a checkpoint "
    "every five seconds, predictions to rotating files.",
    "serve": "16 clients, records with ids, a tenth of them labelled later, /metrics read at each "
    "look, a checkpoint every five seconds.",
}


class Looks:
    """Memory, CPU time and open files of a process, by records so far."""

    def __init__(self, process: int | str = "self") -> None:
        self._of = Path(f"/proc/{process}")
        self.rows: list[tuple[float, float, float, float, float]] = []

    def look(self, records: float) -> None:
        """Note how things are."""
        text = (self._of / "smaps_rollup").read_text()
        anonymous = re.search(r"^Anonymous:\s+(\d+)", text, re.MULTILINE)
        assert anonymous is not None
        fields = (self._of / "stat").read_text().rpartition(")")[2].split()
        cpu = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        files = len(list((self._of / "fd").iterdir()))
        self.rows.append((records, int(anonymous[1]) / 1024, cpu, files, time.monotonic()))

    def cells(self) -> list[str]:
        """Return what a row of the table says."""
        records, memory, cpu, files, clock = np.array(self.rows).T
        total = records[-1]
        late = records >= total / 10
        slope = np.polyfit(records[late], memory[late] * 2**20, 1)[0]
        at = [memory[np.searchsorted(records, share * total)] for share in SHARES]
        price = [
            1e6 * (np.interp(b * total, records, cpu) - np.interp(a * total, records, cpu))
            for a, b in ((0.1, 0.4), (0.7, 1.0))
        ]
        return [
            f"{total:,.0f}",
            *(f"{one:,.0f}" for one in at),
            f"{slope:+.1f}",
            *(f"{one / (0.3 * total):.1f}" for one in price),
            f"{files[late].min():.0f} to {files[late].max():.0f}",
            f"{np.diff(clock).max():.1f}",
        ]


class Look(Watcher):
    """Looks at its own process each time that so many records more have been learned."""

    def __init__(self, records: int) -> None:
        self.looks, self._step, self._next = Looks(), records / LOOKS, 0.0
        self.last = time.monotonic()

    def on_turn(self, run: Engine) -> None:
        """Look if it is time."""
        done = run.progress.counts["records"]
        if done >= self._next:
            self.looks.look(done)
            self._next, self.last = done + self._step, time.monotonic()
        elif time.monotonic() - self.last > STILL:
            raise SystemExit(f"{done:,} records were learned, and no more for {STILL:.0f} s")


def mixed(n: int, keys: int) -> list[dict[str, Any]]:
    """Return records of 12 numbers and 4 names, one of them of many values."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 12)).round(4)
    names = rng.integers(0, [keys, 50, 7, 2], (n, 4))
    y = (X[:, 0] * X[:, 1] + (names[:, 2] == 3) > 0).astype(int)
    return [
        {f"x{j}": v for j, v in enumerate(row)}
        | {f"name{j}": f"v{v}" for j, v in enumerate(several)}
        | {"y": label}
        for row, several, label in zip(X.tolist(), names.tolist(), y.tolist(), strict=True)
    ]


def run(source: Any, records: int, folder: Path) -> list[str]:
    """Learn all records of a source with the usual committee."""
    watcher = Look(records)
    kept, sink = (
        Checkpoints(folder / "kept"),
        FileSink(folder / "out.jsonl", max_bytes=10**8, keep=2),
    )
    engine = Engine(
        source, peers.ours("committee"), sink=sink, checkpoints=kept, every=5.0, watchers=[watcher]
    )
    engine.run(records)
    sink.close()
    kept.close()
    learned = engine.progress.counts["learned"]
    if learned != records:
        raise SystemExit(f"{learned:,} of {records:,} records were learned")
    watcher.looks.look(learned)
    return watcher.looks.cells()


def from_file(records: int, folder: Path) -> list[str]:
    """Learn a large CSV."""
    part = mixed(min(PART, records), 200_000)
    rows = "".join(",".join(map(str, one.values())) + "\n" for one in part)
    data = folder / "large.csv"
    with data.open("w") as file:
        file.write(",".join(part[0]) + "\n")
        for _ in range(records // len(part)):
            file.write(rows)
    return run(FileSource(data, label="y"), records // len(part) * len(part), folder)


def from_kafka(records: int, folder: Path) -> list[str]:
    """Learn a backlog of four partitions, of which the first has most of it."""
    from kafka import KafkaProducer

    values = [json.dumps(one).encode() for one in mixed(min(PART, records), 200_000)]
    rng = np.random.default_rng(0)
    with engine_kafka.servers() as at:
        topic = order.new_topic(at, len(UNEVEN))
        producer = KafkaProducer(bootstrap_servers=at, linger_ms=20, batch_size=1 << 17)
        for i, partition in enumerate(rng.choice(len(UNEVEN), records, p=UNEVEN).tolist()):
            value = values[i % len(values)]
            producer.send(topic, value, partition=partition, timestamp_ms=order.START + i)
            if i % 10_000 == 9_999:
                producer.flush()
        producer.close()
        source = KafkaSource(topic, at, codec=message_codec(label="y"))
        source.seek(source.position)
        cells = run(source, records, folder)
        source.close()
    return cells


def under_load(seconds: float, folder: Path, rate: int) -> list[str]:
    """Let 16 clients send records with ids and labels, a tenth of which are labelled later."""
    command = [sys.executable, "-m", "stream_llsvm.cli", "serve", "--folder", str(folder)]
    command += ["--port", "0", "--label", "y", "--every", "5"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        while not (found := re.search(r"serving .*:(\d+)/", server.stderr.readline())):
            pass
        drain = threading.Thread(target=server.stderr.read)
        drain.start()
        looks, load = Looks(server.pid), Clients(int(found[1]), seconds, rate)
        try:
            asyncio.run(load.run(looks.look))
        finally:
            server.terminate()
            drain.join()
    return looks.cells()


class Clients:
    """Clients that keep to a rate: records with ids, and later the labels that they left out."""

    def __init__(self, port: int, seconds: float, rate: int) -> None:
        self._port, self._seconds, self._rate = port, seconds, rate
        self._pool = mixed(2_000, 2_000)
        self.done = self._sent = 0

    async def run(self, look: Callable[[int], None]) -> None:
        """Send until the time is over, and look all the while."""
        end = time.monotonic() + self._seconds
        clients = [asyncio.create_task(self._client(end)) for _ in range(16)]
        moved, before = time.monotonic(), 0
        while not all(one.done() for one in clients):
            await asyncio.sleep(self._seconds / LOOKS)
            await asyncio.to_thread(self._scrape)
            look(self.done)
            if self.done > before:
                moved, before = time.monotonic(), self.done
            elif time.monotonic() - moved > STILL:
                raise SystemExit(f"{self.done:,} records were answered, and no more")
        await asyncio.gather(*clients)

    def _scrape(self) -> None:
        with contextlib.closing(
            urllib.request.urlopen(f"http://127.0.0.1:{self._port}/metrics")
        ) as it:
            it.read()

    async def _client(self, end: float) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        while (now := time.monotonic()) < end:
            records, labels = [], []
            for _ in range(20):
                self._sent += 1
                record = dict(self._pool[self._sent % len(self._pool)], id=f"r{self._sent}")
                if self._sent % 10 == 0:
                    labels.append({"id": record["id"], "label": record.pop("y")})
                records.append(record)
            await self._post(reader, writer, "records", {"records": records})
            await self._post(reader, writer, "labels", {"labels": labels})
            self.done += len(records)
            await asyncio.sleep(max(0.0, 16 * 20 / self._rate - (time.monotonic() - now)))
        writer.close()

    async def _post(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, what: str, said: Any
    ) -> None:
        body = json.dumps(said).encode()
        head = f"POST /v1/{what} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        writer.write(head.encode() + b"Content-Length: %d\r\n\r\n" % len(body) + body)
        answer = await reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"content-length: (\d+)", answer)
        assert length is not None
        text = await reader.readexactly(int(length[1]))
        if not answer.startswith(b"HTTP/1.1 200"):
            raise SystemExit(f"{answer.decode()}{text.decode()}")


def main() -> None:
    """Measure what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=("file", "kafka", "serve"), action="append")
    parser.add_argument("--records", type=int, default=5_000_000, help="of the file")
    parser.add_argument("--messages", type=int, default=2_000_000, help="of the topic")
    parser.add_argument("--minutes", type=float, default=20.0, help="under load")
    parser.add_argument("--rate", type=int, default=4_000, help="records a second under load")
    parser.add_argument(
        "--write", action="store_true", help="also replace the section of RESULTS.md"
    )
    given = parser.parse_args()
    cases: dict[str, Callable[[Path], list[str]]] = {
        "file": lambda folder: from_file(given.records, folder),
        "kafka": lambda folder: from_kafka(given.messages, folder),
        "serve": lambda folder: under_load(60 * given.minutes, folder, given.rate),
    }
    header = ["records", *(f"MB at {share:.0%}" for share in SHARES)]
    header += ["bytes a record after 10 %", "CPU us a record, 10 to 40 %", "70 to 100 %"]
    header += ["open files", "longest time between two looks, s"]
    for name in given.only or cases:
        with tempfile.TemporaryDirectory() as text:
            row = cases[name](Path(text))
        results.publish(
            f"endurance-{name}",
            f"Long runs: {name}",
            f"{results.table(header, [row])}\n\nThe usual committee; records of 12 numbers and 4 "
            f"names, one of them with 200,000 values; {HOW[name]} Memory is anonymous memory.",
            given.write,
        )


if __name__ == "__main__":
    main()
