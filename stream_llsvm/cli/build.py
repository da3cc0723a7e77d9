"""Make what a pipeline asks for: sources, sinks, the model, and the engine over all of it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TypeVar

from stream_llsvm.cli import models
from stream_llsvm.cli.addresses import Topics, topic_of, topics_of
from stream_llsvm.cli.checks import check_columns, check_folder_place
from stream_llsvm.cli.errors import MistakeError, one_line
from stream_llsvm.cli.pipeline import Settings
from stream_llsvm.cli.schema import SECTIONS
from stream_llsvm.connectors.base import DeadLetters, Sink, SinkError, Source, SourceError
from stream_llsvm.engine.checkpoints import CheckpointError, Checkpoints
from stream_llsvm.engine.engine import Engine
from stream_llsvm.engine.late_labels import Waiting
from stream_llsvm.engine.resume import EngineError
from stream_llsvm.model_file import ModelFileError

_Made = TypeVar("_Made")
_PATIENCE = 15.0  # seconds for a broker to answer at the start
_UNBOUNDED = 10**15
# What the section says that is no option of a source.
_NOT_OPTIONS = ("from", "message", "connect_timeout", "partitions")
_UNFIT = (EngineError, CheckpointError, SourceError, SinkError, ModelFileError, ValueError)


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


def make_model(settings: Settings) -> Any:
    """Return the model that a pipeline asks for."""
    given = settings.get("model", {})
    options = {key: value for key, value in given.items() if key not in SECTIONS["model"]}
    return models.make(given.get("class", models.USUAL), options)


def make_engine(settings: Settings, sink: Sink | None, stack: ExitStack) -> Engine:
    """Return the engine over all of it; it goes on from its last checkpoint if it has one.

    What is opened on the way is left to the stack to close.
    """
    late, letters = settings.get("labels"), settings.get("dead_letters")
    kept, how = settings.get("checkpoints"), dict(settings.get("engine", {}))
    if how.get("detector") == "none":
        how["detector"] = None
    model, source = make_model(settings), make_source(settings["source"])
    stack.callback(source.close)
    if letters is not None:
        how["dead_letters"] = make_dead_letters(letters)
        stack.callback(how["dead_letters"].close)
    if late is not None:
        how["labels"] = make_source(late)
        stack.callback(how["labels"].close)
        how["waiting"] = Waiting(late.get("most", 100_000), late.get("longest", 86_400.0))
    try:
        if kept is not None:
            check_folder_place("--checkpoints", kept["folder"])
            how["checkpoints"] = Checkpoints(kept["folder"], kept.get("keep", 3))
            stack.callback(how["checkpoints"].close)
            how["every"] = kept.get("every", 60.0)
        engine = Engine(source, model, sink=sink, **how)
    except _UNFIT as error:
        raise MistakeError(one_line(error)) from None
    if kept is not None:
        _check_same_model(engine.model, model, kept["folder"])
    return engine


def _check_same_model(kept: Any, wanted: Any, folder: str) -> None:
    """Refuse to go on with another model than the one that is asked for."""
    if type(kept) is not type(wanted):
        differ = f"a {type(kept).__name__}, not a {type(wanted).__name__}"
    else:
        old, new = kept._saved_params(), wanted._saved_params()
        changed = [key for key in new if new[key] != old.get(key)]
        if not changed:
            return
        differ = ", ".join(f"{key} = {old.get(key)!r}, not {new[key]!r}" for key in changed)
    raise MistakeError(
        f"{folder} holds a run of another model ({differ}): name another folder, or put the model "
        "back as it was"
    )
