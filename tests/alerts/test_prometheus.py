"""The file of rules is made of the list, is valid, and has a section for each rule to read."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from stream_llsvm.alerts.prometheus import rule_file
from stream_llsvm.alerts.rules import RULES, title
from tests.alerts.support import PROMTOOL

ROOT = Path(__file__).resolve().parents[2]
FILE = ROOT / "grafana" / "alerts.yaml"


def written() -> list[dict[str, Any]]:
    (group,) = yaml.safe_load(FILE.read_text(encoding="utf-8"))["groups"]
    found: list[dict[str, Any]] = group["rules"]
    return found


def test_it_is_made_of_the_list() -> None:
    assert FILE.read_text(encoding="utf-8") == rule_file()
    assert [one["alert"] for one in written()] == [title(rule) for rule in RULES]


def test_each_says_what_it_is_and_what_to_do() -> None:
    guide = (ROOT / "docs" / "alerts.md").read_text(encoding="utf-8")
    sections = set(re.findall(r"^### (\w+)$", guide, re.MULTILINE))
    assert sections == {rule.name for rule in RULES}
    for one, rule in zip(written(), RULES, strict=True):
        assert one["labels"] == {"severity": rule.severity}
        assert one["annotations"]["summary"]
        assert one["annotations"]["runbook"] == f"docs/alerts.md#{rule.name}"
        assert one["expr"].count("(") == one["expr"].count(")")


@pytest.mark.skipif(PROMTOOL is None, reason="promtool comes with Debian's package prometheus")
def test_prometheus_takes_it() -> None:
    done = subprocess.run(
        [str(PROMTOOL), "check", "rules", str(FILE)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{len(RULES)} rules found" in done.stdout
