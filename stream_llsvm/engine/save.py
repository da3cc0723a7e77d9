"""What a checkpoint of a run holds, when one is written, and what is lost if it cannot be.

A checkpoint is six steps, in this order, so that whatever dies or fails on the way undoes nothing:

1. flush the source and the dead letters: a checkpoint must not stand behind what could be lost;
2. flush the sink, which the checkpoint says the length of;
3. gather the state of all parts, with the model and the position;
4. write it, sync it, give it its name, sync the folder: by a thread of its own, as it takes long;
5. only now say so: commit the predictions, show the position, let a log be cut;
6. remove what is older than it.

The engine's thread does step 5 at its next turn after step 4. What could not be written is noted,
counts for nothing, and is tried again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from stream_llsvm.connectors.base import (
    Displaying,
    Owned,
    Position,
    Rollback,
    seekable,
    transactional,
)
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


class _Begun(NamedTuple):
    """A checkpoint on its way: its number, what had come in before it, and the position in it."""

    number: int
    came: tuple[object, ...]
    position: Position | None


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
        self._kept = self._came()  # what had come in before the last one that is on disk
        self._begun: _Begun | None = None
        self.lost: Lost | None = None

    def begin(self) -> None:
        """Keep the folder, and write the first one in a while."""
        self._checkpoints.acquire()
        self.lost, self._due = None, time.monotonic() + self.every

    def turn(self) -> None:
        """Write one if it is time; raise TermOverError if the folder is another run's by now."""
        self._checkpoints.check()
        self._settle()
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
        self._settle()
        if came == self._kept:
            return
        engine.flush()  # 1, 2
        try:  # 3, 4; what is only shown with its commit waits for both
            wait_for_disk = wait or transactional(engine.sink) is not None
            number = self._write(engine, self._checkpoints, wait=wait_for_disk)
        except OSError as error:
            self._note_failures()
            if wait:
                newest = self._checkpoints.newest
                before = 0 if newest is None else newest.record
                records = engine.progress.counts["records"] - before
                self.lost = Lost(records, error.strerror or str(error))
            return
        if number is not None:
            self._begun = _Begun(number, came, engine.position)
            self._settle()

    def _settle(self) -> None:
        """Say that the last checkpoint is kept, as soon as it is on disk."""
        begun, newest = self._begun, self._checkpoints.newest
        if begun is None or newest is None or newest.number != begun.number:
            return
        engine, sink = self._engine, transactional(self._engine.sink)
        self._begun = None
        if sink is not None:  # 5
            sink.commit(begun.position)
        self._kept, self.lost = begun.came, None
        engine.progress.note("checkpoint", f"number {begun.number}")
        if isinstance(engine.source, Displaying) and begun.position is not None:
            engine.source.display(begun.position)
        self._checkpoints.commit(begun.number)  # 6

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
