"""Make what records come from and go to: files, or topics of Kafka."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any, TypeVar

from stream_llsvm.cli.addresses import Topics, topic_of, topics_of
from stream_llsvm.cli.columns import check_columns
from stream_llsvm.cli.mistakes import MistakeError, one_line
from stream_llsvm.cli.schema import SECTIONS
from stream_llsvm.connectors.base import DeadLetters, Sink, SinkError, Source, SourceError

_Made = TypeVar("_Made")
_PATIENCE = 15.0  # seconds for a broker to answer at the start
_UNBOUNDED = 10**15
# What the section says that is no option of a source.
_NOT_OPTIONS = ("from", "message", "connect_timeout", "partitions")


def make_source(given: Mapping[str, Any]) -> Source:
    """Return the source that a section asks for, connected if it is Kafka."""
    addresses = given["from"]
    where = topics_of(addresses[0])
    if where is None:
        for path in addresses:
            check_columns(path, given)
        return _made(lambda: _files(addresses, given))
    return _made(lambda: _kafka(where.topics, where.servers, given))


def _options(given: Mapping[str, Any], only: Collection[str]) -> dict[str, Any]:
    """Return what was given for both kinds of source (""), for files, or for Kafka."""
    return {
        name: given[name]
        for name, key in SECTIONS["source"].items()
        if key.only in only and name in given and name not in _NOT_OPTIONS
    }


def _files(paths: list[str], given: Mapping[str, Any]) -> Source:
    from stream_llsvm.connectors.file.source import FileSource

    return FileSource(paths, **_options(given, ("", "file")))


def _kafka(topics: list[str], servers: str, given: Mapping[str, Any]) -> Source:
    from stream_llsvm.connectors.kafka.source import KafkaSource
    from stream_llsvm.connectors.message_codec import message_codec

    source = KafkaSource(
        dict.fromkeys(topics, given.get("partitions")),
        servers,
        codec=message_codec(given.get("message", "json"), **_options(given, ("",))),
        connect_timeout=given.get("connect_timeout", _PATIENCE),
        **_options(given, ("kafka",)),
    )
    source.seek(source.position)  # which connects, or says why it cannot
    return source


def make_sink(given: Mapping[str, Any]) -> Sink:
    """Return the sink that a section asks for."""
    if given["to"] == "-":
        from stream_llsvm.connectors.file.stdout_sink import StandardOutput

        return StandardOutput()
    where = topic_of(given["to"])
    if where is None:
        from stream_llsvm.connectors.file.sink import FileSink

        return _made(lambda: FileSink(_in_a_folder(given["to"]), **_rotation(given)))
    from stream_llsvm.connectors.kafka.sink import KafkaSink

    _make_topic(where, given)
    sink = _made(lambda: KafkaSink(where.topics[0], where.servers, **_connection(given)))
    _made(sink.connect)
    return sink


def make_dead_letters(given: Mapping[str, Any]) -> DeadLetters:
    """Return the place for rejected records that a section asks for."""
    if given["to"] == "-":
        raise MistakeError("--dead-letters: name a file or a topic: predictions may be going to -")
    where = topic_of(given["to"])
    if where is None:
        from stream_llsvm.connectors.file.sink import FileDeadLetters

        return _made(lambda: FileDeadLetters(_in_a_folder(given["to"]), **_rotation(given)))
    from stream_llsvm.connectors.kafka.sink import KafkaDeadLetters

    _make_topic(where, given)
    letters = _made(lambda: KafkaDeadLetters(where.topics[0], where.servers, **_connection(given)))
    _made(letters.connect)
    return letters


def _make_topic(where: Topics, given: Mapping[str, Any]) -> None:
    if given.get("make_topic"):
        from stream_llsvm.cli.topics import make_topic
        from stream_llsvm.connectors.kafka.client import KafkaTroubleError, Settings

        timeout = given.get("connect_timeout", _PATIENCE)
        try:
            make_topic(Settings(where.servers, given.get("options"), timeout), where.topics[0])
        except (KafkaTroubleError, ImportError, ValueError) as error:
            raise MistakeError(one_line(error)) from None


def _in_a_folder(path: str) -> str:
    """Return the path, after making its folder."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    return path


def _rotation(given: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "max_bytes": given.get("max_bytes", _UNBOUNDED),
        "keep": given.get("keep", 5),
        "on_lost": given.get("on_lost_output", "stop"),
    }


def _connection(given: Mapping[str, Any]) -> dict[str, Any]:
    timeout = given.get("connect_timeout", _PATIENCE)
    more = {key: given[key] for key in ("transactional_id",) if key in given}
    return {"options": given.get("options"), "connect_timeout": timeout, **more}


def _made(make: Callable[[], _Made]) -> _Made:
    """Return what is made; what is wrong with what the user asked for is a MistakeError."""
    try:
        return make()
    except (OSError, ValueError, ImportError, SourceError, SinkError) as error:
        raise MistakeError(one_line(error)) from None
