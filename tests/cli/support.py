"""Run the command here, or as a process of its own, on small files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from inspect import signature
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from typer.testing import CliRunner, Result

from stream_llsvm.cli.app import app
from stream_llsvm.model.file import read

# Older runners mix what goes to stderr into stdout unless they are told not to.
_APART: dict[str, Any] = (
    {"mix_stderr": False} if "mix_stderr" in signature(CliRunner).parameters else {}
)
ROOT = Path(__file__).resolve().parents[2]


def run(*arguments: object) -> Result:
    """Run the command in this process."""
    return CliRunner(**_APART).invoke(app, [str(one) for one in arguments])


def told(*arguments: object) -> Any:
    """Run the command, which must not fail, and return the JSON that it prints."""
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def refused(*arguments: object) -> str:
    """Run the command, which must find a mistake; return what it says on stderr."""
    result = run(*arguments)
    assert result.exit_code == 2, result.output
    assert "Traceback" not in result.output
    assert result.stdout == ""
    return result.stderr


def started(
    *arguments: object,
    stdin: Any = subprocess.DEVNULL,
    more: Mapping[str, str] = MappingProxyType({}),
) -> subprocess.Popen[str]:
    """Start the command as a process of its own, with more in its environment."""
    return subprocess.Popen(
        [sys.executable, "-m", "stream_llsvm.cli", *map(str, arguments)],
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT), **more},
    )


def rows(n: int, seed: int = 0) -> str:
    """Return lines of CSV without a header: id, a, b, y."""
    x = np.random.default_rng(seed).normal(size=(n, 2))
    labels = ["up" if a * b > 0 else "down" for a, b in x.tolist()]
    lines = [f"r{i},{x[i, 0]:.4f},{x[i, 1]:.4f},{labels[i]}\n" for i in range(n)]
    return "".join(lines)


def csv_file(path: Path, n: int, seed: int = 0) -> Path:
    """Write a file of so many records."""
    path.write_text("id,a,b,y\n" + rows(n, seed))
    return path


def wait_for(what: Callable[[], Any], timeout: float = 300.0) -> None:
    """Return when something has become true; a process that compiles first takes its time."""
    end = time.monotonic() + timeout
    while not what():
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.02)


def newest(folder: Path) -> dict[str, Any]:
    """Return what the last checkpoint holds."""
    payload: dict[str, Any] = read(max(folder.glob("checkpoint-*.llsvm")))
    return payload


def lines(text: str) -> list[dict[str, Any]]:
    """Return the objects of JSON Lines."""
    return [json.loads(line) for line in text.splitlines()]
