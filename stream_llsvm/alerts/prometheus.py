"""The rules as Prometheus reads them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from stream_llsvm.alerts.conditions import duration
from stream_llsvm.alerts.rules import HOLD, RULES, Rule, title

_HEAD = """\
# Made by: stream-llsvm alerts --prometheus. Change stream_llsvm/alerts/rules.py, not this.
# keep_firing_for needs Prometheus 2.42.
groups:
  - name: stream_llsvm
    rules:
"""


def rule_file(rules: Sequence[Rule] = RULES) -> str:
    """Return the file of rules (YAML)."""
    return _HEAD + "\n".join(line for rule in rules for line in _lines(rule)) + "\n"


def _lines(rule: Rule) -> Iterator[str]:
    summary = rule.summary.replace("{value}", "{{ $value | humanize }}")
    yield f"      - alert: {title(rule)}"
    yield f"        expr: {json.dumps(rule.condition.promql())}"
    if rule.lasts:
        yield f"        for: {duration(rule.lasts)}"
    yield f"        keep_firing_for: {duration(HOLD)}"
    yield f"        labels: {{severity: {rule.severity}}}"
    yield "        annotations:"
    yield f"          summary: {json.dumps(summary)}"
    yield f"          runbook: {json.dumps(rule.runbook)}"
