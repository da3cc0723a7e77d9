"""Models for readers: a folder of model files that a run publishes, and whoever reads the newest.

A file is a model file as ``save`` writes it. Its name says how many records the model had learned,
which is its version, and its time when that was. It is renamed to this name when it is whole.
"""

from __future__ import annotations

import os
import re
import time
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from stream_llsvm.engine.watchers import Watcher
from stream_llsvm.learners.load import from_payload
from stream_llsvm.learners.pipeline import payload_of
from stream_llsvm.model.file import ModelFileError, read, write

if TYPE_CHECKING:
    from stream_llsvm.engine.engine import Engine

_NAME = re.compile(r"model-(\d{12})\.llsvm")
_SHARE = 50  # a copy takes no more than one in so many seconds of the run's time
EVERY, KEEP = 5.0, 3


class Snapshot(NamedTuple):
    """A model, how many records it had learned (None if that is not known), and when."""

    model: Any
    learned: int | None
    time: float


class Publisher(Watcher):
    """Writes the model to a folder now and then, by a thread of its own.

    The run waits only while the model is copied.

    Parameters
    ----------
    folder
        Where; it is made if it is not there.
    every
        Seconds between two, at least.
    keep
        How many are kept.
    trust_pickle
        Whether parts that have no plain form may be pickled.

    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        *,
        every: float = EVERY,
        keep: int = KEEP,
        trust_pickle: bool = False,
    ) -> None:
        self.folder, self._every, self._keep = Path(folder), every, keep
        self._trust_pickle = trust_pickle
        self._pending: Future[None] | None = None
        self._due, self._learned, self._failing = 0.0, 0, False

    def on_start(self, engine: Engine) -> None:
        """Forget what was published by a run that learned other records."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="publisher")
        self._learned = engine.progress.counts["learned"]
        for learned, path in published(self.folder):
            if self._learned == 0:
                path.unlink(missing_ok=True)
            elif learned == self._learned:
                return
        if self._learned:
            self._publish(engine)

    def on_turn(self, engine: Engine) -> None:
        """Publish if it is time, and something was learned."""
        if time.monotonic() < self._due or engine.progress.counts["learned"] == self._learned:
            return
        if self._pending is None or self._pending.done():
            self._publish(engine)

    def on_end(self, engine: Engine, error: BaseException | None) -> None:
        """Publish what was learned last, and wait until it is there."""
        if error is None and engine.progress.counts["learned"] != self._learned:
            self._publish(engine)
        self._writer.shutdown()
        self._note(engine)

    def _publish(self, engine: Engine) -> None:
        self._note(engine)
        if engine.checkpoints is not None:
            engine.checkpoints.check()
        worked = time.thread_time()
        payload = payload_of(engine.model, trust_pickle=self._trust_pickle)
        wait = _SHARE * (time.thread_time() - worked)
        self._due = time.monotonic() + max(self._every, wait)
        self._learned = engine.progress.counts["learned"]
        self._pending = self._writer.submit(self._write, self._learned, payload)

    def _write(self, learned: int, payload: dict[str, Any]) -> None:
        write(self.folder / f"model-{learned:012}.llsvm", payload)
        for _, old in published(self.folder)[self._keep :]:
            old.unlink(missing_ok=True)

    def _note(self, engine: Engine) -> None:
        """Note, once as long as it is so, that the last one could not be written."""
        if self._pending is None:
            return
        error, self._pending = self._pending.exception(), None
        if error is not None and not self._failing:
            engine.progress.note("publishing failed", f"{error}; readers answer from older ones")
        self._failing = error is not None


def published(folder: Path) -> list[tuple[int, Path]]:
    """Return the files that were published there, and how much each had learned, newest first."""
    matches = ((_NAME.fullmatch(path.name), path) for path in folder.iterdir())
    return sorted(((int(match[1]), path) for match, path in matches if match), reverse=True)


class PublishedFiles:
    """The newest model of a folder that a run publishes to, or a model file as it is just now.

    Parameters
    ----------
    path
        The folder, or the file.

    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._read: tuple[Path, float] | None = None

    def newer(self) -> Snapshot | None:
        """Return the newest; None if there is none, or it was returned already.

        Raises ModelFileError if it cannot be read, or OSError.
        """
        if not self._path.is_dir():
            return self._one(None, self._path)
        for learned, path in published(self._path):
            try:
                return self._one(learned, path)
            except FileNotFoundError:  # it was old, and is gone since
                continue
        return None

    def _one(self, learned: int | None, path: Path) -> Snapshot | None:
        changed = path.stat().st_mtime
        if self._read == (path, changed):
            return None
        payload: dict[str, Any] = read(path)
        try:
            model = from_payload(payload)
        except ModelFileError as error:
            raise ModelFileError(f"{path}: {error}") from None
        self._read = path, changed
        return Snapshot(model, learned, changed)
