"""What a checkpoint of a run holds, when one is written, and what is lost if it cannot be."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from stream_llsvm.connectors.base import Displaying, Owned, Rollback, seekable, transactional
from stream_llsvm.engine.checkpoints import CheckpointError, Checkpoints, Lost
from stream_llsvm.engine.key_parts import Part
from stream_llsvm.learners.keyed import KeyedClassifier
from stream_llsvm.learners.pipeline import learner_in, payload_of
from stream_llsvm.version import __version__

if TYPE_CHECKING:
    from stream_llsvm.engine.engine import Engine


def outputs(engine: Engine) -> tuple[object, object]:
    """Return what a run writes to, in the order of a checkpoint's part ``written``."""
    return engine.sink, engine.rejects.letters


@contextmanager
def occupied(engine: Engine) -> Iterator[None]:
    """Keep others of this process from what a run writes to, until it has ended."""
    own = [one for one in (engine.checkpoints, *outputs(engine)) if isinstance(one, Owned)]
    for one in own:
        one.ownership.busy = True
    try:
        yield
    finally:
        for one in own:
            one.ownership.busy = False
        if engine.checkpoints is not None:
            engine.checkpoints.release()


def write(engine: Engine, checkpoints: Checkpoints, *, wait: bool = False) -> int | None:
    """Write a checkpoint, and what is known of keys beside it; None if another is being written.

    Raises OSError if it was waited for and could not be written.
    """
    if not checkpoints.ready(wait=wait):
        return None
    part, last = None, learner_in(engine.model)
    if isinstance(last, KeyedClassifier):
        newest = 0 if checkpoints.newest is None else checkpoints.newest.number
        part = engine.key_parts.next(last, checkpoints.number + 1, newest)
    records = engine.progress.counts["records"]
    return checkpoints.write(saved(engine, part), record=records, wait=wait, part=part)


def saved(engine: Engine, part: Part | None = None) -> dict[str, Any]:
    """Return what a checkpoint holds; nothing in it changes while the run goes on.

    What is known of keys is left out if a file beside it holds that.
    """
    late = engine.late
    rows = part is None
    try:
        model = payload_of(engine.model, trust_pickle=engine.trust_pickle, rows=rows)
    except ValueError as error:
        raise CheckpointError(f"what the model has learned cannot be kept: {error}") from None
    return {
        "version": __version__,
        "time": time.time(),
        "model": model,
        "key_files": None if part is None else list(part.needed),
        "position": engine.position,
        "progress": engine.progress.payload(),
        "rejected": dict(engine.rejects.counts),
        "bad_fields": dict(engine.rejects.bad_fields),
        "fields": engine.census.payload(),
        "input": None if engine.inputs is None else engine.inputs.payload(),
        "columns": engine.columns,
        "deletes": engine.rejects.deletes,
        "challengers": engine.challengers.payload(trust_pickle=engine.trust_pickle),
        "decision": engine.decisions.payload(),
        "once": once_only(engine),
        "late": None if late is None else {
            "position": late.position, "waiting": late.waiting.payload(),
        },
        "written": written(engine),
    }  # fmt: skip


def written(engine: Engine) -> list[int | None]:
    """Return how much was written to what can be taken back, for `take_back`."""
    return [each.written if isinstance(each, Rollback) else None for each in outputs(engine)]


def once_only(engine: Engine) -> str:
    """Return why records that came after a checkpoint cannot come once more; empty if they can."""
    if not seekable(engine.source):
        return f"{engine.source.name} cannot be read again"
    if transactional(engine.sink) is not None:
        return "its predictions were committed to Kafka, which cannot take them back"
    return ""


class Saver:
    """Writes the checkpoints of a run, now and then and at its end.

    Parameters
    ----------
    engine
        The run.
    checkpoints
        Where they go.
    every
        Seconds between two of them.
    write
        Writes one; by default as a single engine does.

    Attributes
    ----------
    every
        Seconds between two of them.
    lost
        What was learned and could not be kept, since the last one failed; None if all was kept.

    """

    def __init__(
        self,
        engine: Engine,
        checkpoints: Checkpoints,
        every: float,
        write: Callable[..., int | None] = write,
    ) -> None:
        self._engine, self._checkpoints, self.every = engine, checkpoints, every
        self._write = write
        self._due = 0.0
        self._kept = self._came()  # what had come in before the last one
        self.lost: Lost | None = None

    def begin(self) -> None:
        """Keep the folder, and write the first one in a while."""
        self._checkpoints.acquire()
        self.lost, self._due = None, time.monotonic() + self.every

    def turn(self) -> None:
        """Write one if it is time; raise TermOverError if the folder is another run's by now."""
        self._checkpoints.check()
        self._note_failures()
        if time.monotonic() >= self._due:
            self.write()
            self._due = time.monotonic() + self.every

    def finish(self) -> None:
        """Write the last one, and wait until it is on disk."""
        self._checkpoints.finish()
        self._note_failures()
        self.write(wait=True)
        self._checkpoints.check()

    def write(self, *, wait: bool = False) -> None:
        """Write one, as `Engine.checkpoint` says."""
        engine, came = self._engine, self._came()
        if wait:  # one that is on its way may be all that is wanted, or may fail
            self._checkpoints.finish()
        if came == self._kept and not self._checkpoints.failing:
            return
        sink, records = transactional(engine.sink), engine.progress.counts["records"]
        engine.flush()
        try:
            number = self._write(engine, self._checkpoints, wait=wait or sink is not None)
        except OSError as error:
            self._note_failures()
            if wait:
                newest = self._checkpoints.newest
                before = 0 if newest is None else newest.record
                self.lost = Lost(records - before, error.strerror or str(error))
            return
        if sink is not None:
            sink.commit(engine.position)
        if number is not None:
            self.lost = None
            self._checkpoints.hold(number)
            self._kept = came
            engine.progress.note("checkpoint", f"number {number}")
            if isinstance(engine.source, Displaying) and engine.position is not None:
                engine.source.display(engine.position)

    def _came(self) -> tuple[object, ...]:
        """Return what changes whenever something comes in."""
        engine = self._engine
        late = None if engine.late is None else engine.late.position
        promoted = engine.challengers.promoted
        return engine.position, late, engine.progress.counts["records"], promoted

    def _note_failures(self) -> None:
        """Note those that could not be written since the last look."""
        while self._checkpoints.failed:
            error = self._checkpoints.failed.popleft()
            self._engine.progress.note("checkpoint failed", f"{error}; those before it are good")
