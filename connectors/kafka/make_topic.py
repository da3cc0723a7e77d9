"""Make a topic that is not there."""

from __future__ import annotations

import logging

from stream_llsvm.connectors.base import SinkError
from stream_llsvm.connectors.kafka.client import Settings

log = logging.getLogger("stream_llsvm.kafka")


def make_topic(settings: Settings, topic: str) -> None:
    """Make the topic, with the broker's usual number of partitions, unless it is there.

    Parameters
    ----------
    settings
        How to reach the brokers.
    topic
        Its name.

    """
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
