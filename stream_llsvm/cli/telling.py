"""Tell how a run went: a closing table, or one JSON object."""

from __future__ import annotations

import json
from typing import Any

from rich.console import Console
from rich.table import Table


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
