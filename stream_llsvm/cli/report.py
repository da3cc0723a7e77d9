"""``stream-llsvm report``: what a run was like in a time, from its history."""

from __future__ import annotations

import re
import sqlite3
import time
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from stream_llsvm.cli.errors import MistakeError, RunFailedError, one_line, put

if TYPE_CHECKING:
    from stream_llsvm.engine.scores import Score
    from stream_llsvm.history.charts import Chart
    from stream_llsvm.history.file import Event, Row
    from stream_llsvm.history.page import Report

EXAMPLE = "stream-llsvm report --checkpoints kept --from -7d --out report.html"
_UNITS = {"min": 60.0, "h": 3_600.0, "d": 86_400.0, "w": 604_800.0}
_AGO = re.compile(r"-(\d+(?:\.\d+)?)(min|h|d|w)")
_MOST_EVENTS = 2_000
_LINES = 8  # of a chart of many
#: Charts of one family of numbers each: a line for each of its labels, those with the largest mean.
_FAMILIES = {
    "label_share_ratio": "Share of the labels, by class",
    "answer_share_ratio": "Share of the answers, by class",
    "class_f1_ratio": "F1, by class",
    "field_drift_bits": "Drift of the input, by field",
    "slice_error": "Error by the values of fields, the worst",
}


def command(
    checkpoints: Annotated[
        Path,
        Option(metavar="FOLDER", help="The run's folder of checkpoints, in which the history is."),
    ],
    begin: Annotated[
        str, Option("--from", metavar="TIME", help="-7d, -12h, or 2026-11-19T08:00 (local time).")
    ] = "-7d",
    to: Annotated[str, Option(metavar="TIME", help="The same, or now.")] = "now",
    out: Annotated[
        Path | None, Option(metavar="FILE", help="Write a page of HTML to this file.")
    ] = None,
    json: Annotated[bool, Option("--json", help="Print all of it as one JSON object.")] = False,
) -> int:
    """Report on a run."""
    from stream_llsvm.history.file import NAME
    from stream_llsvm.history.page import page

    now = time.time()
    first, last = time_of("--from", begin, now), time_of("--to", to, now)
    if first >= last:
        raise MistakeError("--from: it must be before --to")
    if out is None and not json:
        raise MistakeError("say --out FILE, or --json")
    if out is not None:
        from stream_llsvm.cli.checks import check_can_write

        check_can_write("--out", str(out))
    rows, events, before = _read(checkpoints / NAME, first, last)
    report = _report(checkpoints, (first, last), rows, events, before)
    if out is not None:
        try:
            out.write_text(page(report), encoding="utf-8")
        except OSError as error:
            raise RunFailedError(f"--out: {one_line(error)}") from None
    if json:
        from stream_llsvm.cli.terminal import print_json

        print_json(
            {
                "from": first,
                "to": last,
                "facts": dict(report.facts),
                "rows": [row._asdict() for row in rows],
                "events": [one._asdict() for one in events],
            }
        )
    elif out is not None:
        for name, value in report.facts:
            put(f"{name}: {value}")
        put(f"written to {out}")
    return 0


def time_of(flag: str, said: str, now: float) -> float:
    """Return a time in seconds since 1970: so long ago, or a local date with or without a time.

    Examples
    --------
    >>> time_of("--from", "-2h", 10_000.0), time_of("--to", "now", 10_000.0)
    (2800.0, 10000.0)

    """
    if said == "now":
        return now
    if ago := _AGO.fullmatch(said):
        return now - float(ago[1]) * _UNITS[ago[2]]
    try:
        return datetime.fromisoformat(said).timestamp()
    except (ValueError, OverflowError, OSError):
        raise MistakeError(
            f"{flag}: {said}: write -7d, -12h, -30min, now, or a time as 2026-11-19T08:00"
        ) from None


def _read(path: Path, begin: float, end: float) -> tuple[list[Row], list[Event], int]:
    """Return what a history knows of a time, and how many records had come before."""
    from stream_llsvm.history.file import HistoryFile, NewerError

    if not path.is_file():
        raise MistakeError(
            f"{path}: there is no history: a run keeps one beside its checkpoints (--checkpoints)"
        )
    try:
        file = HistoryFile(path)
        try:
            rows = file.rows(begin, end)
            return rows, file.events(begin, end, _MOST_EVENTS), file.record_before(begin)
        finally:
            file.close()
    except NewerError as error:
        raise MistakeError(str(error)) from None
    except (sqlite3.Error, OSError) as error:
        raise RunFailedError(f"{path} cannot be read: {one_line(error)}") from None


