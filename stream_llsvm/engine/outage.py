"""What a run does when its transactional sink is away: it waits, and goes back to the last commit.

Nobody knows then which predictions have arrived, and brokers take back what was not committed in
time. So the run goes on as it would after a crash: from the checkpoint whose position the sink
holds, in the same process. What was learned since is learned again, by a model that has not seen
it.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

from stream_llsvm.connectors.base import (
    AwayError,
    Position,
    SinkAwayError,
    seekable,
    transactional,
)
from stream_llsvm.engine.resume import continued, sources_of

if TYPE_CHECKING:
    from stream_llsvm.engine.engine import Engine

_AGAIN = 0.5  # seconds between two tries to reach a sink


def go_back(
    engine: Engine, error: SinkAwayError, began: Sequence[Position], stop: threading.Event
) -> None:
    """Go back to the checkpoint that holds as soon as the sink answers, however long that takes.

    Raises the error if there is nothing to go back to, or the run is to stop.

    Parameters
    ----------
    engine
        The run, of which nothing is being read.
    error
        What the sink said.
    began
        Where the sources stood when the run began: a checkpoint may be older than their first
        record.
    stop
        Whether the run is to stop.

    """
    sink, checkpoints = transactional(engine.sink), engine.checkpoints
    if sink is None or checkpoints is None or not seekable(engine.source):
        raise error
    engine.trouble = str(error)
    try:
        while True:
            checkpoints.finish()
            checkpoints.check()  # whoever has taken over must not be shut out
            for watcher in engine.watchers:
                watcher.on_turn(engine)
            if stop.is_set():
                raise error
            try:
                sink.committed_offsets()
                events = engine.progress.events
                engine.begin_anew()
                engine.progress.events[:0] = events
                continued(engine, checkpoints)
                _begin_again(engine, began)
            except (SinkAwayError, AwayError) as again:
                engine.trouble = str(again)
                stop.wait(_AGAIN)
            else:
                return
    finally:
        engine.trouble = ""


def _begin_again(engine: Engine, began: Sequence[Position]) -> None:
    """Let sources begin where they began of which the checkpoint knows no position yet."""
    known = [engine.position, None if engine.late is None else engine.late.position]
    for source, position, at in zip(sources_of(engine), known, began, strict=False):
        if position is None and seekable(source):
            source.seek(at)
