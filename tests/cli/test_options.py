"""Flags are made of what `SECTIONS` declares: one declaration is all that an option needs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from stream_llsvm.cli import demo, evaluate, predict, replay
from stream_llsvm.cli.options import SECTIONS, flags_of_pipeline, places
from stream_llsvm.streams.catalog import STREAMS
from tests.cli.support import ROOT, refused, run, told


def test_every_flag_has_a_help_and_a_place() -> None:
    shown = run("run", "--help").stdout
    for flag, key in flags_of_pipeline().items():
        assert flag in shown
        assert key.help
        assert places(flag)


def test_a_flag_and_a_key_of_the_file_are_one_thing(tmp_path: Path, data: Path) -> None:
    pipeline = tmp_path / "p.toml"
    pipeline.write_text(
        f'[source]\nfrom = "{data}"\nlabel = "y"\nkey = "id"\n'
        "[engine]\nmax_batch = 7\nwindow = 9\n[model]\nclass = 'lcc'\n"
    )
    flags = ["--from", data, "--label", "y", "--key", "id", "--max-batch", 7, "--window", 9]
    by_flags, by_file = told("run", *flags, "--model", "lcc"), told("run", pipeline)
    assert by_flags["scores"] == by_file["scores"]


@pytest.mark.parametrize("command", [evaluate, predict, replay, demo])
def test_columns_mean_the_same_everywhere(command: Any) -> None:
    """What is said in `run --help` of a column's flag is said by each command that takes it."""
    shown = " ".join(run(command.__name__.rpartition(".")[2], "--help").stdout.split())
    for name in ("ignore", "delimiter", "names", "format"):
        key = SECTIONS["source"][name]
        if command is demo and name != "ignore":
            continue
        assert f"{key.flag} {key.kind.metavar}" in shown


def test_plain_words_stand_for_values() -> None:
    for command in ("run", "evaluate", "predict", "replay", "demo", "top", "inspect"):
        shown = run(command, "--help").stdout
        assert "list[str]" not in shown
        assert "range" not in shown
        assert "<int" not in shown and "<float" not in shown


def test_the_demos_streams_are_all_in_its_help() -> None:
    shown = " ".join(run("demo", "--help").stdout.split())
    for name in STREAMS:
        assert name in shown


def completed(*words: str) -> list[str]:
    """Return what bash is offered for the last word."""
    line = ["stream-llsvm", *words]
    done = subprocess.run(
        [sys.executable, "-m", "stream_llsvm.cli"],
        env=os.environ
        | {
            "PYTHONPATH": str(ROOT),
            "_STREAM_LLSVM_COMPLETE": "complete_bash",
            "COMP_WORDS": " ".join(line),
            "COMP_CWORD": str(len(line) - 1),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.split()


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (("run", "--model", "l"), ["l3svm", "lcc", "llsvm", "localsvm", "llsvm-regressor"]),
        (("evaluate", "x.csv", "--models", "lcc,sa"), ["lcc,sapl"]),
        (("evaluate", "x.csv", "--against", "lo"), ["logreg"]),
        (("demo", "--stream", "ph"), ["phishing"]),
        (("run", "--detector", "a"), ["adwin"]),
    ],
)
def test_a_shell_completes_values(words: tuple[str, ...], offered: list[str]) -> None:
    assert completed(*words) == offered


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--checkpoints", "kept", "--every", "-1"], "--every: every must be a number from 0"),
        (["--every", "5"], "--every: give --checkpoints, too"),
        (["--keep", "5", "--every", "5"], "--every, --keep: give --checkpoints, too"),
        (["--max-batch", "0"], "--max-batch: max_batch must be a whole number from 1"),
        (["--detector", "adwn"], "--detector: detector must be one of 'adwin', 'none'"),
        (["--model", "sappl"], 'did you mean "sapl"? There are additive, '),
        (["--model", "sappl"], ", pegasos, sapl, llsvm-regressor, pegasos-regressor\n"),
        (["--model", "llsvm-regressor", "--probabilities", "all"], "LLSVMRegressor learns numbers"),
        (["--model", "pegasosregressor"], 'did you mean "PegasosRegressor"?'),
        (["--option", "members=anchors:1,fers"], "fers"),
    ],
)
def test_a_mistake_names_the_flag(data: Path, given: list[str], said: str) -> None:
    complaint = refused("run", "--from", data, "--label", "y", "--key", "id", *given)
    assert said in complaint
    assert complaint.count("\n") == 1


