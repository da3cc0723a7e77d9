"""What a run says while it goes on: lines on stderr, as text or as JSON, and its alarms."""

from __future__ import annotations

import contextlib
import json
import logging
import sys
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from stream_llsvm.cli.errors import nearest, printable
from stream_llsvm.engine.engine import Engine
from stream_llsvm.engine.rejects import Rejects
from stream_llsvm.engine.watchers import Watcher

FORMATS = ("text", "json")
_log = logging.getLogger("stream_llsvm.run")


def say(text: str, level: int = logging.INFO, **fields: Any) -> None:
    """Log a line; the fields go with it where lines are JSON."""
    _log.log(level, text, extra={"fields": fields})


def warn(text: str, **fields: Any) -> None:
    """Log what somebody should look at."""
    say(text, logging.WARNING, **fields)


def fail(text: str, **fields: Any) -> None:
    """Log what a run ended of."""
    say(text, logging.ERROR, **fields)


def line_of(record: logging.LogRecord, form: str) -> str:
    """Return a log record as a line.

    Examples
    --------
    >>> record = logging.makeLogRecord(
    ...     {"created": 0.25, "levelname": "ERROR", "msg": "broken", "fields": {"record": 7}}
    ... )
    >>> line_of(record, "text")
    '1970-01-01T00:00:00.250Z error: broken'
    >>> line_of(record, "json")
    '{"time": "1970-01-01T00:00:00.250Z", "level": "error", "message": "broken", "record": 7}'

    """
    when = datetime.fromtimestamp(record.created, UTC)
    time = f"{when:%Y-%m-%dT%H:%M:%S}.{when.microsecond // 1000:03d}Z"
    level, text = record.levelname.lower(), " ".join(record.getMessage().split())
    if form == "text":
        return printable(f"{time} {level}: {text}")
    fields = getattr(record, "fields", {})
    return json.dumps({"time": time, "level": level, "message": text, **fields}, default=str)


class _Stderr(logging.Handler):
    """Writes lines to whatever stderr is just then: a live line on a terminal stands in for it."""

    def __init__(self, form: str) -> None:
        super().__init__()
        self._form = form

    def emit(self, record: logging.LogRecord) -> None:
        """Write a line, if it can be written: a full disk or a closed pipe stops no learning."""
        if record.levelno >= logging.WARNING or record.name == _log.name:
            with contextlib.suppress(OSError, ValueError):  # a closed file is a ValueError
                print(line_of(record, self._form), file=sys.stderr, flush=True)


@contextlib.contextmanager
def logged(form: str = "text") -> Iterator[None]:
    """Write what the package logs to stderr: its warnings, and all that a run says."""
    package, handler, before = logging.getLogger("stream_llsvm"), _Stderr(form), _log.level
    package.addHandler(handler)
    _log.setLevel(logging.INFO)
    try:
        yield
    finally:
        package.removeHandler(handler)
        _log.setLevel(before)


#: Events that are told, and how grave each is.
_TOLD = {
    "at most once": logging.WARNING,
    "columns changed": logging.WARNING,
    "no labels": logging.WARNING,
    "large weights": logging.WARNING,
    "features left out": logging.WARNING,
    "checkpoint failed": logging.ERROR,
    "publishing failed": logging.ERROR,
    "recovering": logging.WARNING,
    "reconnected": logging.INFO,
    "out of order": logging.WARNING,
    "too late": logging.WARNING,
    "lost records": logging.WARNING,
    "stalled": logging.WARNING,
}
_JUDGED_FROM = 1_000  # records learned
_MANY = 20  # labels that occur once or twice each: a number, or an id
MOST_FIELDS = 10  # of those with values that could not be read


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
        self._rejected = self._bad = self._doubted = self._looked = False
        self._before = 0
        self._last: dict[str, Any] | None = None
        for event in engine.progress.events:
            self._say(event)
        engine.watchers.append(self)

    def on_start(self, engine: Engine) -> None:
        """Begin with what comes now."""
        self._before = engine.progress.counts["records"]

    def on_turn(self, engine: Engine) -> None:
        """Say what has happened since the last turn."""
        if not self._fields:
            self._fields = list(engine.census.fields())
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
        if engine.progress.counts["records"] - self._before >= _JUDGED_FROM:
            self._doubt_the_columns(engine)

    def _doubt_the_columns(self, engine: Engine) -> None:
        """Ask, once, about columns that may not be what they were taken for."""
        if self._looked:
            return
        from stream_llsvm.cli.columns import doubts

        self._looked = True
        for doubt in doubts(engine.census.fields(), (engine.columns or {}).get("fields", {})):
            warn(doubt, event="doubtful column")

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
        self._doubt_the_columns(engine)
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


def doubted(labels: int, records: int) -> str | None:
    """Return what to ask if hardly a label occurs twice.

    Examples
    --------
    >>> doubted(1_499, 1_500)
    "1,499 labels in 1,500 records: is the label a class, and not an id or a regressor's number?"

    """
    if labels <= _MANY or 2 * labels <= records:
        return None
    return (
        f"{labels:,} labels in {records:,} records: is the label a class, and not an id or a "
        "regressor's number?"
    )


def first_of(rejects: Rejects) -> str:
    """Say of the first record that was rejected where it was, and why."""
    first = rejects.first[0]
    hint = not_utf8(first.reason) if first.place.part is None else ""
    return f"the first that was rejected: {first.place}: {first.reason}: {first.detail}{hint}"


def not_utf8(reason: str) -> str:
    """Return what to try if a file's records are rejected for this reason; usually nothing."""
    return "; another encoding? --encoding latin-1" if reason == "invalid UTF-8" else ""


def first_bad_of(rejects: Rejects) -> str:
    """Say of the first field that could not be read where it was, and why; nothing if all were."""
    first = rejects.first_bad
    if first is None:
        return ""
    return f"the first field that could not be read: {first.place}: {first.reason}: {first.detail}"


def bad_fields_of(bad_fields: Mapping[str, int]) -> str:
    """Say of which fields how many values could not be read, the worst first; nothing if none.

    Examples
    --------
    >>> bad_fields_of({"rain": 2, "wind": 1_200})
    '1,202 values could not be read (wind: 1,200, rain: 2)'

    """
    if not bad_fields:
        return ""
    worst = sorted(bad_fields.items(), key=lambda one: -one[1])
    several = ", ".join(f"{name}: {number:,}" for name, number in worst[:MOST_FIELDS])
    more = ", ..." if len(worst) > MOST_FIELDS else ""
    return f"{sum(bad_fields.values()):,} values could not be read ({several}{more})"
