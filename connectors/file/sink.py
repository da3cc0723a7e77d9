"""Files as sinks: predictions as JSON Lines or CSV, rejected records as JSON Lines."""

from __future__ import annotations

import base64
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from stream_llsvm.connectors.base import Rejected, Result
from stream_llsvm.connectors.file.line_writer import LineWriter
from stream_llsvm.connectors.predictions import (
    as_csv,
    as_json,
    as_line,
    as_lines,
    csv_header,
    place_fields,
)

_OTHERS = (".gz", ".zst", ".parquet", ".tsv", ".xlsx", ".svmlight", ".libsvm")


class FileSink(LineWriter):
    """Predictions, as CSV if the file's name ends so, otherwise as JSON Lines.

    ``predictions.py`` lists the fields.

    Parameters
    ----------
    path
        The file that is written to.
    options
        As for every `LineWriter`.

    Examples
    --------
    >>> import tempfile
    >>> from stream_llsvm.connectors.base import Place
    >>> sink = FileSink(Path(tempfile.mkdtemp()) / "results.csv")
    >>> sink.write([Result(Place("wind.csv", None, 2), 7, "calm", "storm", 0.75)])
    >>> before = sink.written
    >>> sink.write([Result(Place("wind.csv", None, 3), 8, None, "calm", 0.5)])
    >>> sink.truncate(before)
    >>> header, line = sink.path.read_text().splitlines()
    >>> line
    'wind.csv,,2,7,calm,storm,0.75,,1970-01-01T00:00:00.000Z,,,,'
    >>> sink.close()

    """

    def __init__(self, path: str | os.PathLike[str], **options: Any) -> None:
        ending = Path(path).suffix.lower()
        if ending in _OTHERS:
            raise ValueError(f"{path}: predictions are JSON Lines or CSV: name a .jsonl or .csv")
        self._csv = ending == ".csv"
        super().__init__(path, header=csv_header() if self._csv else b"", **options)

    @property
    def encode(self) -> Callable[[Sequence[Result]], Sequence[Any]]:
        """What makes lines of results, in any process."""
        return as_csv if self._csv else as_lines

    def write_encoded(self, encoded: Sequence[Any]) -> None:
        """Take lines in order."""
        self.write_lines(encoded)

    def write(self, results: Sequence[Result]) -> None:
        """Take results in order."""
        self.write_lines(self.encode(results))


class FileDeadLetters(LineWriter):
    """Rejected records as JSON Lines, their bytes in base64."""

    def write(self, rejected: Sequence[Rejected]) -> None:
        """Take rejected records in order."""
        self.write_lines(
            [
                as_json(
                    {
                        **place_fields(one.place),
                        "reason": one.reason,
                        "detail": one.detail,
                        "raw": base64.b64encode(one.raw).decode(),
                    }
                )
                for one in rejected
            ]
        )


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
