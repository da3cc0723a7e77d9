"""``stream-llsvm top``: how a run with a live page is doing, in the terminal."""

from __future__ import annotations

from typing import Annotated

import typer
from typer import Option

HELP = "Show in the terminal how a run with a live page is doing, until Ctrl-C."
EXAMPLE = "stream-llsvm top localhost:8765"


def command(
    address: Annotated[
        str, typer.Argument(metavar="ADDRESS", help="The page's address, or HOST:PORT.")
    ] = "8765",
    once: Annotated[bool, Option("--once", help="Show it once, and end.")] = False,
) -> int:
    """Watch a run. A token is taken from STREAM_LLSVM_TOKEN, or from the address."""
    from stream_llsvm.cli.topping import watch_page

    return watch_page(address, once=once)
