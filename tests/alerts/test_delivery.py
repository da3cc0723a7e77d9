"""Whoever is told hears of everything, once, not too often, and holds nobody up."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from stream_llsvm.alerts import delivery
from stream_llsvm.alerts.alert import Alert
from stream_llsvm.alerts.channels import ChannelError, Webhook
from stream_llsvm.alerts.delivery import Delivery
from stream_llsvm.alerts.message import Message
from stream_llsvm.alerts.rules import BY_NAME
from tests.alerts.sinks import Hook, hook
from tests.dashboard.live import wait_for


def alert(name: str, since: float = 1.0, until: float | None = None) -> Alert:
    return Alert(BY_NAME[name], since, 1.0, until)


def told(sink: Hook) -> list[list[tuple[str, str]]]:
    """Return the alerts of each message, with how they stand."""
    return [
        [(one["alert"], one["status"]) for one in posted.body["alerts"]] for posted in sink.posted
    ]


def messages(sink: Hook, n: int) -> bool:
    """Whether so many messages have come."""
    return len(sink.posted) == n


@pytest.fixture
def sink() -> Iterator[Hook]:
    with hook() as one:
        yield one


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Try again soon."""
    monkeypatch.setattr(delivery, "_FIRST_RETRY", 0.01)
    monkeypatch.setattr(delivery, "_LAST_RETRY", 0.05)


def to(sink: Hook, **how: Any) -> Delivery:
    one = Delivery(Webhook(sink.url), "a.csv", **{"apart": 0.0} | how)
    one.start()
    return one


def test_each_is_told_once_and_when_it_is_over(sink: Hook) -> None:
    one = to(sink)
    fires = alert("lagging")
    for _ in range(50):
        one.update([fires])
    wait_for(lambda: len(sink.posted) == 1)
    for i in range(50):  # its value changes all the time
        one.update([fires._replace(value=float(i))])
    one.update([fires._replace(until=9.0)])
    wait_for(lambda: len(sink.posted) == 2)
    one.update([fires._replace(until=9.0), alert("stopped")])
    one.close()
    assert told(sink) == [
        [("lagging", "firing")],
        [("lagging", "resolved")],
        [("stopped", "firing")],
    ]


def test_what_comes_together_is_told_together(sink: Hook) -> None:
    one = Delivery(Webhook(sink.url), "a.csv", apart=0.5)
    one.update([alert("lagging"), alert("stopped")])
    one.start()
    wait_for(lambda: len(sink.posted) == 1)
    first = time.monotonic()
    one.update([alert("lagging"), alert("stopped", 1.0, 2.0)])
    one.update([alert("lagging"), alert("stopped", 1.0, 2.0), alert("rejected")])
    wait_for(lambda: len(sink.posted) == 2)
    assert time.monotonic() - first > 0.3
    one.close()
    assert told(sink)[1] == [("stopped", "resolved"), ("rejected", "firing")]


def test_what_still_fires_is_told_again(sink: Hook) -> None:
    one = to(sink, repeat=0.2)
    one.update([alert("lagging"), alert("stopped", 1.0, 2.0)])
    wait_for(lambda: len(sink.posted) >= 3)
    one.close()
    assert told(sink)[1:3] == [[("lagging", "firing")]] * 2


@pytest.mark.usefixtures("soon")
def test_a_sink_that_was_down_hears_how_things_are_then(
    sink: Hook, caplog: pytest.LogCaptureFixture
) -> None:
    sink.status = 500
    one = to(sink)
    one.update([alert("lagging")])
    wait_for(lambda: len(sink.posted) > 3)
    one.update([alert("lagging", 1.0, 5.0), alert("stopped")])
    failed = len(sink.posted)
    sink.status = 200
    wait_for(lambda: len(sink.posted) > failed + 1 or told(sink)[-1][-1][0] == "stopped")
    one.close()
    assert told(sink)[-1] == [("lagging", "resolved"), ("stopped", "firing")]
    warnings = [r.getMessage() for r in caplog.records if r.levelno >= logging.WARNING]
    assert len(warnings) == 2  # once that it fails, once that it does no more
    assert "127.0.0.1 answered 500" in warnings[0]
    assert not any("secret-path" in line for line in warnings)


def test_there_are_not_too_many_and_the_grave_ones_still_come(
    sink: Hook, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = to(sink)
    for i in range(delivery._MOST):
        one.update([alert("lagging", float(i))])
        wait_for(partial(messages, sink, i + 1))
    for i in range(delivery._MOST, 40):
        one.update([alert("lagging", float(i))])
    one.update([alert("lagging", 99.0), alert("stopped")])
    wait_for(lambda: len(sink.posted) == delivery._MOST + 1)
    assert told(sink)[-1] == [("lagging", "firing"), ("stopped", "firing")]
    one.update([alert("lagging", 100.0), alert("stopped")])
    one.close()  # at the end what is left is told
    assert len(sink.posted) == delivery._MOST + 2


def test_a_sink_that_hangs_holds_nobody_up(sink: Hook, caplog: pytest.LogCaptureFixture) -> None:
    sink.hang.clear()
    one = to(sink, hung=0.1)
    begin = time.monotonic()
    for i in range(1_000):
        one.update([alert("lagging", float(i))])
    assert time.monotonic() - begin < 30
    wait_for(lambda: "has not ended" in caplog.text)
    before = threading.active_count()
    one.close(patience=0.2)
    assert threading.active_count() <= before  # one that hangs, and not one for each try
    assert "was not told of lagging" in caplog.text
    sink.hang.set()


def test_a_channel_that_breaks_is_tried_again(caplog: pytest.LogCaptureFixture) -> None:
    class Odd:
        name = "odd"
        tries = 0

        def send(self, message: Message) -> None:
            self.tries += 1
            if self.tries == 1:
                raise KeyError("a secret")
            if self.tries == 2:
                raise ChannelError("odd: not now")

    channel = Odd()
    one = Delivery(channel, "a.csv")
    one._wait = 0.001
    one.start()
    one.update([alert("lagging")])
    wait_for(lambda: channel.tries == 3, 30)
    one.close()
    assert channel.tries == 3 and "a secret" not in caplog.text
