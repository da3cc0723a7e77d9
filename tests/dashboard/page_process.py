"""A real engine and its page: ``python page_process.py PORT [FOLDER OF CHECKPOINTS]``.

Each line on its standard input is an order: "drift" leaves the labels to chance, "stop" ends
the run. (A concept that can be learned would not do: the committee has it after ten errors, and
that is hardly a rise.)
"""

from __future__ import annotations

import sys
import threading
import time
from pathlib import Path

import numpy as np

from stream_llsvm.connectors.base import Batch, Place, Position, Rejected
from stream_llsvm.dashboard.server import Dashboard
from stream_llsvm.engine.checkpoints import Checkpoints
from stream_llsvm.engine.engine import Engine

_RATE = 2_000.0  # records a second


class Turning:
    """Two moons that never end, at a pace; their labels can be left to chance."""

    name = "two moons"

    def __init__(self) -> None:
        self.drifted, self.ended = False, False
        self._chance, self._next = np.random.default_rng(0), 0
        self._begin, self._first = time.monotonic(), 0

    def poll(self, max_records: int, timeout: float) -> Batch | None:
        """Return what is due by now."""
        due = self._first + int(_RATE * (time.monotonic() - self._begin)) - self._next
        n = min(max_records, due, 200)
        if n <= 0 or self.ended:
            time.sleep(0.01)
            return None
        upper = self._chance.integers(2, size=n)
        angle, side = self._chance.uniform(0, np.pi, n), np.where(upper, 1, -1)
        values = np.stack([side * np.cos(angle) + upper, side * (np.sin(angle) - 0.25)], axis=1)
        values += self._chance.normal(0, 0.12, values.shape)
        named = self._chance.integers(2, size=n) if self.drifted else upper
        self._next += n
        places = [Place(self.name, None, self._next - n + i + 1) for i in range(n)]
        unfit = [Rejected(places[0], "bad number", "x: 'abc' is no number", b"abc")]
        return Batch(
            labels=[("lower", "upper")[i] for i in named],
            places=places,
            position=self.position,
            names=("x", "y"),
            values=values,
            rejected=unfit if self._chance.random() < 0.01 else [],
        )

    @property
    def position(self) -> Position:
        """How many have been handed out."""
        return {"records": self._next}

    def seek(self, position: Position) -> None:
        """Continue behind this position."""
        self._next = self._first = position["records"]
        self._begin = time.monotonic()

    def close(self) -> None:
        """Nothing is open."""


def main(port: int, folder: Path | None) -> None:
    """Run until "stop" or the end of the input."""
    source = Turning()
    checkpoints = None if folder is None else Checkpoints(folder)
    engine = Engine(source, checkpoints=checkpoints, every=1.0)

    def obey() -> None:
        for line in sys.stdin:
            if line.strip() == "drift":
                source.drifted = True
            elif line.strip() == "stop":
                break
        engine.stop()

    threading.Thread(target=obey, daemon=True).start()
    with Dashboard(engine, port=port) as page:
        print(page.address, flush=True)
        engine.run()


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]) if len(sys.argv) > 2 else None)
