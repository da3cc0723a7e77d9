"""Where the command starts: Ctrl-C ends it without a word, whatever is being imported.

The handler is set before anything else is imported. An exception in its place would be printed or
swallowed by whoever is importing, compiling or cleaning up at that moment.
"""

from __future__ import annotations

import os
import signal
import sys

signal.signal(signal.SIGINT, lambda *_: os._exit(130))  # what a shell expects of Ctrl-C


def main() -> None:
    """Run the command and exit."""
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
