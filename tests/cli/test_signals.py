"""Real processes: stopped, interrupted and killed, they go on as if nothing had happened."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.cli.support import ROOT, csv_file, newest, rows, run, started, told, wait_for

SMALL = ["--detector", "none", "--model", "llsvm"]
SMALL += ["--option", "n_anchors=12", "--option", "n_neighbors=4"]


def arguments(data: Path, *more: Any) -> list[Any]:
    return ["run", "--from", data, "--label", "y", "--key", "id", *SMALL, *more]


def predictions(to: Path) -> list[dict[str, Any]]:
    """Return what was written, but for the time when it was."""
    lines = to.read_text(encoding="utf-8").splitlines()
    return [{k: v for k, v in json.loads(line).items() if k != "time"} for line in lines]


def predicted(to: Path) -> int:
    return to.read_bytes().count(b"\n") if to.exists() else 0


def grown(path: Path, size: int) -> bool:
    return path.exists() and path.stat().st_size > size


def ended(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=120)
    return process.returncode, out, err


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_a_followed_file_is_left_and_taken_up_again(
    tmp_path: Path, number: signal.Signals, code: int
) -> None:
    data, folder, to = (
        csv_file(tmp_path / "data.csv", 300),
        tmp_path / "kept",
        tmp_path / "out.jsonl",
    )
    more = ["--checkpoints", folder, "--to", to, "--every", 3600, "--json"]
    process = started(*arguments(data, *more, "--follow"))
    # Written results show when they are flushed; the source is idle by the time the rest has come.
    wait_for(lambda: folder.exists() and list(folder.glob("checkpoint-*")))
    with data.open("a") as file:
        file.write("".join(f"s{line[1:]}\n" for line in rows(100, seed=1).splitlines()))
    time.sleep(1.0)
    process.send_signal(number)
    status, out, err = ended(process)
    assert status == code, err
    first = json.loads(out)
    assert first["stopped_by"] == number.name
    assert newest(folder)["progress"]["counts"]["records"] == first["records"] == predicted(to)
    with data.open("a") as file:
        file.write("".join(f"t{line[1:]}\n" for line in rows(50, seed=2).splitlines()))
    model, alone = tmp_path / "model.llsvm", tmp_path / "alone.llsvm"
    assert told(*arguments(data, *more[:-1], "--save", model))["records"] == 450
    told(*arguments(data, "--save", alone))
    assert model.read_bytes() == alone.read_bytes()
    assert predicted(to) == 450


@pytest.mark.parametrize("command", ["evaluate", "predict", "--help"])
def test_an_early_interrupt_leaves_no_traceback(data: Path, command: str) -> None:
    """Whatever is being imported, compiled or torn down at that moment."""
    code = (
        "import signal, stream_llsvm.cli.main as m; first = signal.signal\n"
        "def handled(*given):\n"
        "  signal.signal = first; first(*given); print('begun', flush=True)\n"
        "signal.signal = handled; m.main()"
    )
    given = [] if command == "--help" else [str(data), "--label", "y"]
    chance = random.Random(command)
    for _ in range(8):
        process = subprocess.Popen(
            [sys.executable, "-c", code, command, *given],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        )
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        time.sleep(chance.uniform(0.0, 0.6))
        process.send_signal(signal.SIGINT)
        status, _, err = ended(process)
        assert "Traceback" not in err
        assert "Error" not in err
        # It may have ended before; while Python shuts down the signal itself ends it.
        assert status in (130, -signal.SIGINT, 0, 2)


def test_a_second_interrupt_leaves_at_once(data: Path) -> None:
    code = (
        "import sys, time; from stream_llsvm.engine.engine import Engine\n"
        "def run(*_):\n  print('running', flush=True)\n  while True: time.sleep(0.1)\n"
        "Engine.run = run  # a batch that takes for ever\n"
        "from stream_llsvm.cli.main import main; main()"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments(data))],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "running\n"
    process.send_signal(signal.SIGINT)
    time.sleep(0.5)
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    status, _, err = ended(process)
    assert status == -signal.SIGINT  # which a shell shows as 130
    assert err == "stopping after this batch; Ctrl-C again leaves at once\n"


def test_killed_again_and_again_the_model_is_the_same_to_the_bit(tmp_path: Path) -> None:
    data, folder = csv_file(tmp_path / "data.csv", 50_000), tmp_path / "kept"
    to = tmp_path / "out.jsonl"
    more = ["--checkpoints", folder, "--to", to, "--every", 0, "--max-batch", 200]
    chance, killed = random.Random(7), 0
    while killed < 3:  # tests/engine kills more often; here is the command around it
        size = to.stat().st_size if to.exists() else 0
        process = started(*arguments(data, *more))
        wait_for(partial(grown, to, size))  # it is learning
        time.sleep(chance.uniform(0.0, 0.1))
        process.kill()
        status, _, err = ended(process)
        assert status == -signal.SIGKILL, f"it had finished before it was killed: {err}"
        killed += 1
    assert 0 < newest(folder)["progress"]["counts"]["records"] < 50_000
    model, alone = tmp_path / "model.llsvm", tmp_path / "alone.llsvm"
    result = run(*arguments(data, *more, "--every", 3600, "--save", model))
    assert result.exit_code == 0, result.output
    report = told(*arguments(data, "--save", alone, "--to", tmp_path / "alone.jsonl"))
    assert report["learned"] == 50_000
    assert model.read_bytes() == alone.read_bytes()
    assert predictions(to) == predictions(tmp_path / "alone.jsonl")
