"""Where records come from and where results go to: one folder a system.

The folder lies at the top of the repository and is the subpackage ``stream_llsvm.connectors``;
inside it, import by that full name. What is public is imported from here, when it is first asked
for: kafka-python and the like are slow to import, and need not be installed.

Examples
--------
>>> from stream_llsvm.connectors import FileSource, KafkaSource, FileSink, KafkaSink

"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stream_llsvm.connectors.base import (
        BadField,
        Batch,
        Place,
        Position,
        Rejected,
        Result,
        Sink,
        SinkError,
        Source,
        SourceError,
    )
    from stream_llsvm.connectors.file.merged import MergedFiles
    from stream_llsvm.connectors.file.sink import FileDeadLetters, FileSink, StandardOutput
    from stream_llsvm.connectors.file.source import FileSource
    from stream_llsvm.connectors.formats import message_codec
    from stream_llsvm.connectors.kafka.dead_letters import KafkaDeadLetters
    from stream_llsvm.connectors.kafka.sink import KafkaSink
    from stream_llsvm.connectors.kafka.source import KafkaSource
    from stream_llsvm.connectors.keys import Key
    from stream_llsvm.connectors.list_source import ListSource
    from stream_llsvm.connectors.log.source import LogSource
    from stream_llsvm.connectors.registry import Connector
    from stream_llsvm.connectors.sqlite.source import SqliteSource

_BASE = (
    "BadField", "Batch", "Place", "Position", "Rejected", "Result", "Sink", "SinkError", "Source",
    "SourceError",
)  # fmt: skip
_WHERE = {
    "Connector": "registry",
    "FileDeadLetters": "file.sink",
    "FileSink": "file.sink",
    "FileSource": "file.source",
    "KafkaDeadLetters": "kafka.dead_letters",
    "KafkaSink": "kafka.sink",
    "KafkaSource": "kafka.source",
    "Key": "keys",
    "ListSource": "list_source",
    "LogSource": "log.source",
    "MergedFiles": "file.merged",
    "SqliteSource": "sqlite.source",
    "StandardOutput": "file.sink",
    "message_codec": "formats",
} | dict.fromkeys(_BASE, "base")

__all__ = [
    "BadField",
    "Batch",
    "Connector",
    "FileDeadLetters",
    "FileSink",
    "FileSource",
    "KafkaDeadLetters",
    "KafkaSink",
    "KafkaSource",
    "Key",
    "ListSource",
    "LogSource",
    "MergedFiles",
    "Place",
    "Position",
    "Rejected",
    "Result",
    "Sink",
    "SinkError",
    "Source",
    "SourceError",
    "SqliteSource",
    "StandardOutput",
    "message_codec",
]


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_WHERE[name]}"), name)


def __dir__() -> list[str]:
    return __all__
