"""Tell how a run went: a closing table, or one JSON object; and what looks wrong in it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, TextIO

from rich.console import Console
from rich.table import Table

from stream_llsvm.engine.rejects import Rejects
from stream_llsvm.engine.scores import SCORES, main_scores

_FIELDS = 10  # of those with values that could not be read
_MANY = 20  # labels that occur once or twice each: a number, or an id


def doubted(labels: int, records: int) -> str | None:
    """Return what to ask if hardly a label occurs twice.

    Examples
    --------
    >>> doubted(1_499, 1_500)
    '1,499 labels in 1,500 records: is the label a class, and not a number or an id?'

    """
    if labels <= _MANY or 2 * labels <= records:
        return None
    return (
        f"{labels:,} labels in {records:,} records: is the label a class, and not a number or an "
        "id?"
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
    several = ", ".join(f"{name}: {number:,}" for name, number in worst[:_FIELDS])
    more = ", ..." if len(worst) > _FIELDS else ""
    return f"{sum(bad_fields.values()):,} values could not be read ({several}{more})"


def print_json(report: dict[str, Any], out: TextIO | None = None) -> None:
    """Print one object on one line, to standard output unless told otherwise."""
    print(json.dumps(report, default=str, allow_nan=False), file=out, flush=True)


def print_table(report: dict[str, Any], window: int, out: TextIO | None = None) -> None:
    """Print what became of a run, to standard output unless told otherwise."""
    console = Console(file=out, highlight=False)
    drawn = Table(show_header=bool(report["scores"]), title_justify="left")
    drawn.add_column("")
    drawn.add_column("all", justify="right")
    drawn.add_column(f"last {window:,}", justify="right")
    for name in ("records", "predicted", "learned"):
        drawn.add_row(name, f"{report[name]:,}", "")
    if report["unscored"]:
        drawn.add_row("  not scored: before any label", f"{report['unscored']:,}", "")
    rejected = report["rejected"]
    drawn.add_row("rejected", f"{sum(rejected.values()):,}", "")
    for reason, number in rejected.items():
        drawn.add_row(f"  {reason}", f"{number:,}", "")
    bad = sorted(report["bad_fields"].items(), key=lambda one: -one[1])
    if bad:
        drawn.add_row("values that could not be read", f"{sum(n for _, n in bad):,}", "")
    for name, number in bad[:_FIELDS]:
        drawn.add_row(f"  {name}", f"{number:,}", "")
    for name, number in report.get("waiting", {}).items():
        drawn.add_row(f"late labels: {name}", f"{number:,}", "")
    if report["scores"]:
        both = [report["scores"][view] for view in ("cumulative", "windowed")]
        for score in SCORES:
            drawn.add_row(score.title, *(score.text(view.get(score.name)) for view in both))
        drawn.add_row("drifts", f"{report['drifts']:,}", "")
    drawn.add_row("records/s", f"{report['records_per_second']:,.0f}", "")
    console.print(drawn)
    if report["checkpoint"] is not None:
        console.print(f"checkpoint {report['checkpoint']}", soft_wrap=True)


def print_models(title: str, rows: list[dict[str, Any]]) -> None:
    """Print the scores of several models, a row each, the best one bold."""
    drawn = Table(title=title, title_justify="left")
    drawn.add_column("model", no_wrap=True)
    for name in (*(score.title for score in main_scores()), "us/record"):
        drawn.add_column(name, justify="right", no_wrap=True)
    best = max((row["accuracy"] for row in rows), default=0.0)
    for row in rows:
        scores = (score.text(row[score.name]) for score in main_scores())
        style = "bold" if row["accuracy"] == best else ""
        drawn.add_row(row["model"], *scores, f"{row['us_per_record']:,.1f}", style=style)
    Console(highlight=False).print(drawn)
