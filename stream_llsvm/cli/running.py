"""Run a pipeline until its source ends or somebody stops it."""

from __future__ import annotations

import contextlib
import logging
import sys
import time
from typing import Any

from rich.console import Console

from stream_llsvm.cli.alarms import Alarms
from stream_llsvm.cli.building import make_engine
from stream_llsvm.cli.endpoints import make_sink
from stream_llsvm.cli.log import logged, say, warn
from stream_llsvm.cli.mistakes import RunFailedError, one_line
from stream_llsvm.cli.paging import show_page
from stream_llsvm.cli.pipeline import Settings
from stream_llsvm.cli.places import check_can_write
from stream_llsvm.cli.signals import INTERRUPTED, Stopping
from stream_llsvm.cli.telling import print_json, print_table
from stream_llsvm.cli.watching import Watch
from stream_llsvm.connectors.base import Rollback, Sink, transactional
from stream_llsvm.engine.engine import Engine


def run_pipeline(
    settings: Settings, *, as_json: bool, max_records: int | None, log_format: str | None = None
) -> int:
    """Run what the settings say; return the exit code."""
    save = settings.get("model", {}).get("save")
    given = settings.get("sink")
    console = None
    if log_format is not None or not as_json:
        # A line that lives would come between lines that a program reads.
        live = False if log_format == "json" else None
        console = Console(stderr=True, highlight=False, force_terminal=live)
    with contextlib.ExitStack() as stack:
        stack.enter_context(logged(log_format or "text"))
        sink = None if given is None else make_sink(given)
        if sink is not None:
            stack.callback(sink.close)
            if "checkpoints" in settings:
                _say_what_comes_twice(sink)
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
            return _failed(one_line(error), log_format, error)
        seconds = time.monotonic() - begin
        failed = [lost] if (lost := _lost(engine)) else []
        if save is not None and (unsaved := _save(engine.model, save)):
            failed.append(unsaved)
        records = engine.progress.counts["records"] - before
        report = report_of(engine, stopping.by, seconds, records)
        report["failed"] = failed
        # Where predictions go to standard output, what became of the run must not be among them.
        out = sys.stderr if given is not None and given["to"] == "-" else sys.stdout
        if as_json:
            print_json(report, out)
        else:
            print_table(report, engine.progress.scores.window, out)
        if failed:  # told when there is nothing left to do, so that it is the last that is read
            return _failed("; ".join(failed), log_format)
    return INTERRUPTED if stopping.by == "SIGINT" else 0


def _failed(text: str, log_format: str | None, cause: Exception | None = None) -> int:
    """Say what a run failed of: as a line of the log, if somebody asked for a log."""
    if log_format is None:
        raise RunFailedError(text) from cause
    say(text, logging.ERROR, event="failed")
    return 1


def _say_what_comes_twice(sink: Sink) -> None:
    """Say so if a crash would let predictions be written again."""
    if isinstance(sink, Rollback) or transactional(sink) is not None:
        return
    warn(
        "what is written to this sink cannot be taken back: after a crash, records since the last "
        "checkpoint are predicted again, and written twice; each is still learned once",
        event="at least once",
    )


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