def test_members_are_named_with_commas(data: Path, tmp_path: Path) -> None:
    given = ["--from", data, "--label", "y", "--key", "id", "--save", tmp_path / "m.llsvm"]
    told("run", *given, "--option", "members=anchors:1,ferns")
    found = told("inspect", tmp_path / "m.llsvm")
    assert [member["name"] for member in found["members"]] == ["anchors:1", "ferns:100"]


def test_the_version_is_shown() -> None:
    import stream_llsvm

    assert run("--version").stdout == f"stream-llsvm {stream_llsvm.__version__}\n"


def test_a_new_option_of_the_engine_is_one_declaration(tmp_path: Path, data: Path) -> None:
    """Beside the parameter of the engine that it is: flag, help, check and file come with it."""
    pipeline = tmp_path / "p.toml"
    pipeline.write_text(f'[source]\nfrom = "{data}"\nlabel = "y"\nkey = "id"\n[engine]\npace = 4\n')
    code = (
        "import sys; from stream_llsvm.cli import options as s\n"
        "s.SECTIONS['engine']['pace'] = s.Key(s.whole_number(1, 9), '--pace', 'How quick it is.')\n"
        "from stream_llsvm.engine import engine as e; made = e.Engine.__init__\n"
        "def taken(self, *given, pace=0, **how): print(pace); made(self, *given, **how)\n"
        "e.Engine.__init__ = taken\n"
        "from stream_llsvm.cli.main import main; main()"
    )

    def said(*given: object) -> str:
        done = subprocess.run(
            [sys.executable, "-c", code, "run", *map(str, given)],
            capture_output=True,
            text=True,
            check=False,
            cwd=ROOT,
        )
        return done.stdout + done.stderr

    flags = ["--from", data, "--label", "y", "--key", "id", "--model", "lcc"]
    assert "--pace N" in said("--help") and "How quick it is." in said("--help")
    assert said(*flags, "--pace", 3).startswith("3\n")
    assert said(pipeline, "--model", "lcc").startswith("4\n")
    assert "--pace: pace must be a whole number from 1 to 9; got 12" in said(*flags, "--pace", 12)


def test_fields_are_held_against_a_file_or_the_first_records(tmp_path: Path) -> None:
    lines = ["x,y", *(f"{i % 7},{i % 2}" for i in range(3_000))]
    moved = ["x,y", *(f"{i % 7 + 50},{i % 2}" for i in range(3_000))]
    (tmp_path / "old.csv").write_text("\n".join(lines))
    (tmp_path / "new.csv").write_text("\n".join(moved))
    flags = ["--from", tmp_path / "new.csv", "--label", "y", "--model", "sapl"]
    against = told("run", *flags, "--reference", tmp_path / "old.csv")
    (field,) = against["input"]["fields"]
    assert (field["name"], round(field["mean_before"])) == ("x", 3)
    assert against["input"]["alarms"] == 1
    assert told("run", *flags, "--reference", "the first 1,000")["input"]["alarms"] == 0
    pipeline = tmp_path / "p.toml"
    source = f'[source]\nfrom = "{tmp_path / "new.csv"}"\nlabel = "y"\n'
    pipeline.write_text(f"{source}[model]\nclass = 'sapl'\n[input]\nwatch = false\n")
    assert told("run", pipeline)["input"] is None
    assert "at least 1000" in refused("run", *flags, "--reference", "first 10")
