"""Where the command starts; what it needs beyond the package is asked for here."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command and exit."""
    try:
        import rich  # noqa: F401  the commands need it: better to miss it now

        from stream_llsvm.cli.app import app
    except ModuleNotFoundError as missing:
        if missing.name is None or missing.name.partition(".")[0] not in ("typer", "rich"):
            raise
        text = f"stream-llsvm needs {missing.name}: pip install 'stream_llsvm[cli]'"
        print(text, file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)
    app(prog_name="stream-llsvm")
