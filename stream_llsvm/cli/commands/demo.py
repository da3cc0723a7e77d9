"""``stream-llsvm demo``: a bundled stream in the terminal."""

from __future__ import annotations

from typing import Annotated

from typer import Option

HELP = "Learn a stream that comes with river, in the terminal, beside four simpler learners."
EXAMPLE = "stream-llsvm demo --stream segments"


def command(
    stream: Annotated[str, Option(help="bananas, segments or phishing.")] = "bananas",
    rate: Annotated[float, Option(min=0, help="Records a second on a screen; 0: no limit.")] = 2000,
) -> int:
    """Run the demo."""
    from stream_llsvm.cli.demonstrating import demonstrate

    return demonstrate(stream, rate)
