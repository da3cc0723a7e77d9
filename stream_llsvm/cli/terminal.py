"""What a command shows: a line while a run goes on, a closing table, or one JSON object."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from typing import Any, NamedTuple, Self, TextIO

from rich.console import Console
from rich.table import Table
from rich.text import Text

from stream_llsvm.cli.columns import lines
from stream_llsvm.cli.errors import printable, put
from stream_llsvm.cli.log import MOST_FIELDS, say
from stream_llsvm.engine.census import Taken
from stream_llsvm.engine.engine import Engine
from stream_llsvm.engine.input.drift import FieldNow
from stream_llsvm.engine.scores import headline, listed_scores, main_scores, scores_of
from stream_llsvm.engine.task import CLASSIFICATION, Task
from stream_llsvm.engine.watchers import Watcher

_LIVE, _PLAIN = 0.25, 5.0  # seconds between two looks
_DISORDER = {"late": "  too late for their order", "gave_up": "waits for a partition that ran out"}


class Seen(NamedTuple):
    """What a run looked like a moment ago; ``score`` is its task's main one."""

    records: int
    rejected: int
    score: float | None
    checkpoint: str
    task: Task = CLASSIFICATION

    def fields(self) -> dict[str, Any]:
        """Return it all by name, the score by its own."""
        record, rejected, score, checkpoint, task = self
        name = headline(task).name
        return {"records": record, "rejected": rejected, name: score, "checkpoint": checkpoint}


class Looking(Watcher):
    """Keeps what is worth showing of a run, some times a second."""

    def __init__(self) -> None:
        self.seen = Seen(0, 0, None, "")
        self._next = 0.0

    def on_turn(self, engine: Engine) -> None:
        """Look, if it is time."""
        if time.monotonic() >= self._next:
            self.seen = _look(engine)
            self._next = time.monotonic() + _LIVE


def _look(engine: Engine) -> Seen:
    progress = engine.progress
    scores = progress.scores.report()
    score = scores["windowed"].get(headline(progress.task).name) if scores else None
    kept = [e for e in progress.events[-50:] if e["kind"].startswith("checkpoint")]
    last = f"{kept[-1]['text']} at {kept[-1]['record']:,}" if kept else ""
    rejected = engine.rejects.counts.total()
    return Seen(progress.counts["records"], rejected, score, last, progress.task)


class Watch:
    """A thread that shows what an engine has seen, as long as it is a context.

    Parameters
    ----------
    engine
        What runs; it gets one watcher more.
    console
        Where to show it: lines are logged if that is no terminal; nothing is shown if None.
    also
        Called at every turn.

    """

    def __init__(self, engine: Engine, console: Console | None, also: Callable[[], None]) -> None:
        self._looking, self._console, self._also = Looking(), console, also
        engine.watchers.append(self._looking)
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
            self._lines()

    def _live(self, console: Console) -> None:
        with console.status("starting") as status:
            before, rate, at = self._looking.seen, 0.0, time.monotonic()
            while not self._done.wait(_LIVE):
                self._also()
                now, since = self._looking.seen, time.monotonic() - at
                fresh = (now.records - before.records) / max(since, 1e-9)
                rate = fresh if rate == 0 else 0.7 * rate + 0.3 * fresh
                before, at = now, at + since
                status.update(line(now, rate))

    def _lines(self) -> None:
        """Log a line now and then, and one only while nothing comes."""
        before, due, idle = self._looking.seen, time.monotonic() + _PLAIN, False
        while not self._done.wait(_LIVE):
            self._also()
            if time.monotonic() < due:
                continue
            due += _PLAIN
            now = self._looking.seen
            rate = (now.records - before.records) / _PLAIN
            if now != before or not idle:
                say(line(now, rate), event="status", **now.fields(), records_per_second=rate)
            idle, before = now == before, now


def line(seen: Seen, rate: float) -> str:
    """Return it all on a line.

    Examples
    --------
    >>> line(Seen(12_000, 3, 0.915, "number 2 at 10,000"), 4567.8)
    '12,000 records, 4,568/s, accuracy 91.5% of the last, 3 rejected, checkpoint number 2 at 10,000'

    """
    parts = [f"{seen.records:,} records", f"{rate:,.0f}/s"]
    if seen.score is not None:
        score = headline(seen.task)
        told = f"{seen.score:.1%}" if score.percent else score.text(seen.score)
        parts.append(f"{score.title} {told} of the last")
    parts.append(f"{seen.rejected:,} rejected")
    if seen.checkpoint:
        parts.append(f"checkpoint {seen.checkpoint}")
    return ", ".join(parts)


def print_json(report: dict[str, Any], out: TextIO | None = None) -> None:
    """Print one object on one line, to standard output unless told otherwise."""
    put(json.dumps(report, default=str, allow_nan=False), file=out)


