"""What the command line needs to know of files."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from stream_llsvm.connectors.keys import COLUMNS, ORDER, SWITCH, TEXT, Key, one_of, whole_number
from stream_llsvm.connectors.registry import Connector

if TYPE_CHECKING:
    from stream_llsvm.connectors.base import DeadLetters, Position, RecordWriter, Sink, Source

_LOOKED_AT = 100
_SHAPE = ("format", "names", "delimiter", "encoding", "missing", "decimal", "unwrap")
_UNBOUNDED = 10**15

_WRITE = {
    "max_bytes": Key(whole_number(1_000, _UNBOUNDED)),
    "keep": Key(whole_number(1, 10**6)),
    "on_lost_output": Key(
        one_of("stop", "new"),
        "--on-lost-output",
        "If a file that is written to was moved away: stop (usual) or new.",
    ),
}


class FileConnector(Connector):
    """Files of records; ``-`` is standard input or output. ``file:`` may stand before a path."""

    title = "files"
    example = "file:path"
    source_options: ClassVar[Mapping[str, Key]] = {
        "format": Key(
            one_of("auto", "csv", "jsonl", "svmlight", "parquet"),
            "--format",
            "csv, jsonl, svmlight or parquet, if the file's name does not tell.",
        ),
        "names": Key(COLUMNS, "--names", "The columns, if the records do not name them: a,b,y."),
        "delimiter": Key(
            TEXT,
            "--delimiter",
            "CSV: what stands between two fields, if no comma; tab for a tab.",
        ),
        "encoding": Key(TEXT, "--encoding", "Of a file, if not utf-8: latin-1, utf-16, ..."),
        "follow": Key(SWITCH, "--follow", "Wait for more at the end, like tail."),
        **ORDER,
    }
    sink_options: ClassVar[Mapping[str, Key]] = _WRITE
    dead_letter_options: ClassVar[Mapping[str, Key]] = _WRITE

    def source(self, addresses: Sequence[str], options: Mapping[str, Any]) -> Source:
        """Return the records of files: merged by time if a column says it, or one after another."""
        from stream_llsvm.connectors.file.merged import MergedFiles
        from stream_llsvm.connectors.file.source import FileSource
        from stream_llsvm.connectors.order import MAX_WAIT, is_by_time

        paths = [path_of(one) for one in addresses]
        more = {name: value for name, value in options.items() if name not in ORDER}
        time, order = options.get("time"), options.get("order", "time")
        if time is None and "order" in options and order == "time":
            raise ValueError("files have no time of their own: name the column of it (--time)")
        is_by_time(order, time, MAX_WAIT)
        if time is None or len(paths) < 2:
            return FileSource(paths, **more)
        wait = options.get("max_wait", MAX_WAIT)
        return MergedFiles(paths, time=time, max_wait=wait, **more)

    def sink(self, address: str, options: Mapping[str, Any]) -> Sink:
        """Return a file of results, its folder made, or standard output."""
        if address == "-":
            from stream_llsvm.connectors.file.sink import StandardOutput

            return StandardOutput()
        from stream_llsvm.connectors.file.sink import FileSink

        return FileSink(_in_a_folder(address), **_rotation(options))

    def dead_letters(self, address: str, options: Mapping[str, Any]) -> DeadLetters:
        """Return a file of rejected records, its folder made."""
        if address == "-":
            raise ValueError(
                "--dead-letters: name a file or a topic: predictions may be going to -"
            )
        from stream_llsvm.connectors.file.sink import FileDeadLetters

        return FileDeadLetters(_in_a_folder(address), **_rotation(options))

    def check_shared(self, address: str, options: Mapping[str, Any]) -> None:
        """Raise ValueError if it is standard output."""
        if address == "-":
            raise ValueError("standard output cannot be taken back: name a file or a topic")

    def shut_out(self, address: str, check: Callable[[], object]) -> None:
        """Put a copy in the file's place."""
        from stream_llsvm.connectors.file.line_writer import shut_out

        shut_out(Path(path_of(address)), check)

    def writer(self, address: str) -> RecordWriter:
        """Return a file of records, a line each."""
        from stream_llsvm.connectors.file.line_writer import LineRecords

        return LineRecords(path_of(address))

    def first_records(
        self, address: str, options: Mapping[str, Any]
    ) -> list[dict[str, Any]] | None:
        """Return the first records of a file."""
        from stream_llsvm.connectors.file.source import FileSource

        path = path_of(address)
        self._format(path, options)
        if path == "-" or (options.get("follow") and not os.path.exists(path)):
            return None
        if not os.path.exists(path):
            raise FileNotFoundError(path)
        shape = {key: options[key] for key in _SHAPE if key in options}
        source = FileSource(path, numeric=False, **shape)
        try:
            batch = source.poll(_LOOKED_AT, 1.0)
        finally:
            source.close()
        return [] if batch is None else [batch.record(i) for i in range(len(batch))]

    def has_own_labels(self, address: str, options: Mapping[str, Any]) -> bool:
        """Whether it is svmlight."""
        try:
            return self._format(path_of(address), options) == "svmlight"
        except ValueError:
            return False

    @staticmethod
    def _format(path: str, options: Mapping[str, Any]) -> str:
        """Return a file's format. Raises ValueError if neither its name nor the user tells."""
        from stream_llsvm.connectors.file.source import format_of

        if os.path.isdir(path):
            raise ValueError(f"{path} is a folder: name a file in it")
        try:
            return format_of(path, options.get("format", "auto"))
        except ValueError:
            raise ValueError(
                f"{path}: which format does it have? Give --format csv, jsonl, svmlight or parquet"
            ) from None

    def places(self, address: str) -> set[str]:
        """Return the file; nothing if several may use it: standard input, a device."""
        path = path_of(address)
        if path == "-" or (os.path.exists(path) and not os.path.isfile(path)):
            return set()
        return {os.path.realpath(path)}

    def describe(self, position: Position) -> str | None:
        """Return behind which line, or record, of which file."""
        if isinstance(position.get("files"), list):
            return f"in {len(position['files'])} files, merged by time"
        if not isinstance(position.get("path"), str) or "file" not in position:
            return None
        for unit in ("line", "record"):
            if type(position.get(unit)) is int:
                return f"behind {unit} {position[unit]:,} of {position['path']}"
        return f"at the beginning of {position['path']}"


def path_of(address: str) -> str:
    """Return the path of an address.

    Examples
    --------
    >>> path_of("wind.csv"), path_of("file:wind.csv"), path_of("file:///tmp/wind.csv")
    ('wind.csv', 'wind.csv', '/tmp/wind.csv')

    """
    if address[:5].lower() != "file:":
        return address
    return address[5:].removeprefix("//")


def _in_a_folder(address: str) -> str:
    """Return the path, after making its folder."""
    path = path_of(address)
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    return path


def _rotation(options: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "max_bytes": options.get("max_bytes", _UNBOUNDED),
        "keep": options.get("keep", 5),
        "on_lost": options.get("on_lost_output", "stop"),
    }
