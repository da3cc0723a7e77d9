"""``stream-llsvm demo``: a stream that moves, live in the browser."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from stream_llsvm.cli.errors import MistakeError, RunFailedError, one_line, put, unknown
from stream_llsvm.cli.options import columns, columns_in, completing, with_flags
from stream_llsvm.cli.run import report_of
from stream_llsvm.cli.signals import INTERRUPTED, Stopping

if TYPE_CHECKING:
    from stream_llsvm.connectors.base import Source
    from stream_llsvm.dashboard.server import Dashboard
    from stream_llsvm.engine.engine import Engine

EXAMPLE = "stream-llsvm demo --stream agrawal --rate 1000"

#: Seconds before the first sudden change, and between two, at the pace asked for.
_FIRST, _CHANGES = 20, 120
_USUAL_RATE = 400
_PORTS = 20  # that are tried, one after the other
_LOOK = 0.1
_DISPLAYS = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")


def _streams() -> Iterable[str]:
    from stream_llsvm.streams.catalog import STREAMS

    return STREAMS


@with_flags(columns({"label", "ignore", "features"}))
def command(
    stream: Annotated[
        str,
        Option(
            metavar="NAME",
            help="bananas (they move), payments (with names and times), sea, agrawal, led, rbf, "
            "hyperplane (river's, which drift), segments, phishing, still-bananas (river's, over "
            "and over), or the path of a file, once.",
            autocompletion=completing(_streams),
        ),
    ] = "bananas",
    rate: Annotated[
        float,
        Option(min=0, max=1e9, metavar="RATE", help="Records a second; 0: as fast as it can."),
    ] = 400,
    port: Annotated[
        int,
        Option(
            min=0, max=65_535, metavar="PORT", help="Of the page; if it is taken, one of the next."
        ),
    ] = 8765,
    seed: Annotated[
        int, Option(min=0, max=2**31 - 1, metavar="SEED", help="For what is made up.")
    ] = 4,  # its first sudden change costs a quarter of the answers and raises the alarm
    browser: Annotated[
        bool, Option("--browser/--no-browser", help="Open the page in the browser.")
    ] = True,
    **given: Any,
) -> int:
    """Run the demo."""
    return demonstrate(stream, columns_in(given), rate, port, seed, browser=browser)


def demonstrate(
    stream: str, given: Mapping[str, Any], rate: float, port: int, seed: int, *, browser: bool
) -> int:
    """Run the demo until it is stopped; ``given`` is what was said of a file's columns."""
    from rich.console import Console

    from stream_llsvm.cli.log import logged
    from stream_llsvm.cli.terminal import Watch, print_table
    from stream_llsvm.engine.engine import Engine

    about, source = _source(stream, given, rate, seed)
    with contextlib.ExitStack() as stack:
        stack.callback(source.close)
        engine = Engine(source)
        page = stack.enter_context(_page(engine, port))
        stopping = stack.enter_context(Stopping(engine.stop))
        put(f"{stream}: {about}")
        opened = browser and open_page(page.address)
        where = "the live page is at" if opened else "open the live page in a browser:"
        put(f"{where} {page.address} (Ctrl-C ends the demo)")
        begin = time.monotonic()
        try:
            with logged(), Watch(engine, Console(stderr=True), stopping.again):
                engine.run()
        except Exception as error:
            raise RunFailedError(one_line(error)) from error
        seconds = time.monotonic() - begin
        if stopping.by is None:
            put("the stream has ended; the page stays until Ctrl-C")
        while stopping.by is None:
            time.sleep(_LOOK)
        report = report_of(engine, stopping.by, seconds, engine.progress.counts["records"])
    print_table(report, engine.progress.scores.window)
    return INTERRUPTED if stopping.by == "SIGINT" else 0


def _source(stream: str, given: Mapping[str, Any], rate: float, seed: int) -> tuple[str, Source]:
    """Return what to say of a stream, and the stream: by its name, or a file's."""
    from stream_llsvm.cli.build import make_source
    from stream_llsvm.streams.catalog import STREAMS
    from stream_llsvm.streams.pace import PacedSource

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
        from stream_llsvm.dashboard.server import Dashboard, DashboardError
    except ModuleNotFoundError as missing:
        raise MistakeError(f"the demo: {one_line(missing)}") from None
    first: DashboardError | None = None
    for tried in range(port, min(port + _PORTS, 2**16) if port > 0 else 1):
        try:
            return Dashboard(engine, port=tried)
        except DashboardError as error:
            first = first or error
    raise MistakeError(str(first))


def open_page(address: str) -> bool:
    """Ask for the page to be opened; return whether there is a browser to ask.

    Nothing that goes wrong with it matters: the address has been printed.
    """
    if sys.platform not in ("darwin", "win32") and not any(map(os.environ.get, _DISPLAYS)):
        return False  # what would be found is a browser for the terminal, which is taken
    threading.Thread(target=_open, args=(address,), name="browser", daemon=True).start()
    return True


def _open(address: str) -> None:
    import webbrowser

    try:
        webbrowser.open(address)
    except Exception as error:  # of whatever is installed
        put(f"stream-llsvm: no browser could be opened: {error}", file=sys.stderr)
