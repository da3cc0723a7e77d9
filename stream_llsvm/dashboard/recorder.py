"""What of a run's metrics its history keeps, and what the page shows of that after a restart."""

from __future__ import annotations

import math
import sqlite3
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from stream_llsvm.dashboard.metrics import numbers
from stream_llsvm.dashboard.monitor import Monitor
from stream_llsvm.engine.engine import Engine
from stream_llsvm.engine.scores import VIEWS, headline, scores_of
from stream_llsvm.engine.task import Task
from stream_llsvm.history.file import Event, HistoryFile, NewerError, Row
from stream_llsvm.history.writer import HistoryWriter, Sample
from stream_llsvm.version import __version__

_SHOWN = 30 * 86_400  # seconds that a page looks back
_POINTS = 900  # of the past, on a page
_EVENTS = 200
#: Families that are summed over their labels, and those that say nothing later.
_SUMMED = ("lag_records", "rejected_total")
_LEFT_OUT = ("member_weight_ratio", "state", "start_time_seconds", "silent_seconds",
             "slice_records")  # fmt: skip
#: Events that would be most of all, and say nothing.
_NOT_KEPT = ("checkpoint",)


def name_of(metric: str, **labels: str) -> str:
    """Return what a series is called in a history.

    Examples
    --------
    >>> name_of("mae", kind="windowed"), name_of("rate_records")
    ('mae{kind=windowed}', 'rate_records')

    """
    inside = ",".join(f"{key}={value}" for key, value in labels.items())
    return f"{metric}{{{inside}}}" if inside else metric


def recorder(engine: Engine, monitor: Monitor, path: Path) -> HistoryWriter:
    """Return what keeps a run's history in a file, as long as it is a context."""
    record = record_before(engine)
    noted = 0
    begun = [Event(time.time(), record or 0, "started", f"stream_llsvm {__version__}")]

    def sample() -> Sample | None:
        look = monitor.look
        if look is None:
            return None
        found: dict[str, tuple[float, bool]] = {}
        for metric in numbers(look, monitor.silent_for):
            if metric.name in _LEFT_OUT or metric.name.startswith("key_"):
                continue
            counts = metric.kind == "counter"
            values = list(metric.values)
            if metric.name in _SUMMED and values:
                values = [({}, sum(value for _, value in values))]
            for labels, value in values:
                if math.isfinite(value):
                    found[name_of(metric.name, **labels)] = float(value), counts
        return Sample(look.counts["records"], found)

    def events() -> Sequence[Event]:
        nonlocal noted
        look = monitor.look
        new = [] if look is None else [one for one in look.events if one["id"] > noted]
        if new:
            noted = new[-1]["id"]
        told = [
            Event(one["time"], one["record"], one["kind"], one["text"])
            for one in new
            if one["kind"] not in _NOT_KEPT
        ]
        found = [*begun, *told]
        begun.clear()
        return found

    return HistoryWriter(path, sample, events, record)


def record_before(engine: Engine) -> int | None:
    """Return how many records a run goes on from; None if it begins."""
    if not any(one["kind"] == "continued" for one in engine.progress.events):
        return None
    return engine.progress.counts["records"]


def past(path: Path, engine: Engine) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return points and events of before this process; none if there are none to be read."""
    if not path.is_file():
        return [], []
    now, record = time.time(), record_before(engine)
    try:
        file = HistoryFile(path)
        try:
            rows = file.rows(now - _SHOWN, now)
            happened = file.events(now - _SHOWN, now, _EVENTS)
        finally:
            file.close()
    except (sqlite3.Error, NewerError, OSError):  # who writes it says so
        return [], []
    if record is not None:  # what came after it comes again
        rows = [row for row in rows if row.record <= record]
    rows = rows[:: -(-len(rows) // _POINTS) or 1]
    points = [point_of(row, engine.progress.task) for row in rows]
    events = [{"id": int(one.time * 1_000), **one._asdict()} for one in happened]
    return points, events


def point_of(row: Row, task: Task) -> dict[str, Any]:
    """Return a row as a point of the page."""
    values, lead = row.values, headline(task)
    end = row.time + row.span
    return {
        "id": end * 1_000,
        "time": float(end),
        "records": row.record,
        "learned": values.get("learned_total"),
        "rate": values.get("rate_records"),
        **{view: values.get(name_of(lead.metric, kind=view)) for view in VIEWS},
        **{
            one.name: values.get(
                name_of(one.metric, kind=VIEWS[0] if one.labels == "view" else one.name)
            )
            for one in scores_of(task)
            if one.chart != "view"
        },
        "lag": values.get("lag_records"),
        "rejected": values.get("rejected_total", 0.0),
        "members": [],
        "steps": [],
    }
