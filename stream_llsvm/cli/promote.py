"""``stream-llsvm promote``: let a challenger take the champion's place."""

from __future__ import annotations

from typing import Annotated

from typer import Argument

from stream_llsvm.cli.errors import put
from stream_llsvm.cli.options import FOLDER_FLAG, WAIT

EXAMPLE = "stream-llsvm promote --checkpoints kept sapl"


def command(
    name: Annotated[str, Argument(metavar="NAME", help="The challenger, by its name.")],
    checkpoints: FOLDER_FLAG,
    wait: WAIT = 60.0,
) -> int:
    """Promote a model."""
    from stream_llsvm.cli.run_request import asked

    put(asked(checkpoints, "promote", name, wait))
    return 0
