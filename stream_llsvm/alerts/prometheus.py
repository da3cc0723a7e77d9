"""The rules as Prometheus reads them: a file, or an object of its operator for Kubernetes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from textwrap import indent

from stream_llsvm.alerts.conditions import duration
from stream_llsvm.alerts.rules import HOLD, RULES, Rule, title

_HEAD = """\
# Made by: stream-llsvm alerts --{flag}. Change stream_llsvm/alerts/rules.py, not this.
# keep_firing_for needs Prometheus 2.42.
"""
_GROUPS = """\
groups:
  - name: stream_llsvm
    rules:
"""
_OBJECT = """\
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: stream-llsvm
  labels: { app.kubernetes.io/name: stream-llsvm }
spec:
"""


def rule_file(rules: Sequence[Rule] = RULES) -> str:
    """Return the file of rules (YAML)."""
    return _HEAD.format(flag="prometheus") + _groups(rules)


def rule_object(rules: Sequence[Rule] = RULES) -> str:
    """Return the same as an object that Prometheus' operator takes (YAML)."""
    return _HEAD.format(flag="kubernetes") + _OBJECT + indent(_groups(rules), "  ")


def _groups(rules: Sequence[Rule]) -> str:
    return _GROUPS + "\n".join(line for rule in rules for line in _lines(rule)) + "\n"


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
