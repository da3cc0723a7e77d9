"""A consumer group: what was handed out and committed is handed to nobody again."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest

from stream_llsvm.connectors.json_codec import JsonCodec
from stream_llsvm.connectors.kafka.shared_source import SharedSource
from tests.connectors.kafka.support import Kafka, committed, until, value

MANY = 4  # partitions


@contextmanager
def member(kafka: Kafka, topic: str, **options: Any) -> Iterator[SharedSource]:
    """Give a member of the group that is named as the topic."""
    one = SharedSource([topic], kafka.servers, topic, codec=JsonCodec(), options=options)
    try:
        yield one
    finally:
        one.close()


def take(source: SharedSource, found: list[str]) -> None:
    """Take what comes, and commit that."""
    batch = source.poll(1000, 0.2)
    if batch is not None:
        found += map(str, batch.places)
        source.commit()


@contextmanager
def polled(source: SharedSource, found: list[str]) -> Iterator[None]:
    """Poll a member all the time, as a process of its own does."""
    stop = threading.Event()

    def go() -> None:
        while not stop.is_set():
            take(source, found)

    thread = threading.Thread(target=go)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def send(kafka: Kafka, topic: str, first: int, many: int = MANY) -> set[str]:
    """Send five records to each partition, in which are so many before; return their places."""
    for partition in range(many):
        kafka.send(topic, [value(i) for i in range(first, first + 5)], partition=partition)
    return {f"{topic}/{p}@{first + i}" for p in range(many) for i in range(5)}


def membership(source: SharedSource) -> Any:
    """Return how often partitions were dealt out, and whether they just are."""
    return source._consumer.group_metadata()


def test_a_member_that_joins_anew_between_two_polls_is_in_the_group_again(
    kafka: Kafka, caplog: pytest.LogCaptureFixture
) -> None:
    """One that leads joins anew when there are more partitions, here while it is not polled."""
    topic, found = kafka.topic(MANY - 1), list[str]()
    soon = {"metadata_max_age_ms": 1000}
    with member(kafka, topic, **soon) as one, member(kafka, topic, **soon) as two:
        wanted = send(kafka, topic, 0, MANY - 1)

        def joins(source: SharedSource) -> bool:
            take(source, found)
            return "rebalancing" in membership(source).state

        with polled(one, found), polled(two, found):
            until(lambda: wanted <= set(found))
        before = membership(one).generation_id
        kafka.admin.create_partitions({topic: MANY})
        leader = until(lambda: next((each for each in (one, two) if joins(each)), None))
        other = two if leader is one else one
        until(lambda: not joins(other) and membership(other).generation_id > before)
        wanted |= send(kafka, topic, 5, MANY - 1)
        with polled(one, found), polled(two, found):
            until(lambda: wanted <= set(found))
        assert dict.fromkeys(range(MANY - 1), 10).items() <= committed(kafka, topic).items()
    assert set(Counter(found).values()) == {1}
    assert "again" not in caplog.text  # nothing was handed out that could not be committed


def test_members_that_come_and_go_hand_out_each_record_once(kafka: Kafka) -> None:
    topic, found = kafka.topic(MANY), list[str]()
    wanted: set[str] = set()
    with ExitStack() as rest:
        members: list[ExitStack] = []
        for turn in range(5):
            wanted |= send(kafka, topic, 5 * turn)
            if turn in (0, 1, 3):
                new = rest.enter_context(ExitStack())
                new.enter_context(polled(new.enter_context(member(kafka, topic)), found))
                members.append(new)
            else:
                members.pop(0).close()
            until(lambda: wanted <= set(found))  # noqa: B023
    assert set(found) == wanted
    assert set(Counter(found).values()) == {1}
    assert committed(kafka, topic) == dict.fromkeys(range(MANY), 25)


def test_what_is_not_done_when_a_member_leaves_is_handed_out_again(kafka: Kafka) -> None:
    topic, found = kafka.topic(MANY), list[str]()
    wanted = send(kafka, topic, 0)
    with member(kafka, topic) as first:
        with polled(first, found):
            until(lambda: wanted <= set(found))
        wanted |= send(kafka, topic, 5)
        batch = until(lambda: first.poll(3, 0.2))
        assert set(map(str, batch.places)) <= wanted
    with member(kafka, topic) as second, polled(second, found):
        until(lambda: wanted <= set(found))
    assert set(Counter(found).values()) == {1}