def _report(
    folder: Path,
    times: tuple[float, float],
    rows: Sequence[Row],
    events: Sequence[Event],
    before: int,
) -> Report:
    from stream_llsvm.history.page import Report

    scores = _scores(rows)
    facts = [("folder", str(folder)), ("records", f"{_came(rows, before):,}")]
    facts += [("restarts", f"{sum(one.kind == 'started' for one in events):,}")]
    facts += [("alerts", f"{sum(one.kind == 'alert' for one in events):,}")]
    for score in scores:
        known = [v for row in rows if (v := row.values.get(_series(score))) is not None]
        if known:
            facts.append(
                (score.title, f"{score.text(sum(known) / len(known))} on the mean, "
                 f"{score.text(min(known))} to {score.text(max(known))}, "
                 f"last {score.text(known[-1])}")
            )  # fmt: skip
    return Report(f"stream-llsvm: {folder.name}", *times, facts, _charts(rows, scores), events)


def _came(rows: Sequence[Row], before: int) -> int:
    """Return how many records came; a run that began anew counts from nothing."""
    total = 0
    for row in rows:
        total += row.record - before if row.record >= before else row.record
        before = row.record
    return total


def _scores(rows: Sequence[Row]) -> list[Score]:
    """Return the scores of the run's task."""
    from stream_llsvm.engine.scores import scores_of

    numbers = any("mae{kind=windowed}" in row.values for row in rows)
    return scores_of("regression" if numbers else "classification")


def _series(score: Score) -> str:
    """Return the series of a score in the window."""
    from stream_llsvm.dashboard.recorder import name_of

    kind = "windowed" if score.labels == "view" else score.name
    return name_of(score.metric, kind=kind)


def _charts(rows: Sequence[Row], scores: Sequence[Score]) -> list[Chart]:
    """Return the charts that something is known for."""
    from stream_llsvm.history.charts import Chart, Line

    times = [row.time + row.span / 2 for row in rows]
    gap = 2.5 * max((row.span for row in rows), default=60)

    def chart(title: str, lines: dict[str, str], *, percent: bool = False) -> Chart:
        made = [Line(name, [row.values.get(key) for row in rows]) for name, key in lines.items()]
        known = [one for one in made if any(v is not None for v in one.values)]
        return Chart(title, times, known, percent, gap)

    lead = [one for one in scores if one.chart in ("view", "baseline")]
    others = [one for one in scores if one not in lead]
    percent = all(one.percent for one in lead)
    title = f"{lead[0].title[0].upper()}{lead[0].title[1:]} of the last records"
    charts = [chart(title, {one.title: _series(one) for one in lead}, percent=percent)]
    charts += [chart(one.title, {one.title: _series(one)}, percent=one.percent) for one in others]
    charts.append(chart("Records a second", {"records a second": "rate_records"}))
    charts.append(chart("Records behind the source", {"behind": "lag_records"}))
    charts.append(_rejected(rows, times, gap))
    charts.append(chart("Records that wait for labels", {"waiting": "labels_waiting"}))
    for family, words in _FAMILIES.items():
        charts.append(chart(words, _largest(rows, family), percent=family.endswith("_ratio")))
    return [one for one in charts if one.lines]


def _largest(rows: Sequence[Row], family: str) -> dict[str, str]:
    """Return the series of a family with the largest means, by their labels."""
    sums: dict[str, float] = {}
    for row in rows:
        for name, value in row.values.items():
            if name.startswith(f"{family}{{"):
                sums[name] = sums.get(name, 0.0) + value
    largest = sorted(sums, key=lambda name: -sums[name])[:_LINES]
    return {_title(name): name for name in largest}


def _title(series: str) -> str:
    """Return what a line is called: the labels' values.

    Examples
    --------
    >>> _title("class_f1_ratio{class=ham}"), _title("slice_error{field=country,value=DE}")
    ('ham', 'country: DE')

    """
    return series.partition("=")[2].removesuffix("}").replace(",value=", ": ", 1)


def _rejected(rows: Sequence[Row], times: Sequence[float], gap: float) -> Chart:
    """Return the share of records that could not be used, in each minute or hour."""
    from stream_llsvm.history.charts import Chart, Line

    shares: list[float | None] = []
    came = used = None
    for row in rows:
        now: Any = (row.values.get("records_total"), row.values.get("predicted_total"))
        share = None
        if came is not None and used is not None and None not in now and now[0] > came:
            share = max(0.0, 1 - (now[1] - used) / (now[0] - came))
        shares.append(share)
        came, used = now
    lines = [Line("rejected", shares)] if any(shares) else []
    return Chart("Share of records that could not be used", times, lines, True, gap)
