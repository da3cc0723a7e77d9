"""The help teaches by example, and comes without what the commands need."""

from __future__ import annotations

import subprocess
import sys

import pytest

from stream_llsvm.cli.app import COMMANDS
from stream_llsvm.extras import install_command
from tests.cli.support import ROOT, refused, run


def test_the_command_alone_shows_its_help() -> None:
    result = run()
    assert result.exit_code == 0
    for command in COMMANDS:
        assert command in result.stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_each_help_has_an_example(command: str) -> None:
    result = run(command, "--help")
    assert result.exit_code == 0
    assert f"Example: stream-llsvm {command} " in " ".join(result.stdout.split())


def test_the_help_shows_a_command_that_works(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    example = run("--help").stdout.partition("Example: ")[2].split()
    result = run(*example[1:], "--max-records", 20)
    assert result.exit_code == 0, result.output


def test_completion_is_offered() -> None:
    assert "--install-completion" in run("--help").stdout


SYSTEMS = {path.parent.name for path in (ROOT / "connectors").glob("*/connector.py")}


@pytest.mark.parametrize("arguments", [["--help"], *([name, "--help"] for name in COMMANDS)])
def test_help_brings_in_no_more_than_it_must(arguments: list[str]) -> None:
    code = (
        "import sys, stream_llsvm; before = set(sys.modules)\n"
        "from stream_llsvm.cli.app import app; from typer.testing import CliRunner\n"
        f"CliRunner().invoke(app, {arguments})\n"
        "print(*(set(sys.modules) - before))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )
    for name in done.stdout.split():
        if arguments == ["--help"]:  # no command, and no connector
            assert not name.startswith("stream_llsvm.connectors")
            assert name not in [f"stream_llsvm.cli.{one}" for one in COMMANDS]
        assert name.split(".")[0] not in ("pandas", "pyarrow", "kafka", "sklearn", "scipy"), name
        assert name.split(".")[0] not in ("numpy", "numba", "river"), name
        # Of connectors what options they have, and nothing that reads or writes.
        here, _, file = name.rpartition(".")
        assert not here.startswith("stream_llsvm.connectors") or file in (
            "registry", "keys", "connector", *SYSTEMS,
        )  # fmt: skip


def test_a_command_that_is_none_is_looked_up() -> None:
    first = ", ".join(list(COMMANDS)[:7])
    said = 'unknown command "evaluat": did you mean "evaluate"? '
    said += f"There are {first} and {len(COMMANDS) - 7} more"
    assert refused("evaluat", "x.csv") == f"stream-llsvm: {said}\n"


@pytest.mark.parametrize("absent", ["typer", "rich"])
def test_without_the_extra_one_line_says_what_to_install(absent: str) -> None:
    without = f"import sys; sys.modules[{absent!r}] = None"
    code = f"{without}; from stream_llsvm.cli.main import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert done.returncode == 2
    assert done.stderr == f"stream-llsvm: {absent} is not installed: {install_command('cli')}\n"


@pytest.mark.parametrize(
    "arguments",
    [
        ["replay", "examples/bananas.csv", "--to", "kafka://localhost:1/x"],
        ["run", "--from", "kafka://localhost:1/x", "--label", "y"],
        ["run", "--from", "examples/bananas.csv", "--label", "y", "--to", "kafka://localhost:1/x"],
    ],
)
def test_without_kafka_one_line_says_what_to_install(arguments: list[str]) -> None:
    code = "import sys; sys.modules['kafka'] = None; from stream_llsvm.cli.main import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    assert done.returncode == 2
    assert done.stderr.endswith(f"{install_command('kafka')}\n")
    assert done.stderr.count("\n") == 1
