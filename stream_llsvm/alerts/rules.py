"""When a run is in trouble: every condition, once. `grafana/alerts.yaml` is made of this list."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

from stream_llsvm.alerts.conditions import (
    PREFIX,
    Earlier,
    Expression,
    Increase,
    Now,
    Vanished,
    metric,
)

#: Seconds for which a rule that does not hold any more goes on firing: one message, not ten.
HOLD = 60.0
_RUNBOOK = "docs/alerts.md"


class Rule(NamedTuple):
    """A condition that somebody should be told of.

    Attributes
    ----------
    name
        What it is called, in messages, in files and as the title of its section of the runbook.
    severity
        ``critical`` if the run does not do its work, else ``warning``.
    summary
        What is the matter; ``{value}`` stands for the condition's value.
    holds
        The condition, of the threshold.
    threshold
        Beyond which it is trouble.
    meaning
        What the threshold is.
    lasts
        Seconds for which the condition must hold.
    outside
        Whether only another process can see it: what a run cannot tell of itself.

    """

    name: str
    severity: Literal["critical", "warning"]
    summary: str
    holds: Callable[[float], Expression]
    threshold: float
    meaning: str
    lasts: float = 0.0
    outside: bool = False

    @property
    def condition(self) -> Expression:
        """The condition with its threshold."""
        return self.holds(self.threshold)

    @property
    def runbook(self) -> str:
        """Where it is written what to do."""
        return f"{_RUNBOOK}#{self.name}"

    def text(self, value: float) -> str:
        """Return what is the matter, with the condition's value."""
        return self.summary.replace("{value}", f"{value:.4g}")


_lag, _rate = metric("lag_records", "topic", "partition"), metric("rate_records")
_learned, _unlabelled = metric("learned_total"), metric("unlabelled_seconds")
_waiting, _expired = metric("labels_waiting"), metric("labels_total", outcome="expired")
_delay = metric("label_delay_seconds_sum") / metric("label_delay_seconds_count")


def _stopped(seconds: float) -> Expression:
    """Return that the run has failed, or that its loop does not turn; to compile takes long."""
    silent = metric("silent_seconds") > seconds
    compiling = metric("state", state="compiling").equals(1)
    failed = metric("state", state="failed").equals(1)
    over = metric("state", state="stopped").equals(1)
    return silent.unless(compiling).unless(over) | failed


def _lagging(seconds: float) -> Expression:
    """Return that the run is far behind and does not catch up."""
    return (_lag / _rate > seconds) & (_lag >= Earlier(_lag, 300))


def _no_labels(seconds: float) -> Expression:
    """Return that records come, and no labels: those in records, or those that come later.

    Later ones may be three times as late as they have been. Before the first has come, nobody
    knows how late they are: not until a record has waited in vain.
    """
    at_once = (_unlabelled > seconds).unless(_waiting)
    later = (_unlabelled > seconds) & (_learned > 0) & (_unlabelled > _delay * 3)
    return at_once | (later & _waiting) | ((_expired > 0) & _learned.equals(0))


def _accuracy_fell(share: float) -> Expression:
    """Return that the last records were answered worse than all on the mean."""
    now, ever = (metric("accuracy_ratio", kind=kind) for kind in ("windowed", "cumulative"))
    error, usual = (metric("mae", kind=kind) for kind in ("windowed", "cumulative"))
    fell = (now < ever * share) | (error > usual / share)
    return fell & (_learned > 1_000)


def _below_baseline(learned: float) -> Expression:
    """Return that the last records would have been answered better without any model."""
    now, without = (metric("accuracy_ratio", kind=kind) for kind in ("windowed", "majority"))
    error, mean = (metric("mae", kind=kind) for kind in ("windowed", "mean_label"))
    return ((now < without) | (error > mean)) & (_learned > learned)


def _estimate_apart(most: float) -> Expression:
    """Return that the answers promise much more, or much less, than what labels then say."""
    apart = metric("overconfidence_ratio", kind="windowed")
    return ((apart > most) | (apart * -1 > most)) & (_learned > 1_000)


def _rejected(share: float) -> Expression:
    """Return that more than a share of the records could not be used."""
    came, used = (Increase(metric(f"{one}_total"), 600) for one in ("records", "predicted"))
    return ((came - used) / came > share) & (came - used > 10)


def _checkpoint_old(times: float) -> Expression:
    """Return that none was written though it was time, and something has come to keep.

    A run that goes on from an old one has time to write its own.
    """
    overdue = metric("checkpoint_interval_seconds") * times + 60
    old = (metric("checkpoint_age_seconds") > overdue) & (metric("checkpoint_behind_records") > 0)
    return old & (Now() - metric("start_time_seconds") > overdue)


RULES: list[Rule] = [
    Rule(
        "stopped", "critical", "The run has failed, or its loop has not turned for a while.",
        _stopped, 60, "seconds without a turn",
    ),
    Rule(
        "gone", "critical", "A run that could be asked a while ago does not answer any more.",
        lambda seconds: Vanished(metric("start_time_seconds"), seconds), 900,
        "seconds for which it is missed", lasts=60, outside=True,
    ),
    Rule(
        "lagging", "warning", "The run is {value} seconds behind its source and does not catch up.",
        _lagging, 60, "seconds behind", lasts=300,
    ),
    Rule(
        "no_labels", "warning", "Records come and none has been learned for {value} seconds.",
        _no_labels, 900, "seconds without a label",
    ),
    Rule(
        "accuracy_fell", "warning", "The last records were answered worse than before: {value}.",
        _accuracy_fell, 0.9, "share of the accuracy of the whole run", lasts=60,
    ),
    Rule(
        "below_baseline", "warning",
        "A model that learns nothing would have answered the last records better: {value}.",
        _below_baseline, 1_000, "records learned before it is judged", lasts=60,
    ),
    Rule(
        "estimate_apart", "warning",
        "The answers are {value} surer than they are right: their probabilities mislead.",
        _estimate_apart, 0.1, "share promised too much or too little", lasts=60,
    ),
    Rule(
        "input_drift", "warning", "Fields that are no longer what they were: {value}.",
        lambda fields: metric("input_fields_moved") >= fields, 1, "fields",
    ),
    Rule(
        "rejected", "warning", "A share of {value} of the last records could not be used.",
        _rejected, 0.05, "share of the records of ten minutes",
    ),
    Rule(
        "checkpoint_old", "warning", "The last checkpoint is {value} seconds old.",
        _checkpoint_old, 3, "times the time between two",
    ),
    Rule(
        "checkpoint_failed", "critical", "The last checkpoint could not be written.",
        lambda one: metric("checkpoint_failed") >= one, 1, "always 1",
    ),
    Rule(
        "non_finite", "critical", "The model has answered with what is no number.",
        lambda more: Increase(metric("non_finite_total"), 600) > more, 0, "answers in ten minutes",
    ),
]  # fmt: skip
BY_NAME = {rule.name: rule for rule in RULES}


def title(rule: Rule) -> str:
    """Return what Prometheus calls an alert.

    Examples
    --------
    >>> title(BY_NAME["no_labels"])
    'StreamLlsvmNoLabels'

    """
    words = f"{PREFIX}{rule.name}".split("_")
    return "".join(word.capitalize() for word in words)
