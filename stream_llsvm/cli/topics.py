"""Make a Kafka topic that is not there."""

from __future__ import annotations

import sys
from typing import Any

from stream_llsvm.cli.errors import MistakeError, one_line


def make_topic(settings: Any, topic: str) -> None:
    """Make the topic, with the broker's usual number of partitions, unless it is there.

    Parameters
    ----------
    settings
        How to reach the brokers: the ``Settings`` of the Kafka connectors.
    topic
        Its name.

    """
    from kafka import KafkaAdminClient
    from kafka.errors import KafkaError, TopicAlreadyExistsError

    admin = settings.connect(lambda how: KafkaAdminClient(**how))
    try:
        if topic not in admin.list_topics():
            admin.create_topics([topic])
            print(f"made the topic {topic!r}", file=sys.stderr)
    except TopicAlreadyExistsError:  # somebody else was faster
        pass
    except KafkaError as error:
        text = settings.scrub(one_line(error))
        raise MistakeError(f"the topic {topic!r} cannot be made: {text}") from None
    finally:
        admin.close()
