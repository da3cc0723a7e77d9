"""Units of systemd: they fit the command and are closed up; systemd, where it is there, agrees."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from stream_llsvm.serve.served import LONGEST_END
from stream_llsvm.serve.server import GRACE
from tests.test_compose import max_mb_of, options_of

UNITS = sorted((Path(__file__).resolve().parents[1] / "deploy" / "systemd").glob("*.service"))
#: What a process that only computes, listens and writes its own folder never needs.
CLOSED = {
    "DynamicUser": "yes",
    "ProtectSystem": "strict",
    "ProtectHome": "yes",
    "PrivateTmp": "yes",
    "PrivateDevices": "yes",
    "NoNewPrivileges": "yes",
    "CapabilityBoundingSet": "",
    "RestrictNamespaces": "yes",
    "RestrictSUIDSGID": "yes",
    "SystemCallArchitectures": "native",
}
EXPOSURE = 20  # of 100, as systemd counts: 20 is "OK", below 30


def said(unit: Path) -> dict[str, list[str]]:
    """Return what a unit says, by its keys, which may come more than once."""
    found: dict[str, list[str]] = {}
    for line in unit.read_text(encoding="utf-8").splitlines():
        if line and line[0] not in "#[":
            key, _, value = line.partition("=")
            found.setdefault(key, []).append(value)
    return found


def test_there_is_one_for_each_way_to_run() -> None:
    assert [unit.name for unit in UNITS] == [
        "stream-llsvm-run.service",
        "stream-llsvm-serve.service",
    ]


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_it_fits_the_command_and_is_closed_up(unit: Path) -> None:
    told = said(unit)
    program, command, *options = shlex.split(told["ExecStart"][0])
    assert program.startswith("/opt/") and unit.stem.endswith(command)
    assert {one for one in options if one.startswith("--")} <= options_of(command)
    assert {key: told[key] for key in CLOSED} == {key: [value] for key, value in CLOSED.items()}
    # What is kept lies where it may be written, and nothing else may be.
    (folder,) = told["StateDirectory"]
    assert folder == unit.stem
    assert any(one.startswith("${STATE_DIRECTORY}/") for one in options)
    assert "ReadWritePaths" not in told
    assert int(told["TimeoutStopSec"][0]) >= LONGEST_END + GRACE
    # A full disk needs no hands, a mistake does.
    assert told["StartLimitIntervalSec"] == ["0"] and told["RestartPreventExitStatus"] == ["2"]
    assert told["MemoryMax"] == ["1G"] and max_mb_of(options) <= (1_024 - 400) / 5
    assert not any("TOKEN" in value for value in told["Environment"]), "secrets are no part of it"


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_systemd_takes_it(unit: Path, tmp_path: Path) -> None:
    here = tmp_path / unit.name  # with a program that is there
    text = unit.read_text(encoding="utf-8")
    here.write_text(text.replace(shlex.split(said(unit)["ExecStart"][0])[0], sys.executable))
    assert sys.executable in here.read_text()
    analyze = shutil.which("systemd-analyze")
    for asked in (["verify"], ["security", "--offline=true", f"--threshold={EXPOSURE}"]):
        if analyze is not None:  # elsewhere the test above is all there is
            done = subprocess.run(
                [analyze, *asked, str(here)], capture_output=True, text=True, check=False
            )
            assert done.returncode == 0, done.stdout + done.stderr
