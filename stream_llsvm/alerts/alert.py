"""What fires: rules whose condition has held for long enough, and since when."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from stream_llsvm.alerts.conditions import Samples, Seen
from stream_llsvm.alerts.rules import HOLD, RULES, Rule


class Alert(NamedTuple):
    """A rule that fires, or has fired.

    Attributes
    ----------
    rule
        Which.
    since
        When its condition began to hold, in seconds since 1970.
    value
        The condition's value when it was last seen to hold.
    until
        When it was resolved; None while it fires.

    """

    rule: Rule
    since: float
    value: float
    until: float | None = None

    @property
    def fires(self) -> bool:
        """Whether it still does."""
        return self.until is None

    def payload(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {
            "alert": self.rule.name,
            "status": "firing" if self.fires else "resolved",
            "severity": self.rule.severity,
            "summary": self.rule.text(self.value),
            "since": self.since,
            "until": self.until,
            "runbook": self.rule.runbook,
        }


class Alerts:
    """Looks at a run's metrics again and again, and says which rules fire.

    Parameters
    ----------
    rules
        The rules; those that only another process can see are left out.

    Examples
    --------
    >>> alerts = Alerts()
    >>> def now(failed):
    ...     return {"checkpoint_failed": [({}, failed)]}
    >>> alerts.take(0.0, now(0.0)), [one.rule.name for one in alerts.take(9.0, now(1.0))]
    ((), ['checkpoint_failed'])
    >>> [one.until for one in alerts.take(10.0, now(0.0))], alerts.take(80.0, now(0.0))
    ([None], ())

    """

    def __init__(self, rules: Sequence[Rule] = RULES) -> None:
        self.rules = [rule for rule in rules if not rule.outside]
        self._conditions = [rule.condition for rule in self.rules]
        self._seen = Seen(self._conditions)
        self._since: dict[str, float] = {}
        self._held: dict[str, float] = {}
        self._firing: dict[str, Alert] = {}
        #: The last alert of each rule, those that are resolved as well.
        self.last: dict[str, Alert] = {}

    def take(self, now: float, samples: Samples) -> tuple[Alert, ...]:
        """Take what the metrics are now; return what fires."""
        self._seen.take(now, samples)
        for rule, condition in zip(self.rules, self._conditions, strict=True):
            value = condition.of(self._seen)
            if value is not None:
                self._holds(rule, now, value)
            else:
                self._does_not_hold(rule, now)
        return tuple(self._firing.values())

    def _holds(self, rule: Rule, now: float, value: float) -> None:
        since = self._since.setdefault(rule.name, now)
        self._held[rule.name] = now
        fires = self._firing.get(rule.name)
        if fires is not None:
            since = fires.since
        elif now - since < rule.lasts:
            return
        self._firing[rule.name] = self.last[rule.name] = Alert(rule, since, value)

    def _does_not_hold(self, rule: Rule, now: float) -> None:
        self._since.pop(rule.name, None)
        fires = self._firing.get(rule.name)
        if fires is not None and now - self._held[rule.name] >= HOLD:
            del self._firing[rule.name]
            self.last[rule.name] = fires._replace(until=now)
