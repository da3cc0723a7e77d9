"""Standard output as a sink."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from stream_llsvm.connectors.base import Result
from stream_llsvm.connectors.predictions import as_line


class StandardOutput:
    """Predictions as JSON Lines on standard output.

    What has been read by the next program cannot be taken back: after a crash, what was predicted
    behind the last checkpoint is written again.
    """

    def write(self, results: Sequence[Result]) -> None:
        """Print results."""
        sys.stdout.write("".join(f"{as_line(one).decode()}\n" for one in results))

    def flush(self) -> None:
        """Let the next program have them."""
        sys.stdout.flush()

    def close(self) -> None:
        """Let the next program have them."""
        self.flush()
