"""``stream-llsvm inspect``: what is in a model file or a checkpoint."""

from __future__ import annotations

from typing import Annotated

import typer
from typer import Option

HELP = "Say in words what is in a model file, a checkpoint or a folder of checkpoints."
EXAMPLE = "stream-llsvm inspect checkpoints/"


def command(
    path: Annotated[str, typer.Argument(help="A model file, a checkpoint or a folder of them.")],
    json: Annotated[bool, Option("--json", help="Print one JSON object.")] = False,
) -> int:
    """Look into a file."""
    from stream_llsvm.cli.inspecting import inspect

    return inspect(path, as_json=json)
