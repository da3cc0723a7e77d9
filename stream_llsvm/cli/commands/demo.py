"""``stream-llsvm demo``: a stream that moves, live in the browser."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any

from typer import Option

from stream_llsvm.cli.options import columns_in, completing, with_columns

HELP = "Learn a stream that never rests, and watch it in the browser until Ctrl-C."
EXAMPLE = "stream-llsvm demo --stream agrawal --rate 1000"


def _streams() -> Iterable[str]:
    from stream_llsvm.streams.catalog import STREAMS

    return STREAMS


@with_columns({"label", "ignore", "features"})
def command(
    stream: Annotated[
        str,
        Option(
            metavar="NAME",
            help="bananas (they move), sea, agrawal, led, rbf, hyperplane (river's, which drift), "
            "segments, phishing, still-bananas (river's, over and over), or the path of a file, "
            "once.",
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
    from stream_llsvm.cli.demonstrating import demonstrate

    return demonstrate(stream, columns_in(given), rate, port, seed, browser=browser)
