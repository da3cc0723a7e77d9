"""``stream-llsvm demo``: a stream that moves, live in the browser."""

from __future__ import annotations

from typing import Annotated

from typer import Option

from stream_llsvm.cli.commands.record_options import Features, Ignore

HELP = "Learn a stream that never rests, and watch it in the browser until Ctrl-C."
EXAMPLE = "stream-llsvm demo --stream agrawal --rate 1000"


def command(
    stream: Annotated[
        str,
        Option(
            help="bananas (they move), sea, agrawal, led, rbf, hyperplane (river's, which drift), "
            "segments, phishing, still-bananas (river's, over and over), or the path of a file, "
            "once."
        ),
    ] = "bananas",
    label: Annotated[str | None, Option(help="Of a file: the column that is the label.")] = None,
    ignore: Ignore = None,
    features: Features = None,
    rate: Annotated[
        float, Option(min=0, max=1e9, help="Records a second; 0: as fast as it can.")
    ] = 400,
    port: Annotated[
        int, Option(min=0, max=65_535, help="Of the page; if it is taken, one of the next.")
    ] = 8765,
    seed: Annotated[int, Option(min=0, max=2**31 - 1, help="For what is made up.")] = 0,
    browser: Annotated[
        bool, Option("--browser/--no-browser", help="Open the page in the browser.")
    ] = True,
) -> int:
    """Run the demo."""
    from stream_llsvm.cli.columns import asked_for
    from stream_llsvm.cli.demonstrating import demonstrate

    given = asked_for(label=label, ignore=ignore, features=features)
    return demonstrate(stream, given, rate, port, seed, browser=browser)
