"""A report as one page of HTML: tables and charts, without scripts and without a network."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from html import escape
from typing import NamedTuple

from stream_llsvm.history.charts import Chart, Mark, legend, svg
from stream_llsvm.history.file import Event

_STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --soft: #5b6470; --paper: #fff; --rule: #d8dde3;
  --c0: #0b62c4; --c1: #b3541e; --c2: #1a7f4b; --c3: #8a3ffc; --c4: #a2195b; --c5: #6b7280;
  --c6: #0f7b8a; --c7: #946200; --bad: #c62828; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ed; --soft: #a3adb8; --paper: #14181d;
  --rule: #333b45; --c0: #6cb0ff; --c1: #f0a06b; --c2: #63d297; --c3: #c3a1ff; --c4: #ff8fbf;
  --c5: #a8b0bb; --c6: #5fd0df; --c7: #e0b64a; --bad: #ff7b72; } }
@media print { :root { --ink: #000; --soft: #444; --paper: #fff; --rule: #ccc; }
  section { break-inside: avoid; } }
body { margin: 2rem auto; max-width: 60rem; padding: 0 1rem; background: var(--paper);
  color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.5rem; margin: 0; } h2 { font-size: 1.1rem; margin: 2rem 0 .4rem; }
p { margin: .2rem 0; color: var(--soft); }
svg { width: 100%; height: auto; } svg text { font-size: 11px; fill: var(--soft); }
text.y { text-anchor: end; dominant-baseline: middle; } line.grid { stroke: var(--rule); }
.line { fill: none; stroke-width: 1.5; } circle.line { stroke-width: 2; }
line.mark { stroke: var(--soft); stroke-dasharray: 2 3; }
line.alert, line.drift { stroke: var(--bad); }
.legend { display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; list-style: none; margin: 0;
  padding: 0; }
.key { display: inline-block; width: .9rem; height: .2rem; margin-right: .35rem;
  vertical-align: middle; }
table { border-collapse: collapse; width: 100%; } th { text-align: left; font-weight: 600; }
td, th { padding: .15rem .8rem .15rem 0; border-bottom: 1px solid var(--rule);
  vertical-align: top; font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
""" + "".join(
    f".line.c{i} {{ stroke: var(--c{i}); }} .key.c{i} {{ background: var(--c{i}); }}\n"
    for i in range(8)
)
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_LISTED = 300  # events
#: What kinds of events are marked in charts.
MARKED = ("started", "alert", "drift", "promoted", "rolled back")


class Report(NamedTuple):
    """What a report says.

    Attributes
    ----------
    title
        What it is of.
    begin, end
        Of which time, in seconds since 1970.
    facts
        What there is to say in a word, by name.
    charts
        The charts.
    events
        What happened.

    """

    title: str
    begin: float
    end: float
    facts: Sequence[tuple[str, str]]
    charts: Sequence[Chart]
    events: Sequence[Event]


def page(report: Report) -> str:
    """Return a report as a page."""
    title = escape(report.title)
    times = f"{_time(report.begin)} to {_time(report.end)}"
    marks = [Mark(e.time, e.kind.replace(" ", "-"), f"{_time(e.time)} {e.kind}: {e.text}")
             for e in report.events if e.kind in MARKED]  # fmt: skip
    body = [f"<h1>{title}</h1><p>{times}, local time.</p>", _table("At a glance", report.facts)]
    if not report.charts:
        body.append("<p>Nothing is known of this time.</p>")
    for chart in report.charts:
        body.append(
            f"<section><h2>{escape(chart.title)}</h2>{legend(chart)}"
            f"{svg(chart, report.begin, report.end, marks)}</section>"
        )
    body.append(_happened(report.events))
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{title}</title><style>{_STYLE}</style></head><body>\n"
        + "\n".join(body)
        + "\n</body></html>\n"
    )


def _table(title: str, rows: Sequence[tuple[str, str]]) -> str:
    lines = "".join(
        f'<tr><th scope="row">{escape(name)}</th><td>{escape(value)}</td></tr>'
        for name, value in rows
    )
    return f"<section><h2>{escape(title)}</h2><table>{lines}</table></section>"


def _happened(events: Sequence[Event]) -> str:
    """Return a table of events, newest first."""
    lines = "".join(
        f"<tr><td>{_time(one.time)}</td><td>{one.record:,}</td><td>{escape(one.kind)}</td>"
        f"<td>{escape(one.text)}</td></tr>"
        for one in reversed(events[-_LISTED:])
    )
    more = len(events) - _LISTED
    rest = f"<p>And {more:,} before these.</p>" if more > 0 else ""
    head = '<tr><th scope="col">when</th><th scope="col">record</th><th scope="col">what</th>'
    return (
        f"<section><h2>What happened</h2><table>{head}<th></th></tr>{lines}</table>{rest}</section>"
        if events
        else "<section><h2>What happened</h2><p>Nothing was noted.</p></section>"
    )


def _time(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds):%Y-%m-%d %H:%M}"
