"""What the command line needs to know of Kafka."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from stream_llsvm.connectors.keys import (
    COLUMNS,
    NUMBERS,
    ORDER,
    SWITCH,
    TABLE,
    TEXT,
    Key,
    any_number,
    one_of,
)
from stream_llsvm.connectors.registry import FIELDS, Connector

if TYPE_CHECKING:
    from stream_llsvm.connectors.base import (
        DeadLetters,
        Position,
        RecordWriter,
        Shared,
        Sink,
        Source,
    )

_PATIENCE = 15.0  # seconds for a broker to answer at the start
_SHOWN = 6
_REACH = {
    "options": Key(TABLE),
    "connect_timeout": Key(any_number(0.1, 86_400)),
}
_WRITE = {
    "make_topic": Key(SWITCH, "--make-topics", "Make the topics that are written to, if need be."),
    **_REACH,
}
_ONCE = {
    "transactional_id": Key(
        TEXT,
        "--transactional-id",
        "Kafka: predictions are shown with each checkpoint, once, under this name of the run's.",
    )
}
_OF_SOURCE = ("start", "isolation", "on_lost_data", "group", "options", *ORDER)


class Topics(NamedTuple):
    """Topics of a Kafka cluster."""

    servers: str
    names: list[str]


class KafkaConnector(Connector):
    """Topics of a Kafka cluster: ``kafka://host:port,host:port/topic,topic``."""

    title = "Kafka"
    example = "kafka://host:port/topic"
    source_options: ClassVar[Mapping[str, Key]] = {
        "names": Key(COLUMNS, "--names", "The columns, if the records do not name them: a,b,y."),
        "message": Key(
            one_of("json", "msgpack", "csv"),
            "--message",
            "Kafka: json (usual), msgpack, or csv with --names.",
        ),
        "start": Key(one_of("earliest", "latest")),
        "isolation": Key(one_of("read_committed", "read_uncommitted")),
        "on_lost_data": Key(
            one_of("stop", "earliest"),
            "--on-lost-data",
            "If Kafka deleted what is wanted: stop (usual), or earliest, to go on.",
        ),
        "partitions": Key(NUMBERS, "--partitions", "Kafka: read only these of each topic: 0,1."),
        "group": Key(
            TEXT,
            "--group",
            "Kafka: show in this consumer group how far checkpoints have come.",
        ),
        **ORDER,
        **_REACH,
    }
    sink_options: ClassVar[Mapping[str, Key]] = {**_WRITE, **_ONCE}
    dead_letter_options: ClassVar[Mapping[str, Key]] = _WRITE
    has_own_keys = True
    needs = ("kafka",)

    def check_source(self, addresses: Sequence[str]) -> None:
        """Raise ValueError unless it is one address, of a broker and topics."""
        if len(addresses) > 1:
            raise ValueError("give one Kafka address, with commas between its topics")
        topics_of(addresses[0])

    def check_sink(self, address: str) -> None:
        """Raise ValueError unless it is the address of a broker and one topic."""
        topic_of(address)

    def source(self, addresses: Sequence[str], options: Mapping[str, Any]) -> Source:
        """Return the records of topics, connected."""
        from stream_llsvm.connectors.formats import message_codec
        from stream_llsvm.connectors.kafka.source import KafkaSource

        servers, topics = topics_of(addresses[0])
        of_codec = (*FIELDS, "names", "numeric")
        source = KafkaSource(
            dict.fromkeys(topics, options.get("partitions")),
            servers,
            codec=message_codec(options.get("message", "json"), **_some(options, of_codec)),
            connect_timeout=options.get("connect_timeout", _PATIENCE),
            **_some(options, _OF_SOURCE),
        )
        source.seek(source.position)  # which connects, or says why it cannot
        return source

    def shared_source(
        self, addresses: Sequence[str], options: Mapping[str, Any], group: str
    ) -> Shared:
        """Return the records of topics, dealt out over a consumer group."""
        from stream_llsvm.connectors.formats import message_codec
        from stream_llsvm.connectors.kafka.shared_source import SharedSource

        servers, topics = topics_of(addresses[0])
        codec = message_codec(
            options.get("message", "json"), **_some(options, (*FIELDS, "names", "numeric"))
        )
        more = _some(options, ("start", "isolation", "options"))
        wait = options.get("connect_timeout", _PATIENCE)
        return SharedSource(topics, servers, group, codec=codec, connect_timeout=wait, **more)

    def sink(self, address: str, options: Mapping[str, Any]) -> Sink:
        """Return a topic of results, connected."""
        from stream_llsvm.connectors.kafka.sink import KafkaSink

        servers, (topic,) = self._made(address, options)
        more = _some(options, ("transactional_id",))
        sink = KafkaSink(topic, servers, **_reach(options), **more)
        sink.connect()
        return sink

    def dead_letters(self, address: str, options: Mapping[str, Any]) -> DeadLetters:
        """Return a topic of rejected records, connected."""
        from stream_llsvm.connectors.kafka.dead_letters import KafkaDeadLetters

        servers, (topic,) = self._made(address, options)
        letters = KafkaDeadLetters(topic, servers, **_reach(options))
        letters.connect()
        return letters

    def check_shared(self, address: str, options: Mapping[str, Any]) -> None:
        """Raise ValueError without a transactional id, which shuts a former owner out."""
        if "transactional_id" not in options:
            raise ValueError(
                f"{address}: give --transactional-id, by which the broker shuts a former owner out"
            )

    def writer(self, address: str) -> RecordWriter:
        """Return a topic of records, which is made if it is not there."""
        from stream_llsvm.connectors.kafka.sink import TopicRecords

        servers, (topic,) = self._made(address, {"make_topic": True})
        return TopicRecords(topic, servers, _PATIENCE)

    @staticmethod
    def _made(address: str, options: Mapping[str, Any]) -> Topics:
        """Return the topic of an address, which is made if that is wanted."""
        where = topic_of(address)
        if options.get("make_topic"):
            from stream_llsvm.connectors.base import SinkError
            from stream_llsvm.connectors.kafka.client import KafkaTroubleError, Settings
            from stream_llsvm.connectors.kafka.topics import make_topic

            how = _reach(options)
            settings = Settings(where.servers, how["options"], how["connect_timeout"])
            try:
                make_topic(settings, where.names[0])
            except KafkaTroubleError as error:
                raise SinkError(str(error)) from None
        return where

    def places(self, address: str) -> set[str]:
        """Return the topics, with their brokers."""
        servers, topics = topics_of(address)
        return {f"{servers}/{topic}" for topic in topics}

    def describe(self, position: Position) -> str | None:
        """Return before which offsets."""
        if not position or not all(isinstance(parts, dict) for parts in position.values()):
            return None
        from stream_llsvm.connectors.base import TOPIC_IDS  # late: it brings numpy

        offsets = [
            f"{topic}/{part}@{offset}"
            for topic, parts in position.items()
            if topic != TOPIC_IDS
            for part, offset in parts.items()
        ]
        more = len(offsets) - _SHOWN
        return f"before {', '.join(offsets[:_SHOWN])}" + (f" and {more} more" if more > 0 else "")


def topics_of(address: str) -> Topics:
    """Return the servers and topics of an address. Raises ValueError.

    Examples
    --------
    >>> topics_of("kafka://a:9092,b:9092/wind,rain")
    Topics(servers='a:9092,b:9092', names=['wind', 'rain'])

    """
    servers, _, path = address.partition(":")[2].removeprefix("//").partition("/")
    topics = [topic for topic in path.split(",") if topic]
    if not servers or not topics or "/" in path:
        raise ValueError(
            f"{address}: write the broker and the topic, as in kafka://localhost:9092/topic"
        )
    return Topics(servers, topics)


def topic_of(address: str) -> Topics:
    """Return the same, of an address that may name one topic only. Raises ValueError."""
    found = topics_of(address)
    if len(found.names) > 1:
        raise ValueError(f"{address}: results go to one topic, not to {len(found.names)}")
    return found


def _some(options: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    return {name: options[name] for name in names if name in options}


def _reach(options: Mapping[str, Any]) -> dict[str, Any]:
    timeout = options.get("connect_timeout", _PATIENCE)
    return {"options": options.get("options"), "connect_timeout": timeout}
