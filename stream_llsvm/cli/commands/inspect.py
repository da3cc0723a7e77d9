"""``stream-llsvm inspect``: what is in a model file or a checkpoint."""

from __future__ import annotations

from stream_llsvm.cli.options import JSON, SAVED

HELP = "Say in words what is in a model file, a checkpoint or a folder of checkpoints."
EXAMPLE = "stream-llsvm inspect checkpoints/"


def command(path: SAVED, json: JSON = False) -> int:
    """Look into a file."""
    from stream_llsvm.cli.inspecting import inspect

    return inspect(path, as_json=json)
