"""Topics: which partitions they have, and whether they are still the same; new ones."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from stream_llsvm.connectors.base import TOPIC_IDS, Position, SinkError, SourceError
from stream_llsvm.connectors.kafka.client import Settings

_GONE = 30.0  # a topic that is missing so long has been deleted


class Topics:
    """Topics, each with some of its partitions or all of them.

    Parameters
    ----------
    topics
        A topic, several, or ``{topic: partitions}`` where None stands for all of them.

    """

    def __init__(self, topics: str | Sequence[str] | Mapping[str, Iterable[int] | None]) -> None:
        wanted: Mapping[str, Iterable[int] | None]
        if isinstance(topics, Mapping):
            wanted = topics
        else:
            wanted = dict.fromkeys([topics] if isinstance(topics, str) else topics)
        self._chosen = {t: None if parts is None else set(parts) for t, parts in wanted.items()}
        if not self._chosen:
            raise ValueError("KafkaSource needs at least one topic")
        self.names = list(self._chosen)
        self._cluster: Any = None
        self._gone: dict[str, float] = {}
        #: The id of each topic, as far as brokers have ids: offsets belong to it, not to the name.
        self.ids: dict[str, str] = {}

    def attach(self, cluster: Any) -> None:
        """Look at this cluster's metadata from now on."""
        self._cluster = cluster

    def expect(self, ids: Mapping[str, str]) -> None:
        """Know to which topics the offsets belong that reading goes on from."""
        self.ids.clear()
        self.ids.update(ids)

    def renewed(self) -> dict[str, str]:
        """Return the new ids of topics that were deleted and made anew; note those not known."""
        found = {}
        for topic in self.names:
            identity = self._cluster.topic_id(topic)
            if identity is not None and self.ids.setdefault(topic, str(identity)) != str(identity):
                found[topic] = str(identity)
        return found

    def partitions(self) -> list[Any]:
        """Return the partitions to read, in order. Raises SourceError."""
        from kafka import TopicPartition

        found = []
        for topic, chosen in self._chosen.items():
            there = self._cluster.partitions_for_topic(topic) or set()
            if chosen is not None and not chosen <= there:
                lacking = min(chosen - there)
                raise SourceError(
                    f"Kafka: topic {topic!r} has no partition {lacking}, only {len(there)} of them"
                )
            mine = sorted(there if chosen is None else chosen)
            found += [TopicPartition(topic, number) for number in mine]
        return found

    def same_partitions(self) -> list[int] | None:
        """Return which partitions are read of every topic, None for all. Raises ValueError."""
        first, *others = self._chosen.values()
        if any(one != first for one in others):
            raise ValueError("learners read the same partitions of all topics: name no others")
        return None if first is None else sorted(first)

    def check(self, position: Position) -> None:
        """Raise SourceError if a position is in partitions that are not among those chosen.

        Going on without them would lose where they stand.
        """
        for topic, chosen in self._chosen.items():
            lost = sorted(set(map(int, position.get(topic, ()))) - (chosen or set()))
            if chosen is not None and lost:
                raise SourceError(
                    f"Kafka: the position is also in partition {lost[0]} of {topic!r}, which is "
                    "not read; choose the same partitions, or start without the position"
                )

    def there(self) -> bool:
        """Whether all topics are there; raises SourceError if one was deleted."""
        now = time.monotonic()
        for topic in self.names:
            if self._cluster.partitions_for_topic(topic) is None:
                if now - self._gone.setdefault(topic, now) > _GONE:
                    raise SourceError(f"Kafka: topic {topic!r} was deleted")
            else:
                self._gone.pop(topic, None)
        return not self._gone


def ids_of(position: Position) -> dict[str, str]:
    """Return the topics' ids that a position names; an older version named none.

    Raises ValueError if they are not what a position holds.

    Examples
    --------
    >>> ids_of({"wind": {"0": 7}, "topic ids:": {"wind": "b5c1"}})
    {'wind': 'b5c1'}

    """
    ids = position.get(TOPIC_IDS, {})
    if not isinstance(ids, Mapping) or not all(isinstance(one, str) for one in ids.values()):
        raise ValueError(f"Kafka: the position's ids of topics are damaged: {str(ids)[:100]}")
    return dict(ids)


log = logging.getLogger("stream_llsvm.kafka")


def make_topic(settings: Settings, topic: str) -> None:
    """Make the topic, with the broker's usual number of partitions, unless it is there."""
    from kafka import KafkaAdminClient
    from kafka.errors import KafkaError, TopicAlreadyExistsError

    admin = settings.connect(lambda how: KafkaAdminClient(**how))
    try:
        if topic not in admin.list_topics():
            admin.create_topics([topic])
            log.warning("made the topic %r", topic)
    except TopicAlreadyExistsError:  # somebody else was faster
        pass
    except KafkaError as error:
        text = settings.scrub(f"{type(error).__name__}: {error}")
        raise SinkError(f"the topic {topic!r} cannot be made: {text}") from None
    finally:
        admin.close()
