"""The commands, put together. Each brings in what it needs when it is called."""

from __future__ import annotations

from typing import Annotated

import typer

from stream_llsvm.cli.commands import demo, evaluate, inspect, predict, replay, run, top
from stream_llsvm.cli.group import Group
from stream_llsvm.version import __version__

app = typer.Typer(
    cls=Group,
    help="Learn a classifier from a live stream: each record is predicted, scored, then learned.",
    epilog="Example: stream-llsvm run --from examples/bananas.csv --label y --key id",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"stream-llsvm {__version__}")
        raise typer.Exit


@app.callback()
def options(
    debug: Annotated[bool, typer.Option("--debug", help="Show where an error came from.")] = False,
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Show the version and exit.", is_eager=True, callback=_show_version
        ),
    ] = False,
) -> None:
    """Take the options of all commands; where it stands, `Group` takes --debug out."""


for command in (run, evaluate, replay, predict, inspect, demo, top):
    name = command.__name__.rpartition(".")[2]
    app.command(name, help=command.HELP, epilog=f"Example: {command.EXAMPLE}")(command.command)