def print_table(report: dict[str, Any], window: int, out: TextIO | None = None) -> None:
    """Print what became of a run, to standard output unless told otherwise."""
    console = Console(file=out, highlight=False)
    taken = {
        name: Taken(one["counts"], one["distinct"], about=one.get("about", False))
        for name, one in report.get("columns", {}).items()
    }
    for line in lines(taken):
        console.print(printable(line), soft_wrap=True, markup=False)
    drawn = Table(show_header=bool(report["scores"]), title_justify="left")
    drawn.add_column("")
    drawn.add_column("all", justify="right")
    drawn.add_column(f"last {window:,}", justify="right")
    for name in ("records", "predicted", "learned"):
        drawn.add_row(name, f"{report[name]:,}", "")
    if report["unscored"]:
        drawn.add_row("  not scored: before any label", f"{report['unscored']:,}", "")
    for name, said in _DISORDER.items():
        if report[name]:
            drawn.add_row(said, f"{report[name]:,}", "")
    rejected = report["rejected"]
    drawn.add_row("rejected", f"{sum(rejected.values()):,}", "")
    for reason, number in rejected.items():
        drawn.add_row(Text(printable(f"  {reason}")), f"{number:,}", "")
    if report.get("deletes"):
        drawn.add_row("deletes, passed over", f"{report['deletes']:,}", "")
    bad = sorted(report["bad_fields"].items(), key=lambda one: -one[1])
    if bad:
        drawn.add_row("values that could not be read", f"{sum(n for _, n in bad):,}", "")
    for name, number in bad[:MOST_FIELDS]:
        drawn.add_row(Text(printable(f"  {name}")), f"{number:,}", "")
    for name, number in report.get("waiting", {}).items():
        drawn.add_row(f"late labels: {name}", f"{number:,}", "")
    for name, number in _of_cluster(report.get("cluster", {})).items():
        drawn.add_row(name, f"{number:,}", "")
    if report["scores"]:
        both = [report["scores"][view] for view in ("cumulative", "windowed")]
        for score in listed_scores(report["task"], report["scores"]):
            drawn.add_row(score.title, *(score.text(view.get(score.name)) for view in both))
        drawn.add_row("drifts", f"{report['drifts']:,}", "")
    for field, cohorts in report.get("slices", {}).items():
        for one in cohorts:
            _add_cohort(drawn, field, one, report["task"])
    for one in report.get("challengers", []):
        _add_challenger(drawn, one, report)
    for name in report.get("dropped", {}):
        drawn.add_row(f"challenger {name}", "dropped", "")
    drawn.add_row("records/s", f"{report['records_per_second']:,.0f}", "")
    console.print(drawn)
    for line in _moved(report.get("input")):
        console.print(printable(line), soft_wrap=True, markup=False)
    if report["checkpoint"] is not None:
        console.print(f"checkpoint {report['checkpoint']}", soft_wrap=True, markup=False)


def _moved(told: dict[str, Any] | None) -> list[str]:
    """Return a line for each of the first fields that are others than they were."""
    found = [FieldNow(**one) for one in (told or {}).get("fields", [])]
    moved = [one for one in found if one.moved >= 0]
    lines = [f"field {one.name} has moved: {one.what()}" for one in moved[:MOST_FIELDS]]
    more = len(moved) - len(lines)
    return [*lines, f"and {more:,} more fields have"] if more > 0 else lines


def _add_cohort(drawn: Table, field: str, one: dict[str, Any], task: Task) -> None:
    """Add how good the answers are for one value of a field."""
    score = headline(task)
    both = [one["error"], one["recent_error"]]
    if task == CLASSIFICATION:
        both = [None if error is None else 1 - error for error in both]
    told = f"{score.title}, {field} {one['value']} ({one['records']:,})"
    drawn.add_row(Text(printable(told)), *map(score.text, both))


def _add_challenger(drawn: Table, one: dict[str, Any], report: dict[str, Any]) -> None:
    """Add how a challenger does beside the champion."""
    score = headline(report["task"])
    both = [one["scores"].get(view, {}).get(score.name) for view in ("cumulative", "windowed")]
    drawn.add_row(f"challenger {one['name']}, {score.title}", *map(score.text, both))
    does = "costs" if one["by_cost"] else "errs"
    than = {"better": f"{does} less than", "worse": f"{does} more than"}.get(one["verdict"])
    told = "undecided" if than is None else f"{than} {report['champion']}"
    drawn.add_row(f"  over {one['compared']:,} records", told, "")


def _of_cluster(told: dict[str, Any]) -> dict[str, int]:
    """Return what there is to say of many learners; nothing of one."""
    if not told:
        return {}
    merges = {f"merges that fell back: {name}": n for name, n in told["fallbacks"].items()}
    return {
        "rounds": told["rounds"],
        "  repeated": told["repeated"],
        "learners, at last": told["learners"],
        "  restarted": told["restarts"],
        **merges,
    }


def print_models(title: str, rows: list[dict[str, Any]], task: Task) -> None:
    """Print the scores of several models, a row each, the best one bold."""
    drawn = Table(title=Text(printable(title), "table.title"), title_justify="left")
    drawn.add_column("model", no_wrap=True)
    for name in (*(score.title for score in main_scores(task)), "us/record"):
        drawn.add_column(name, justify="right", no_wrap=True)
    leading = headline(task)
    best = (min if leading.less else max)((row[leading.name] for row in rows), default=0.0)
    for row in rows:
        scores = (score.text(row[score.name]) for score in main_scores(task))
        style = "bold" if row[leading.name] == best else ""
        drawn.add_row(row["model"], *scores, f"{row['us_per_record']:,.1f}", style=style)
    console = Console(highlight=False)
    console.print(drawn)
    rest = [one for one in scores_of(task) if not one.main and one.chart != "baseline"]
    for row in rows:
        told = [f"{one.title} {one.text(row[one.name])}" for one in rest if one.name in row]
        if told:
            console.print(f"{row['model']}: {', '.join(told)}", soft_wrap=True, markup=False)
