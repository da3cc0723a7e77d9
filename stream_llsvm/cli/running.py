"""Run a pipeline until its source ends or somebody stops it."""

from __future__ import annotations

import contextlib
import time
from typing import Any

from rich.console import Console

from stream_llsvm.cli.alarms import Alarms
from stream_llsvm.cli.building import make_engine
from stream_llsvm.cli.endpoints import make_sink
from stream_llsvm.cli.mistakes import RunFailedError, one_line
from stream_llsvm.cli.paging import show_page
from stream_llsvm.cli.pipeline import Settings
from stream_llsvm.cli.places import check_can_write
from stream_llsvm.cli.signals import INTERRUPTED, Stopping
from stream_llsvm.cli.telling import print_json, print_table
from stream_llsvm.cli.watching import Watch
from stream_llsvm.engine.engine import Engine


def run_pipeline(settings: Settings, *, as_json: bool, max_records: int | None) -> int:
    """Run what the settings say; return the exit code."""
    save = settings.get("model", {}).get("save")
    given = settings.get("sink")
    sink = None if given is None else make_sink(given)
    console = None if as_json else Console(stderr=True, highlight=False)
    with contextlib.ExitStack() as stack:
        if sink is not None:
            stack.callback(sink.close)
        engine = make_engine(settings, sink, stack)
        if save is not None:  # now that the run's own folders are there
            check_can_write("--save", save)
        Alarms(engine, settings["source"].get("label"))
        if "dashboard" in settings:
            show_page(settings["dashboard"], engine, stack)
        stopping = stack.enter_context(Stopping(engine.stop))
        begin, before = time.monotonic(), engine.progress.counts["records"]
        try:
            with Watch(engine, console, stopping.again):
                engine.run(max_records)
        except Exception as error:
            raise RunFailedError(one_line(error)) from error
        seconds = time.monotonic() - begin
        failed = [lost] if (lost := _lost(engine)) else []
        if save is not None and (unsaved := _save(engine.model, save)):
            failed.append(unsaved)
        report = report_of(engine, stopping.by, seconds, engine.progress.counts["records"] - before)
    report["failed"] = failed
    print_json(report) if as_json else print_table(report, engine.progress.scores.window)
    if failed:  # told when there is nothing left to do, so that it is the last that is read
        raise RunFailedError("; ".join(failed))
    return INTERRUPTED if stopping.by == "SIGINT" else 0


def _save(model: Any, path: str) -> str:
    """Save the model; return why it could not be, nothing if it could."""
    try:
        model.save(path)
    except OSError as error:
        return f"the model could not be saved: {one_line(error)}"
    return ""


def _lost(engine: Engine) -> str:
    """Return what the last checkpoint should have kept and could not, nothing if all is kept."""
    if engine.lost is None:
        return ""
    kept, made = engine.checkpoints, engine.made
    good = "there is no good one" if kept is None or made is None else (
        f"the newest good one is {kept.path(made.number)}, at record {made.record:,}"
    )  # fmt: skip
    return (
        f"the last checkpoint failed ({engine.lost.why}): what was learned of the last "
        f"{engine.lost.records:,} records is lost; {good}"
    )


def report_of(engine: Engine, by: str | None, seconds: float, records: int) -> dict[str, Any]:
    """Return what became of a run: stopped by a signal or not, after so long, so many records."""
    kept, made = engine.checkpoints, engine.made
    return {
        **engine.report(),
        "model": type(engine.model).__name__,
        "seconds": round(seconds, 3),
        "records_per_second": round(records / max(seconds, 1e-9), 1),
        "checkpoint": None if kept is None or made is None else str(kept.path(made.number)),
        "stopped_by": by,
    }
