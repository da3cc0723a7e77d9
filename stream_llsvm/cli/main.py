"""Where the command starts; Ctrl-C ends it without a word, whatever is being imported."""

from __future__ import annotations

import os
import signal
import sys


def main() -> None:
    """Run the command and exit."""
    # Before anything else is imported. An exception in place of this would be printed or swallowed
    # by whoever is importing, compiling or cleaning up at that moment.
    signal.signal(signal.SIGINT, lambda *_: os._exit(130))  # what a shell expects of Ctrl-C
    try:
        import rich  # noqa: F401  the commands need it: better to miss it now

        from stream_llsvm.cli.app import app
    except ModuleNotFoundError as missing:
        from stream_llsvm.extras import install_hint

        hint = install_hint(missing)
        if hint is None:
            raise
        print(f"stream-llsvm: {hint}", file=sys.stderr)
        sys.exit(2)
    app(prog_name="stream-llsvm")
