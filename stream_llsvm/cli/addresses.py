"""Where records come from and go to, as users write it: a path, or ``kafka://host:port/topic``."""

from __future__ import annotations

from typing import NamedTuple

from stream_llsvm.cli.errors import MistakeError

_KAFKA = "kafka://"
_LAST_PORT = 65_535


class Topics(NamedTuple):
    """Topics of a Kafka cluster."""

    servers: str
    topics: list[str]


def topics_of(address: str) -> Topics | None:
    """Return the servers and topics of a Kafka address, None if it is a path.

    Examples
    --------
    >>> topics_of("kafka://a:9092,b:9092/wind,rain")
    Topics(servers='a:9092,b:9092', topics=['wind', 'rain'])
    >>> topics_of("wind.csv") is None
    True

    """
    if not address.lower().startswith(_KAFKA):
        scheme, found, _ = address.partition("://")
        if found:
            raise MistakeError(
                f"{address}: {scheme}:// is not known; write a path, or kafka://host:port/topic"
            )
        return None
    servers, _, path = address[len(_KAFKA) :].partition("/")
    topics = [topic for topic in path.split(",") if topic]
    if not servers or not topics or "/" in path:
        raise MistakeError(
            f"{address}: write the broker and the topic, as in kafka://localhost:9092/topic"
        )
    return Topics(servers, topics)


def topic_of(address: str) -> Topics | None:
    """Return the same, of an address that may name one topic only."""
    found = topics_of(address)
    if found is not None and len(found.topics) > 1:
        raise MistakeError(f"{address}: results go to one topic, not to {len(found.topics)}")
    return found


def host_and_port(address: str) -> tuple[str | None, int]:
    """Return the host, None if there is none, and the port of ``[HOST:]PORT``.

    Examples
    --------
    >>> host_and_port("8765"), host_and_port("0.0.0.0:80"), host_and_port("[::1]:80")
    ((None, 8765), ('0.0.0.0', 80), ('::1', 80))

    """
    host, found, port = address.rpartition(":")
    if not port.isdecimal() or int(port) > _LAST_PORT or (found and not host):
        raise MistakeError(f"{address}: write a port, or a host and a port: localhost:8765")
    return host.removeprefix("[").removesuffix("]") or None, int(port)
