"""``stream-llsvm checkpoint``: keep a checkpoint by name, for good."""

from __future__ import annotations

from typing import Annotated

from typer import Option

from stream_llsvm.cli.errors import put
from stream_llsvm.cli.options import FOLDER_FLAG, WAIT

EXAMPLE = "stream-llsvm checkpoint --checkpoints kept --name before-black-friday"


def command(
    checkpoints: FOLDER_FLAG,
    name: Annotated[str, Option(metavar="NAME", help="What it is called from here on.")],
    wait: WAIT = 60.0,
) -> int:
    """Keep a checkpoint."""
    from stream_llsvm.cli.run_request import asked

    put(asked(checkpoints, "checkpoint", name, wait))
    return 0
