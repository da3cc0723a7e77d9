"""What a run says while it goes on: lines on stderr with time and level, as text or as JSON."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

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
        return f"{time} {level}: {text}"
    fields = getattr(record, "fields", {})
    return json.dumps({"time": time, "level": level, "message": text, **fields}, default=str)


class _Stderr(logging.Handler):
    """Writes lines to whatever stderr is just then: a live line on a terminal stands in for it."""

    def __init__(self, form: str) -> None:
        super().__init__()
        self._form = form

    def emit(self, record: logging.LogRecord) -> None:
        """Write a line."""
        if record.levelno >= logging.WARNING or record.name == _log.name:
            print(line_of(record, self._form), file=sys.stderr, flush=True)


@contextmanager
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
