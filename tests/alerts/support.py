"""What rules make of a run's metrics, here and, where it is there, by Prometheus' own tool."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from prometheus_client.parser import text_string_to_metric_families

from stream_llsvm.alerts.alert import Alert, Alerts
from stream_llsvm.alerts.conditions import PREFIX, Seen
from stream_llsvm.alerts.prometheus import rule_file
from stream_llsvm.alerts.rules import Rule, title
from tests.dashboard.live import Live

PROMTOOL = os.environ.get("PROMTOOL") or shutil.which("promtool")
Read = dict[str, list[tuple[dict[str, str], float]]]
MINUTE = 60.0


def read(text: str) -> Read:
    """Return what a page of metrics says, as rules take it."""
    found: Read = defaultdict(list)
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            found[sample.name.removeprefix(PREFIX)].append((dict(sample.labels), sample.value))
    return found


def scraped(run: Live) -> Read:
    """Return what a run's /metrics says now."""
    answer = run.get("/metrics")
    assert answer.status_code == 200
    return read(answer.text)


def value(samples: Read, name: str, **labels: str) -> float:
    """Return one number, 0 where there is none."""
    return sum(v for with_, v in samples.get(name, []) if labels.items() <= with_.items())


def fires(rule: Rule, scrapes: Sequence[Read], begin: float = 0.0) -> Alert | None:
    """Return the alert that a rule makes of scrapes that are a minute apart.

    Prometheus' tool, where it is there, must say the same.
    """
    inside = rule._replace(outside=False)  # what asks is another process
    alerts = Alerts([inside])
    found: tuple[Alert, ...] = ()
    for i, samples in enumerate(scrapes):
        found = alerts.take(begin + i * MINUTE, samples)
    if PROMTOOL is not None:
        assert _fires_in_prometheus(rule, scrapes, begin) == bool(found), rule.name
    return found[0] if found else None


def _fires_in_prometheus(rule: Rule, scrapes: Sequence[Read], begin: float) -> bool:
    columns: dict[str, list[str]] = {}
    for i, samples in enumerate(scrapes):
        for name, series in samples.items():
            for labels, number in series:
                shift = begin if name == "start_time_seconds" else 0.0  # its clock begins at 0
                inside = ",".join(f"{key}={json.dumps(label)}" for key, label in labels.items())
                column = columns.setdefault(f"{PREFIX}{name}{{{inside}}}", ["_"] * len(scrapes))
                column[i] = str(number - shift).replace("inf", "Inf").replace("nan", "NaN")
        for column in columns.values():
            if column[i] == "_" and i > 0 and column[i - 1] != "_":
                column[i] = "stale"  # as a scrape that misses it says
    last = f"{len(scrapes) - 1}m"
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "rules.yaml").write_text(rule_file([rule]))
        test: dict[str, Any] = {
            "rule_files": ["rules.yaml"],
            "evaluation_interval": "1m",
            "tests": [
                {
                    "interval": "1m",
                    "input_series": [
                        {"series": name, "values": " ".join(column)}
                        for name, column in columns.items()
                    ],
                    "alert_rule_test": [
                        {"eval_time": last, "alertname": title(rule), "exp_alerts": []}
                    ],
                }
            ],
        }
        Path(folder, "test.yaml").write_text(json.dumps(test))
        done = subprocess.run(
            [str(PROMTOOL), "test", "rules", "test.yaml"],
            cwd=folder, capture_output=True, text=True, check=False,
        )  # fmt: skip
    said = done.stdout + done.stderr
    assert "FAILED" in said or "SUCCESS" in said, said
    # No alert is what the test expects; what it got instead is in what it says.
    assert done.returncode == 0 or f'alertname="{title(rule)}"' in said, said
    return done.returncode != 0


def holds(rule: Rule, *scrapes: Read) -> bool:
    """Whether a condition holds of the last of these, a minute apart."""
    seen = Seen([rule.condition])
    for i, samples in enumerate(scrapes):
        seen.take(i * MINUTE, samples)
    return rule.condition.of(seen) is not None
