"""The alerting rules are valid, name metrics that there are, and each says what to do."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[1]
FILE = ROOT / "grafana" / "alerts.yaml"
PROMTOOL = shutil.which("promtool")


def rules() -> list[dict[str, Any]]:
    (group,) = yaml.safe_load(FILE.read_text(encoding="utf-8"))["groups"]
    found: list[dict[str, Any]] = group["rules"]
    return found


def test_each_says_what_it_is_and_what_to_do() -> None:
    guide = (ROOT / "docs" / "alerts.md").read_text(encoding="utf-8")
    sections = re.findall(r"^### (\w+)$", guide, re.MULTILINE)
    for one, section in zip(rules(), sections, strict=True):
        assert one["alert"] == "StreamLlsvm" + section.title().replace("_", "")
        assert one["labels"]["severity"] in ("warning", "critical")
        assert one["annotations"]["summary"]
        assert one["annotations"]["runbook"] == f"docs/alerts.md#{section}"


def test_each_names_metrics_that_there_are() -> None:
    listed = (ROOT / "docs" / "metrics.md").read_text(encoding="utf-8")
    for one in rules():
        assert one["expr"].count("(") == one["expr"].count(")")
        for name in re.findall(r"stream_llsvm_(\w+)", one["expr"]):
            assert re.search(rf"`{re.sub('_(sum|count)$', '', name)}\b", listed), name


@pytest.mark.skipif(PROMTOOL is None, reason="promtool comes with Debian's package prometheus")
def test_prometheus_takes_them() -> None:
    command = [str(PROMTOOL), "check", "rules", str(FILE)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
