"""``[alerts]`` of a pipeline file: whoever is named hears of it, and the run does not wait."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any
from unittest.mock import ANY

import pytest

from stream_llsvm.alerts.prometheus import rule_file
from stream_llsvm.alerts.rules import RULES
from tests.alerts.sinks import certificate, hook, mailbox
from tests.cli.support import csv_file, lines, refused, run, started, told

SOURCE = '[source]\nfrom = "{data}"\nlabel = "y"\nkey = "id"\n[model]\nclass = "lcc"\n'


def written(folder: Path, data: Path, alerts: str) -> Path:
    path = folder / "pipeline.toml"
    path.write_text(SOURCE.format(data=data) + alerts)
    return path


def to_file(out: Path) -> str:
    """Return a command that adds what it is told to a file."""
    code = "import sys; open(sys.argv[1], 'a').write(sys.stdin.read() + '\\n')"
    return "command = " + json.dumps([sys.executable, "-c", code, str(out)])


def test_a_run_that_fails_wakes_all_who_are_named(tmp_path: Path) -> None:
    data, out, pair = csv_file(tmp_path / "data.csv", 300), tmp_path / "out", certificate(tmp_path)
    text = data.read_text().splitlines()
    data.write_text("\n".join([*text, *["r,no,number,at all,,,,"] * 500]) + "\n")
    with hook() as sink, mailbox("starttls", pair, ("u", "p4ss-word")) as box:
        alerts = (
            f'[alerts]\nwebhook = ["{sink.url}"]\nrules = {{rejected = false}}\n{to_file(out)}\n'
            f'[alerts.email]\nhost = "127.0.0.1"\nport = {box.port}\nca = "{pair.certificate}"\n'
            'from = "a@b.c"\nto = "d@e.f"\nuser = "u"\npassword = {env = "MAIL_PASSWORD"}\n'
        )
        process = started(
            "run", written(tmp_path, data, alerts), "--log-format", "json",
            more={"MAIL_PASSWORD": "p4ss-word"},
        )  # fmt: skip
        _, said = process.communicate(timeout=300)
        assert process.returncode == 1
        (posted,) = sink.posted
        (mail,) = box.mails
    assert [one["alert"] for one in posted.body["alerts"]] == ["stopped"]
    assert "CRITICAL stopped" in mail
    assert json.loads(out.read_text()) == posted.body | {"time": ANY}
    assert "p4ss-word" not in said and "secret-path" not in said
    assert lines(said)[-1]["event"] == "failed"


def test_a_sink_that_hangs_or_is_not_there_does_not_hold_the_run(tmp_path: Path) -> None:
    data = csv_file(tmp_path / "data.csv", 400)
    with hook() as sink:
        sink.hang.clear()
        rules = "rules = {no_labels = 0.0, stopped = 0.0, checkpoint_old = false}"
        alerts = f'[alerts]\n{rules}\nwebhook = ["{sink.url}", "http://127.0.0.1:9/x"]\n'
        report = told("run", written(tmp_path, data, alerts))
        sink.hang.set()
    assert report["learned"] == 400
    plain = told("run", written(tmp_path, data, ""))
    assert report["scores"] == plain["scores"]


def test_the_rules_are_listed_and_printed_for_prometheus() -> None:
    shown = run("alerts")
    assert shown.exit_code == 0
    assert all(f"{rule.name}: {rule.severity}" in shown.stdout for rule in RULES)
    assert run("alerts", "--prometheus").stdout == rule_file()


def test_a_test_is_sent(tmp_path: Path) -> None:
    data, out = csv_file(tmp_path / "data.csv", 10), tmp_path / "out"
    with hook() as sink:
        path = written(tmp_path, data, f'[alerts]\nwebhook = "{sink.url}"\n{to_file(out)}\n')
        done = run("alerts", path)
        assert done.exit_code == 0, done.output
        assert done.stdout.splitlines()[0] == "told: webhook 127.0.0.1"
        assert sink.posted[0].body["alerts"][0]["alert"] == "test"
        assert json.loads(out.read_text()) == sink.posted[0].body
        sink.status = 500
        done = run("alerts", path)
    assert done.exit_code == 1
    assert "not told: webhook 127.0.0.1 answered 500" in done.stdout
    assert "1 of 2 were not told" in done.stderr
    assert "names no webhook" in refused("alerts", written(tmp_path, data, "[alerts]\n"))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ('webhook = "ftp://x/y"', "[alerts] webhook: webhook: a webhook's url begins with http"),
        ('webhook = {env = "NOT_THERE_AT_ALL"}', "the environment variable NOT_THERE_AT_ALL (url)"),
        ('webhook = {url = "http://x/", forma = "json"}', "webhook has no 'forma'; it has url"),
        ('webhook = {format = "json"}', "webhook: url is missing"),
        ('webhook = {url = "http://x/", format = "xml"}', "format must be one of 'json', 'slack'"),
        ("webhook = 7", "url is text, or"),
        ("email = 7", "email must be a table with host, from"),
        ('email = {host = "h", from = "a@b.c"}', "email: to is missing"),
        ('email = {host = "h", from = "a@b.c", to = 3}', "email: a value is of the wrong type"),
        ('email = {host = "h", from = "a@b.c", to = "d@e.f", ca = "/no"}', "ca cannot be read"),
        ('command = "page-me"', "command is a list of words"),
        ("command = []", "a command is a list of texts"),
        ("rules = {laging = 3}", "there is no rule 'laging'; there are stopped, lagging"),
        ('rules = {lagging = "long"}', "lagging is false, or its threshold (seconds behind)"),
        ("rules = 3", "rules must be a table"),
        ('repeat = "often"', "repeat is a time of up to a day"),
        ("mail = 3", 'unknown key "mail": did you mean "email"?'),
    ],
)
def test_a_mistake_is_told_with_its_line(tmp_path: Path, given: str, said: str) -> None:
    data = csv_file(tmp_path / "data.csv", 10)
    complaint: Any = refused("run", written(tmp_path, data, f"[alerts]\n{given}\n"))
    assert "pipeline.toml:8: [alerts]" in complaint
    assert said in complaint
