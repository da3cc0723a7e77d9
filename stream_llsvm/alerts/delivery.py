"""Tells a channel what fires: by a thread of its own, again until it was heard, and not too often.

What is to be told is a state, not a queue: of each rule its last alert. So nothing grows while a
channel cannot be reached, and what is told then is how things are by then.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Iterable
from socket import gethostname

from stream_llsvm.alerts.alert import Alert
from stream_llsvm.alerts.channels import Channel, ChannelError
from stream_llsvm.alerts.message import Message

log = logging.getLogger("stream_llsvm")

REPEAT = 4 * 3_600.0  # seconds after which what still fires is told again
_APART = 10.0  # seconds between two messages
_HOUR, _MOST = 3_600.0, 12  # messages in an hour, of each severity
_FIRST_RETRY, _LAST_RETRY = 1.0, 300.0  # seconds
_HUNG = 60.0  # seconds after which nobody waits for a send any more


class Delivery:
    """Tells one channel of the alerts of a run.

    Parameters
    ----------
    channel
        Where messages go.
    run
        What the run is called in them.
    repeat
        Seconds after which what still fires is told again.
    apart
        Seconds between two messages, at least.
    hung
        Seconds after which a send that does not end counts as failed.

    """

    def __init__(
        self,
        channel: Channel,
        run: str,
        *,
        repeat: float = REPEAT,
        apart: float = _APART,
        hung: float = _HUNG,
    ) -> None:
        self.channel, self._run = channel, run
        self._repeat, self._apart, self._hung = repeat, apart, hung
        self._alerts: dict[str, Alert] = {}
        self._told: dict[str, tuple[float, bool]] = {}  # since when, and whether it is resolved
        self._sent = {severity: deque[float](maxlen=_MOST) for severity in ("critical", "warning")}
        self._last = float("-inf")
        self._wait, self._not_before = 0.0, 0.0
        self._sending: _Sending | None = None
        self._woken = threading.Condition()
        self._closing = False
        self._thread = threading.Thread(
            target=self._work, name=f"alerts to {channel.name}", daemon=True
        )

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def update(self, alerts: Iterable[Alert]) -> None:
        """Say what the last alert of each rule is; returns at once."""
        with self._woken:
            self._alerts = {one.rule.name: one for one in alerts}
            self._woken.notify()

    def leave(self) -> None:
        """Tell once what is left to tell, and then end."""
        with self._woken:
            self._closing = True
            self._woken.notify()

    def close(self, patience: float = 10.0) -> None:
        """Do the same, and wait for that, so many seconds at most."""
        self.leave()
        self._thread.join(patience)
        if self._untold():
            names = ", ".join(one.rule.name for one in self._untold())
            log.warning("alerts: %s was not told of %s", self.channel.name, names)

    def _untold(self) -> list[Alert]:
        """Return what the channel has not heard of yet."""
        return [
            one
            for name, one in self._alerts.items()
            if self._told.get(name) != (one.since, one.until is not None)
        ]

    def _due(self, now: float) -> tuple[list[Alert], float]:
        """Return what is to be told now, or nothing and for how long there is nothing to do."""
        fresh = self._untold()
        if self._closing:
            return fresh, 0.0
        if not fresh:
            fires = [one for one in self._alerts.values() if one.fires]
            if not fires or now - self._last < self._repeat:
                return [], max(0.01, self._last + self._repeat - now) if fires else _HOUR
            fresh = fires
        waits = [max(self._not_before, self._last + self._apart) - now]
        for severity in {one.rule.severity for one in fresh}:
            sent = self._sent[severity]
            full = len(sent) == sent.maxlen
            waits.append(max(waits[0], sent[0] + _HOUR - now) if full else waits[0])
        wait = min(waits[1:])  # of the severity that may be told first; the other goes along
        return (fresh, 0.0) if wait <= 0 else ([], wait)

    def _work(self) -> None:
        while True:
            with self._woken:
                due, wait = self._due(time.monotonic())
                if not due:
                    if self._closing:
                        return
                    self._woken.wait(wait)
                    continue
            self._send(due)
            if self._closing:
                return

    def _send(self, due: list[Alert]) -> None:
        """Hand these over; what was heard is not told again."""
        message = Message(self._run, gethostname(), time.time(), due)
        trouble = self._handed_over(message)
        now = time.monotonic()
        if trouble is not None:
            if self._wait == 0.0:
                log.warning("alerts: %s; it is tried again", trouble)
            self._wait = min(_LAST_RETRY, 2 * self._wait or _FIRST_RETRY)
            self._not_before = now + self._wait
            return
        if self._wait:
            log.warning("alerts: %s takes messages again", self.channel.name)
        self._wait, self._last = 0.0, now
        for one in due:
            self._told[one.rule.name] = one.since, one.until is not None
        for severity in {one.rule.severity for one in due}:
            self._sent[severity].append(now)

    def _handed_over(self, message: Message) -> str | None:
        """Send it by a thread that may hang; return what went wrong."""
        if self._sending is not None and self._sending.is_alive():
            return f"{self.channel.name} still hangs"
        self._sending = _Sending(self.channel, message)
        self._sending.start()
        self._sending.join(self._hung)
        if self._sending.is_alive():
            return f"{self.channel.name} has not ended after {self._hung:.0f} s"
        return self._sending.trouble


class _Sending(threading.Thread):
    """One message on its way."""

    def __init__(self, channel: Channel, message: Message) -> None:
        super().__init__(name=f"alert to {channel.name}", daemon=True)
        self._channel, self._message = channel, message
        self.trouble: str | None = None

    def run(self) -> None:
        """Send it."""
        try:
            self._channel.send(self._message)
        except ChannelError as error:
            self.trouble = str(error)
        except Exception as error:  # whose text may hold anything
            self.trouble = f"{self._channel.name}: {type(error).__name__}"
