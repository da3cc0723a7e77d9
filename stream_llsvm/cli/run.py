"""``stream-llsvm run``: learn a stream, from a pipeline file or by flags."""

from __future__ import annotations

import contextlib
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer
from typer import Option

from stream_llsvm.cli.errors import MistakeError, RunFailedError, one_line
from stream_llsvm.cli.options import (
    JSON,
    MAX_RECORDS,
    checked,
    flags_of_pipeline,
    values_of,
    with_flags,
)
from stream_llsvm.cli.signals import INTERRUPTED, Stopping
from stream_llsvm.connectors.keys import Key, one_of

if TYPE_CHECKING:
    from stream_llsvm.cli.pipeline import Settings
    from stream_llsvm.connectors.base import Sink
    from stream_llsvm.engine.engine import Engine

EXAMPLE = "stream-llsvm run --from data.csv --label y --to predictions.jsonl --checkpoints kept"
_LOG = {
    "--log-format": Key(
        one_of("text", "json"),
        help="Of what is said meanwhile, on stderr: text, or a JSON object a line.",
    )
}


@with_flags(flags_of_pipeline() | _LOG)
def command(
    pipeline: Annotated[
        Path | None, typer.Argument(metavar="PIPELINE", help="A pipeline file (TOML).")
    ] = None,
    max_records: MAX_RECORDS = None,
    option: Annotated[
        list[str] | None, Option(metavar="NAME=VALUE", help="Of the model: threads=2.")
    ] = None,
    challenger: Annotated[
        list[str] | None,
        Option(metavar="NAME[=MODEL]", help="A model that learns beside: sapl, or big=committee."),
    ] = None,
    dashboard: Annotated[
        str | None,
        Option(metavar="[HOST:]PORT", help="Show the run on a live page there, such as 8765."),
    ] = None,
    json: JSON = False,
    **given: Any,
) -> int:
    """Run a pipeline."""
    from stream_llsvm.cli import models
    from stream_llsvm.cli.pipeline import Pipeline

    asked = Pipeline(pipeline)
    asked.flags(values_of(flags_of_pipeline(), given))
    for name, value in models.parsed(option or []).items():
        asked.flag(f"--option {name}", "model", name, value)
    for one in challenger or []:
        name, _, kind = one.partition("=")
        asked.settings.setdefault("challengers", {})[name] = {"class": kind or name}
    if dashboard is not None:
        host, port = host_and_port(dashboard)
        asked.flag("--dashboard", "dashboard", "host", host)
        asked.flag("--dashboard", "dashboard", "port", port)
    log_format = checked(_LOG, given).get("--log-format")
    return run_pipeline(
        asked.checked(), as_json=json, max_records=max_records, log_format=log_format
    )


def host_and_port(address: str) -> tuple[str | None, int]:
    """Return the host, None if there is none, and the port of ``[HOST:]PORT``.

    Examples
    --------
    >>> host_and_port("8765"), host_and_port("0.0.0.0:80"), host_and_port("[::1]:80")
    ((None, 8765), ('0.0.0.0', 80), ('::1', 80))

    """
    host, found, port = address.rpartition(":")
    if not port.isdecimal() or int(port) > 65_535 or (found and not host):
        raise MistakeError(f"{address}: write a port, or a host and a port: localhost:8765")
    return host.removeprefix("[").removesuffix("]") or None, int(port)


def run_pipeline(
    settings: Settings, *, as_json: bool, max_records: int | None, log_format: str | None = None
) -> int:
    """Run what the settings say; return the exit code."""
    from rich.console import Console

    from stream_llsvm.cli.build import make_engine, make_sink
    from stream_llsvm.cli.checks import check_can_write
    from stream_llsvm.cli.cluster import is_asked_for, make_cluster_engine
    from stream_llsvm.cli.log import Alarms, logged
    from stream_llsvm.cli.terminal import Watch, print_json, print_table
    from stream_llsvm.cli.watch import watch

    save = settings.get("model", {}).get("save")
    given = settings.get("sink")
    console = None
    if log_format is not None or not as_json:
        # A line that lives would come between lines that a program reads.
        live = False if log_format == "json" else None
        console = Console(stderr=True, highlight=False, force_terminal=live)
    with contextlib.ExitStack() as stack:
        stack.enter_context(logged(log_format or "text"))
        lease = None
        if settings.get("checkpoints", {}).get("standby"):
            from stream_llsvm.cli.standby import owned, story

            lease, by = owned(settings, stack)
            if lease is None:
                return INTERRUPTED if by == "SIGINT" else 0
        sink = None if given is None else make_sink(given)
        if sink is not None:
            stack.callback(sink.close)
            if "checkpoints" in settings:
                _say_what_comes_twice(sink)
        engine: Engine
        if is_asked_for(settings):  # which those who watch a run do not tell from one learner
            engine = cast("Engine", make_cluster_engine(settings, sink, stack))
        else:
            engine = make_engine(settings, sink, stack, lease)
        if lease is not None:
            engine.progress.note("owner", story(lease))
        if save is not None:  # now that the run's own folders are there
            check_can_write("--save", save)
        Alarms(engine, settings["source"].get("label"))
        watch(settings, engine, stack)
        stopping = stack.enter_context(Stopping(engine.stop))
        begin, before = time.monotonic(), engine.progress.counts["records"]
        try:
            with Watch(engine, console, stopping.again):
                engine.run(max_records)
        except Exception as error:
            from stream_llsvm.cli.standby import cause_of

            return _failed(one_line(cause_of(error, lease)), log_format, error)
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
    from stream_llsvm.cli.log import fail

    fail(text, event="failed")
    return 1


def _say_what_comes_twice(sink: Sink) -> None:
    """Say so if a crash would let predictions be written again."""
    from stream_llsvm.cli.log import warn
    from stream_llsvm.connectors.base import Rollback, transactional

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
