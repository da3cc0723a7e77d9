"""Tell how a run went: a closing table, or one JSON object; and what looks wrong in it."""

from __future__ import annotations

import json
from typing import Any

from rich.console import Console
from rich.table import Table

from stream_llsvm.engine.rejects import Rejects

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
    return f"the first that was rejected: {first.place}: {first.reason}: {first.detail}"


def print_json(report: dict[str, Any]) -> None:
    """Print one object on one line."""
    print(json.dumps(report, default=str, allow_nan=False), flush=True)


def _share(value: float) -> str:
    return f"{value:.2%}"


def _number(value: float) -> str:
    return f"{value:.3f}"


_ROWS = (
    ("accuracy", "accuracy", _share),
    ("  of the majority class", "majority", _share),
    ("  of the last label", "no_change", _share),
    ("kappa", "kappa", _number),
    ("macro F1", "macro_f1", _number),
    ("log loss", "log_loss", _number),
)


def print_table(report: dict[str, Any], window: int) -> None:
    """Print what became of a run."""
    console = Console(highlight=False)
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
    for name, number in report.get("waiting", {}).items():
        drawn.add_row(f"late labels: {name}", f"{number:,}", "")
    if report["scores"]:
        both = [report["scores"][view] for view in ("cumulative", "windowed")]
        for name, key, form in _ROWS:
            drawn.add_row(name, *(form(view[key]) for view in both))
        drawn.add_row("drifts", f"{report['drifts']:,}", "")
    drawn.add_row("records/s", f"{report['records_per_second']:,.0f}", "")
    console.print(drawn)
    if report["checkpoint"] is not None:
        console.print(f"checkpoint {report['checkpoint']}", soft_wrap=True)
