"""The commands, put together. Each is a file, imported when it is called.

A mistake ends as one line and exit code 2, a failed run with 1, Ctrl-C with 130.
"""

from __future__ import annotations

import contextlib
import os
import sys
from importlib import import_module
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

from stream_llsvm.cli.errors import MistakeError, RunFailedError, one_line, put, unknown
from stream_llsvm.cli.signals import INTERRUPTED
from stream_llsvm.removed import removed
from stream_llsvm.version import __version__

#: The commands, each the file of its name, and what it does.
COMMANDS = {
    "run": "Learn a stream and write predictions, as a pipeline file says, or flags, or both.",
    "evaluate": "Score models on a file: each record is predicted first and learned afterwards.",
    "replay": "Send a file's records to a topic or another file, as JSON, so many a second.",
    "predict": "Predict a file's records with a saved model, or a checkpoint, without learning.",
    "answer": "Answer records with the newest model that a run publishes, without learning.",
    "serve": "Serve models over HTTP: records in, predictions out, learned from a durable log.",
    "inspect": "Say in words what is in a model file, a checkpoint or a folder of checkpoints.",
    "promote": "Let a challenger take the champion's place, between two records.",
    "checkpoint": "Keep a checkpoint of a run by name, for good.",
    "rollback": "Go back to an older checkpoint: replay what came since, or go on without it.",
    "demo": "Learn a stream that never rests, and watch it in the browser until Ctrl-C.",
    "top": "Show in the terminal how a run with a live page is doing, until Ctrl-C.",
}
_DEBUG = "--debug"


class Group(TyperGroup):
    """The commands, imported when they are needed; what they raise becomes a line and a code."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the commands' names."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command, after importing its file; None if there is none of this name."""
        if cmd_name not in self.commands and cmd_name in COMMANDS:
            module = import_module(f"stream_llsvm.cli.{cmd_name}")
            alone = typer.Typer(
                add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False
            )
            example = f"Example: {module.EXAMPLE}"
            alone.command(cmd_name, help=COMMANDS[cmd_name], epilog=example)(module.command)
            self.commands[cmd_name] = typer.main.get_command(alone)
        return self.commands.get(cmd_name)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that the first argument names, and the rest of them."""
        if args[0] not in COMMANDS and not args[0].startswith("-"):
            raise MistakeError(removed(args[0]) or unknown("command", args[0], COMMANDS))
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write what each command does; none is imported for it."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def main(self, args: Any = None, *rest: Any, **extra: Any) -> Any:
        """Run a command and exit."""
        given = list(sys.argv[1:] if args is None else args)
        debug = _DEBUG in given
        given = [one for one in given if one != _DEBUG] or ["--help"]
        extra["standalone_mode"] = False
        try:
            code = super().main(given, *rest, **extra)
            sys.stdout.flush()
            _flush_stderr()
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
        if (gone := removed(getattr(error, "option_name", ""))) is not None:
            _say(gone)
            sys.exit(2)
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
    with contextlib.suppress(OSError):
        put(text if several else f"stream-llsvm: {text}", file=sys.stderr)
    _flush_stderr()


def _flush_stderr() -> None:
    """Flush stderr; what cannot be written goes nowhere, and costs no exit code."""
    try:
        sys.stderr.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)


app = typer.Typer(
    cls=Group,
    help="Learn a classifier from a live stream: each record is predicted, scored, then learned.",
    epilog="Example: stream-llsvm run --from examples/bananas.csv --label y --key id",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        put(f"stream-llsvm {__version__}")
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
