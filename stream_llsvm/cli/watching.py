"""Show how a run is doing: a live line on a terminal, a plain line now and then otherwise."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Self

from rich.console import Console

from stream_llsvm.connectors.base import Result, Sink

_LIVE, _PLAIN = 0.25, 5.0  # seconds between two looks


class Seen(NamedTuple):
    """What a run looked like a moment ago."""

    records: int
    rejected: int
    accuracy: float | None
    checkpoint: str
    at: float


class WatchedSink:
    """A sink that also looks at the engine, on whose thread it is called."""

    def __init__(self, sink: Sink | None) -> None:
        self._sink = sink
        self.engine: Any = None
        self.seen = Seen(0, 0, None, "", time.monotonic())
        self._next = 0.0

    def __getattr__(self, name: str) -> Any:
        if name in ("written", "truncate") and self.__dict__.get("_sink") is not None:
            return getattr(self._sink, name)
        raise AttributeError(name)

    def write(self, results: Sequence[Result]) -> None:
        """Pass results on, and look at the scores if the last look was a while ago."""
        if self._sink is not None:
            self._sink.write(results)
        if time.monotonic() >= self._next:
            self.look()
            self._next = time.monotonic() + _LIVE

    def look(self) -> None:
        """Keep what is worth showing. Only the engine's thread may call this."""
        progress = self.engine.progress
        scores = progress.scores.report(len(progress.classes))
        accuracy = scores["windowed"]["accuracy"] if scores else None
        checkpoints = [e for e in progress.events[-50:] if e["kind"].startswith("checkpoint")]
        last = f"{checkpoints[-1]['text']} at {checkpoints[-1]['record']:,}" if checkpoints else ""
        rejected = self.engine.rejects.counts.total()
        records = progress.counts["records"]
        self.seen = Seen(records, rejected, accuracy, last, time.monotonic())

    def flush(self) -> None:
        """Flush the sink."""
        if self._sink is not None:
            self._sink.flush()

    def close(self) -> None:
        """Close the sink."""
        if self._sink is not None:
            self._sink.close()


class Watch:
    """A thread that shows what a `WatchedSink` has seen, as long as it is a context.

    Parameters
    ----------
    sink
        What looks at the run.
    console
        Where to show it; nothing is shown if None.
    also
        Called at every turn.

    """

    def __init__(
        self, sink: WatchedSink, console: Console | None, also: Callable[[], None]
    ) -> None:
        self._sink, self._console, self._also = sink, console, also
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._run, name="watch", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _run(self) -> None:
        if self._console is None:
            while not self._done.wait(_LIVE):
                self._also()
        elif self._console.is_terminal:
            self._live(self._console)
        else:
            self._lines(self._console)

    def _live(self, console: Console) -> None:
        with console.status("starting") as status:
            before, rate = self._sink.seen, 0.0
            while not self._done.wait(_LIVE):
                self._also()
                now = self._sink.seen
                fresh = (now.records - before.records) / max(time.monotonic() - before.at, 1e-9)
                rate = fresh if rate == 0 else 0.7 * rate + 0.3 * fresh
                before = now._replace(at=time.monotonic())
                status.update(line(now, rate))

    def _lines(self, console: Console) -> None:
        before, due = self._sink.seen, time.monotonic() + _PLAIN
        while not self._done.wait(_LIVE):
            self._also()
            if time.monotonic() < due:
                continue
            due += _PLAIN
            now = self._sink.seen
            rate = (now.records - before.records) / _PLAIN
            before = now
            console.print(line(now, rate), highlight=False, soft_wrap=True)


def line(seen: Seen, rate: float) -> str:
    """Return it all on a line.

    Examples
    --------
    >>> line(Seen(12_000, 3, 0.915, "number 2 at 10,000", 0.0), 4567.8)
    '12,000 records, 4,568/s, accuracy 91.5% of the last, 3 rejected, checkpoint number 2 at 10,000'

    """
    parts = [f"{seen.records:,} records", f"{rate:,.0f}/s"]
    if seen.accuracy is not None:
        parts.append(f"accuracy {seen.accuracy:.1%} of the last")
    parts.append(f"{seen.rejected:,} rejected")
    if seen.checkpoint:
        parts.append(f"checkpoint {seen.checkpoint}")
    return ", ".join(parts)
