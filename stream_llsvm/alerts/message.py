"""What is told of alerts: one message for all that is new, as JSON, as text and as e-mail."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from stream_llsvm.alerts.alert import Alert

VERSION = 1


class Message(NamedTuple):
    """Alerts of one run that somebody is told together.

    Attributes
    ----------
    run
        Which run: where its records come from.
    host
        The machine it runs on.
    time
        When it was written, in seconds since 1970.
    alerts
        Those that fire, and those that do not any more.

    """

    run: str
    host: str
    time: float
    alerts: Sequence[Alert]

    @property
    def firing(self) -> list[Alert]:
        """Those that fire."""
        return [one for one in self.alerts if one.fires]

    @property
    def title(self) -> str:
        """What it says, in some words.

        Examples
        --------
        >>> from stream_llsvm.alerts.rules import BY_NAME
        >>> Message("a.csv", "host", 0.0, [Alert(BY_NAME["stopped"], 0.0, 61.0)]).title
        'stream-llsvm: stopped (a.csv on host)'

        """
        names = ", ".join(one.rule.name for one in self.firing)
        if not names:
            names = "resolved: " + ", ".join(one.rule.name for one in self.alerts)
        return " ".join(f"stream-llsvm: {names} ({self.run} on {self.host})".split())

    @property
    def text(self) -> str:
        """A line for each alert."""
        return "\n".join(_line(one) for one in self.alerts)

    def payload(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {
            "version": VERSION,
            "status": "firing" if self.firing else "resolved",
            "run": self.run,
            "host": self.host,
            "time": self.time,
            "alerts": [one.payload() for one in self.alerts],
        }


def _line(alert: Alert) -> str:
    rule = alert.rule
    if alert.until is not None:
        return f"RESOLVED {rule.name}: from {_time(alert.since)} to {_time(alert.until)}"
    return (
        f"{rule.severity.upper()} {rule.name}: {rule.text(alert.value)} "
        f"Since {_time(alert.since)}. What to do: {rule.runbook}"
    )


def _time(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%SZ}"
