"""The commands, put together. Each brings in what it needs when it is called.

A mistake ends as one line and exit code 2, a failed run with 1, Ctrl-C with 130.
"""

from __future__ import annotations

import os
import sys
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

from stream_llsvm.cli import demo, evaluate, inspect, predict, replay, run, top
from stream_llsvm.cli.errors import MistakeError, RunFailedError, one_line
from stream_llsvm.cli.signals import INTERRUPTED
from stream_llsvm.version import __version__

_DEBUG = "--debug"


class Group(TyperGroup):
    """A group of commands that turns what they raise into lines and exit codes."""

    def main(self, args: Any = None, *rest: Any, **extra: Any) -> Any:
        """Run a command and exit."""
        given = list(sys.argv[1:] if args is None else args)
        debug = _DEBUG in given
        given = [one for one in given if one != _DEBUG] or ["--help"]
        extra["standalone_mode"] = False
        try:
            code = super().main(given, *rest, **extra)
            sys.stdout.flush()
            sys.stderr.flush()
        except (KeyboardInterrupt, typer.Abort):
            sys.exit(INTERRUPTED)
        except BrokenPipeError:
            # Nobody reads any more; what is left in the buffer goes nowhere.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(1)
        except Exception as error:
            if debug:
                raise
            _leave(error)
        sys.exit(code if isinstance(code, int) else 0)


def _leave(error: Exception) -> NoReturn:
    """Say what is wrong, and exit."""
    if isinstance(error, MistakeError):
        _say(str(error))
        sys.exit(2)
    if isinstance(error, RunFailedError):
        _say(str(error))
        sys.exit(1)
    tell = getattr(error, "format_message", None)  # the parser's own complaints
    if tell is not None:
        context = getattr(error, "ctx", None)
        path = context.command_path if context is not None else "stream-llsvm"
        _say(f"{' '.join(tell().split())} Try '{path} --help'.")
        sys.exit(getattr(error, "exit_code", 2))
    if isinstance(error, ModuleNotFoundError):
        _say(one_line(error))
        sys.exit(2)
    _say(f"{type(error).__name__}: {one_line(error)} ({_DEBUG} shows where)")
    sys.exit(1)


def _say(text: str) -> None:
    several = "\n" in text  # as an editor reads them: file, line, what is wrong
    print(text if several else f"stream-llsvm: {text}", file=sys.stderr, flush=True)


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
