"""Files as sinks: JSON Lines of results, and of rejected records.

A file that has grown to `max_bytes` is renamed to ``name.`` and the byte, counted from the very
first file on, at which it starts; so the directory alone tells how much was ever written, and what
was written behind a checkpoint can be cut off again.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import orjson

from stream_llsvm.connectors.base import Rejected, Result, SinkError

_BLOCK = 1 << 16


class JsonLinesFile:
    """Lines in files that are renamed when they are full.

    A last line that a crash cut short is removed when the file is opened again.

    Parameters
    ----------
    path
        The file that is written to.
    max_bytes
        When it is renamed.
    keep
        How many renamed files are kept, at least one.

    Attributes
    ----------
    written
        How many bytes were ever written, those of files deleted since included.

    """

    def __init__(
        self, path: str | os.PathLike[str], *, max_bytes: int = 100_000_000, keep: int = 5
    ) -> None:
        if max_bytes < 1 or keep < 1:
            raise ValueError("max_bytes and keep must be at least 1")
        self.path = Path(path)
        if self.path.exists() and not (self.path.is_file() or self.path.is_dir()):
            raise ValueError(f"{self.path}: a device or a pipe cannot be cut back; name a file")
        self.max_bytes = max_bytes
        self.keep = keep
        self._broken = False  # whether something could not be written
        self._open()

    def _renamed(self) -> list[tuple[int, Path]]:
        """Return the renamed files, each with the byte at which it starts, in order."""
        pattern = re.compile(re.escape(self.path.name) + r"\.(\d{18})")
        found = []
        for path in self.path.parent.iterdir():
            if match := pattern.fullmatch(path.name):
                found.append((int(match[1]), path))
        return sorted(found)

    def _open(self) -> None:
        renamed = self._renamed()
        self._start = renamed[-1][0] + renamed[-1][1].stat().st_size if renamed else 0
        self._file = self.path.open("ab")
        whole = _whole_lines(self.path)
        if whole < self._file.tell():
            self._file.truncate(whole)
            os.fsync(self._file.fileno())
        self.written = self._start + whole

    def write_lines(self, lines: Sequence[bytes]) -> None:
        """Take lines, without their ends; raises SinkError if they cannot be written."""
        with self._named():
            for line in lines:
                here = self.written - self._start
                if here and here + len(line) + 1 > self.max_bytes:
                    self._rotate()
                self._file.write(line + b"\n")
                self.written += len(line) + 1

    @contextlib.contextmanager
    def _named(self) -> Iterator[None]:
        """Raise what goes wrong with the file as a SinkError that names it."""
        try:
            yield
        except OSError as error:
            self._broken = True
            raise SinkError(f"{self.path} cannot be written: {error.strerror or error}") from error

    def _rotate(self) -> None:
        self.flush()
        self._file.close()
        self.path.rename(self._name(self._start))
        for _, path in self._renamed()[: -self.keep]:
            path.unlink()
        self._start = self.written
        self._file = self.path.open("ab")
        self._sync_directory()

    def _name(self, start: int) -> Path:
        return self.path.with_name(f"{self.path.name}.{start:018d}")

    def _sync_directory(self) -> None:
        if os.name == "nt":
            return
        directory = os.open(self.path.parent, os.O_RDONLY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)

    def truncate(self, written: int) -> None:
        """Cut off what was written behind so many bytes, as `written` said once.

        Raises ValueError if less was written, or if the file was deleted since.
        """
        self.flush()
        if not 0 <= written <= self.written:
            raise ValueError(
                f"{self.path}: it has {self.written:,} bytes and cannot be cut to {written:,}; "
                "restore the file"
            )
        renamed = self._renamed()
        if written < self._start and written < renamed[0][0]:
            raise ValueError(
                f"{self.path}: byte {written:,} was in a file deleted since; keep more files"
            )
        self._file.close()
        while written < self._start:
            self._start, path = renamed.pop()
            path.replace(self.path)
        self._file = self.path.open("ab")
        self._file.truncate(written - self._start)
        os.fsync(self._file.fileno())
        self._sync_directory()
        self.written = written

    def flush(self) -> None:
        """Return when all that was taken is on disk."""
        if not self._file.closed:
            with self._named():
                self._file.flush()
                os.fsync(self._file.fileno())

    def close(self) -> None:
        """Flush, and let go of the file; what could not be written was told of already."""
        if not self._broken:
            self.flush()
        with contextlib.suppress(OSError):
            self._file.close()


class FileSink(JsonLinesFile):
    """Results as JSON Lines.

    Examples
    --------
    >>> import tempfile
    >>> from stream_llsvm.connectors.base import Place
    >>> sink = FileSink(Path(tempfile.mkdtemp()) / "results.jsonl")
    >>> sink.write([Result(Place("wind.csv", None, 2), 7, "calm", "storm", {"storm": 0.75})])
    >>> before = sink.written
    >>> sink.write([Result(Place("wind.csv", None, 3), 8, None, "calm", None)])
    >>> sink.truncate(before)
    >>> print(sink.path.read_text().strip())
    {"source":"wind.csv","part":null,"number":2,"key":7,"label":"calm","prediction":"storm","proba":{"storm":0.75}}
    >>> sink.close()

    """

    def write(self, results: Sequence[Result]) -> None:
        """Take results in order."""
        self.write_lines(
            [
                as_json(
                    {
                        **one.place._asdict(),
                        "key": one.key,
                        "label": one.label,
                        "prediction": one.prediction,
                        "proba": one.proba,
                    }
                )
                for one in results
            ]
        )


class FileDeadLetters(JsonLinesFile):
    """Rejected records as JSON Lines, their bytes in base64."""

    def write(self, rejected: Sequence[Rejected]) -> None:
        """Take rejected records in order."""
        self.write_lines(
            [
                as_json(
                    {
                        **one.place._asdict(),
                        "reason": one.reason,
                        "detail": one.detail,
                        "raw": base64.b64encode(one.raw).decode(),
                    }
                )
                for one in rejected
            ]
        )


def as_json(fields: dict[str, Any]) -> bytes:
    """Write an object on one line, whatever the labels are."""
    options = orjson.OPT_NON_STR_KEYS | orjson.OPT_SERIALIZE_NUMPY
    try:
        return orjson.dumps(fields, default=str, option=options)
    except TypeError:  # a whole number beyond 64 bits, half a character, a name that is no name
        if isinstance(proba := fields.get("proba"), dict):
            fields = {**fields, "proba": {str(name): p for name, p in proba.items()}}
        return json.dumps(fields, default=str, separators=(",", ":")).encode()


def _whole_lines(path: Path) -> int:
    """Return where a file's last complete line ends."""
    with path.open("rb") as file:
        end = file.seek(0, 2)
        while end:
            start = max(0, end - _BLOCK)
            file.seek(start)
            found = file.read(end - start).rfind(b"\n")
            if found >= 0:
                return start + found + 1
            end = start
    return 0
