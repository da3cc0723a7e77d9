"""The demo: a real run over a stream that moves, watched in the browser until somebody stops it."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rich.console import Console

from stream_llsvm.cli.browsing import open_page
from stream_llsvm.cli.endpoints import make_source
from stream_llsvm.cli.log import logged
from stream_llsvm.cli.mistakes import MistakeError, RunFailedError, one_line, unknown
from stream_llsvm.cli.running import report_of
from stream_llsvm.cli.signals import INTERRUPTED, Stopping
from stream_llsvm.cli.telling import print_table
from stream_llsvm.cli.watching import Watch
from stream_llsvm.connectors.base import Source
from stream_llsvm.engine.engine import Engine
from stream_llsvm.streams.catalog import STREAMS
from stream_llsvm.streams.pace import PacedSource

if TYPE_CHECKING:
    from stream_llsvm.dashboard.serving import Dashboard

#: Seconds before the first sudden change, and between two, at the pace asked for.
_FIRST, _CHANGES = 20, 120
_USUAL_RATE = 400
_PORTS = 20  # that are tried, one after the other
_LOOK = 0.1


def demonstrate(
    stream: str, given: Mapping[str, Any], rate: float, port: int, seed: int, *, browser: bool
) -> int:
    """Run the demo until it is stopped; ``given`` is what was said of a file's columns."""
    about, source = _source(stream, given, rate, seed)
    with contextlib.ExitStack() as stack:
        stack.callback(source.close)
        engine = Engine(source)
        page = stack.enter_context(_page(engine, port))
        stopping = stack.enter_context(Stopping(engine.stop))
        print(f"{stream}: {about}", flush=True)
        opened = browser and open_page(page.address)
        where = "the live page is at" if opened else "open the live page in a browser:"
        print(f"{where} {page.address} (Ctrl-C ends the demo)", flush=True)
        begin = time.monotonic()
        try:
            with logged(), Watch(engine, Console(stderr=True), stopping.again):
                engine.run()
        except Exception as error:
            raise RunFailedError(one_line(error)) from error
        seconds = time.monotonic() - begin
        if stopping.by is None:
            print("the stream has ended; the page stays until Ctrl-C", flush=True)
        while stopping.by is None:
            time.sleep(_LOOK)
        report = report_of(engine, stopping.by, seconds, engine.progress.counts["records"])
    print_table(report, engine.progress.scores.window)
    return INTERRUPTED if stopping.by == "SIGINT" else 0


def _source(stream: str, given: Mapping[str, Any], rate: float, seed: int) -> tuple[str, Source]:
    """Return what to say of a stream, and the stream: by its name, or a file's."""
    if stream in STREAMS:
        for option in given:
            raise MistakeError(f"--{option}: only a file needs it; {stream} comes as it should")
        about, make = STREAMS[stream]
        pace = rate or _USUAL_RATE
        source = make(seed, max(1, round(_FIRST * pace)), max(1, round(_CHANGES * pace)))
    elif "." in stream and "://" not in stream:
        if "label" not in given:
            raise MistakeError(f"--label: say which column of {stream} is the label")
        about = "a file, once, each record predicted before it is learned"
        source = make_source({"from": [stream], **given})
    else:
        raise MistakeError(f"--stream: {unknown('stream', stream, STREAMS)}; or name a file")
    return about, source if rate == 0 else PacedSource(source, rate)


def _page(engine: Engine, port: int) -> Dashboard:
    """Return the page of a run, at this port or one of the next."""
    try:
        from stream_llsvm.dashboard.serving import Dashboard, DashboardError
    except ModuleNotFoundError as missing:
        raise MistakeError(f"the demo: {one_line(missing)}") from None
    first: DashboardError | None = None
    for tried in range(port, min(port + _PORTS, 2**16) if port > 0 else 1):
        try:
            return Dashboard(engine, port=tried)
        except DashboardError as error:
            first = first or error
    raise MistakeError(str(first))
