"""Say on stderr, as soon as it happens, what somebody should look at."""

from __future__ import annotations

import logging
from typing import Any

from stream_llsvm.cli.errors import nearest
from stream_llsvm.cli.log import say, warn
from stream_llsvm.cli.tables import doubted, first_bad_of, first_of
from stream_llsvm.connectors.base import Batch
from stream_llsvm.engine.engine import Engine
from stream_llsvm.engine.learner import Answers
from stream_llsvm.engine.watchers import Watcher

#: Events that are told, and how grave each is.
_TOLD = {
    "at most once": logging.WARNING,
    "no labels": logging.WARNING,
    "checkpoint failed": logging.ERROR,
    "recovering": logging.WARNING,
    "reconnected": logging.INFO,
}
_JUDGED_FROM = 1_000  # records learned


class Alarms(Watcher):
    """Logs a line for each event that is an alarm.

    And one each for the first record that was rejected, for the first field that could not be
    read, and for a label that looks like a number.
    What happened before it is made, while the run was set up, is logged whatever it is: where
    the run goes on, and which checkpoints could not be read.

    Parameters
    ----------
    engine
        What will run; it gets one watcher more.
    label
        The label's name, to say what it may have been meant to be.

    """

    def __init__(self, engine: Engine, label: str | None) -> None:
        self._label = label
        self._fields: list[str] = []
        self._rejected = self._bad = self._doubted = False
        self._before = 0
        self._last: dict[str, Any] | None = None
        for event in engine.progress.events:
            self._say(event)
        engine.watchers.append(self)

    def on_start(self, engine: Engine) -> None:
        """Begin with what comes now."""
        self._before = engine.progress.counts["records"]

    def on_batch(self, engine: Engine, batch: Batch, answers: Answers, seconds: float) -> None:
        """Remember what fields there are."""
        if not self._fields:
            self._fields = list(batch.names or map(str, batch.record(0)))

    def on_turn(self, engine: Engine) -> None:
        """Say what has happened since the last turn."""
        events, new = engine.progress.events, []
        for event in reversed(events):
            if event is self._last:
                break
            new.append(event)
        for event in reversed(new):
            self._last = event
            if event["kind"] in _TOLD:
                self._say(event)
        if engine.rejects.first and not self._rejected:
            self._rejected = True
            kept = "" if engine.rejects.letters else "; --dead-letters keeps them"
            warn(f"{first_of(engine.rejects)}{kept}", event="rejected")
        if engine.rejects.first_bad is not None and not self._bad:
            self._bad = True
            warn(first_bad_of(engine.rejects), event="unreadable field")
        if engine.progress.counts["learned"] >= _JUDGED_FROM:
            self._doubt_the_label(engine)

    def _doubt_the_label(self, engine: Engine) -> None:
        if self._doubted:
            return
        doubt = doubted(len(engine.progress.classes), engine.progress.counts["learned"])
        if doubt is not None:
            self._doubted = True
            warn(doubt, event="doubtful label")

    def on_end(self, engine: Engine, error: BaseException | None) -> None:
        """Say the rest."""
        self.on_turn(engine)
        self._doubt_the_label(engine)
        if error is None and engine.progress.counts["records"] == self._before:
            new = "new " if self._before else ""
            warn(f"there are no {new}records in {engine.source.name}", event="no records")

    def _say(self, event: dict[str, Any]) -> None:
        self._last = event
        like = nearest(self._label or "", self._fields) if event["kind"] == "no labels" else None
        hint = f"; did you mean {like!r}?" if like else ""
        kind = event["kind"]
        level = _TOLD.get(kind, logging.INFO)
        say(f"{kind}: {event['text']}{hint}", level, event=kind, record=event["record"])
