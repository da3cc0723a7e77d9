"""What a run that cannot write says: what is lost, what is good, and which file it was."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.support import csv_file, refused, run
from tests.cli.test_run import SMALL
from tests.disk import fill, small_disk


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """Return a folder of a disk of a megabyte; without one, files may be no longer than that."""
    with small_disk(tmp_path / "disk") as mounted:
        if mounted is None:
            pytest.skip("a disk cannot be mounted here: only root may")
        yield mounted


def learn(*more: object) -> list[object]:
    return ["run", "--label", "y", "--key", "id", *SMALL, "--json", *more]


def test_a_last_checkpoint_that_fails_is_told_and_costs_the_exit_code(
    tmp_path: Path, disk: Path
) -> None:
    data, folder = csv_file(tmp_path / "data.csv", 400), disk / "kept"
    first = run(*learn("--from", data, "--checkpoints", folder, "--max-records", 100))
    assert first.exit_code == 0
    good = json.loads(first.stdout)["checkpoint"]
    fill(disk)
    result = run(*learn("--from", data, "--checkpoints", folder))
    assert result.exit_code == 1
    told = json.loads(result.stdout)
    assert told["checkpoint"] == good and Path(good).exists()
    assert told["learned"] == 400
    assert told["lost"] == {"records": 300, "why": "No space left on device"}
    (lost,) = told["failed"]
    assert "No space left on device" in lost
    assert "the last 300 records is lost" in lost
    assert f"the newest good one is {good}, at record 100" in lost
    assert lost in result.stderr
    table = run(*[one for one in learn("--from", data, "--checkpoints", folder) if one != "--json"])
    assert table.exit_code == 1
    assert "400" in table.stdout and f"checkpoint {good}" in table.stdout


def test_it_is_not_told_of_when_the_next_one_has_room(tmp_path: Path, disk: Path) -> None:
    data, folder = csv_file(tmp_path / "data.csv", 400), disk / "kept"
    assert run(*learn("--from", data, "--checkpoints", folder, "--max-records", 100)).exit_code == 0
    filler = fill(disk)
    assert run(*learn("--from", data, "--checkpoints", folder)).exit_code == 1
    filler.unlink()
    again = run(*learn("--from", data, "--checkpoints", folder))
    assert again.exit_code == 0
    told = json.loads(again.stdout)
    assert told["failed"] == [] and told["lost"] is None and told["learned"] == 400


def test_predictions_on_a_full_disk_name_their_file(tmp_path: Path, disk: Path) -> None:
    data, to = csv_file(tmp_path / "data.csv", 400), disk / "out.jsonl"
    fill(disk, leave=8_192)
    result = run(*learn("--from", data, "--to", to))
    assert result.exit_code == 1
    assert result.stderr.splitlines()[-1] == (
        f"stream-llsvm: {to} cannot be written: No space left on device"
    )


def test_a_model_that_cannot_be_saved_does_not_cost_the_report(tmp_path: Path, disk: Path) -> None:
    data = csv_file(tmp_path / "data.csv", 400)
    fill(disk)
    result = run(*learn("--from", data, "--save", disk / "m.llsvm"))
    assert result.exit_code == 1
    told = json.loads(result.stdout)
    assert told["learned"] == 400
    expected = f"the model could not be saved: {disk / 'm.llsvm'}: No space left on device"
    assert told["failed"] == [expected]
    assert f"stream-llsvm: {expected}" in result.stderr


def test_a_report_that_cannot_be_written_does_not_cost_the_table(
    tmp_path: Path, disk: Path
) -> None:
    data, page = csv_file(tmp_path / "data.csv", 200), disk / "r.html"
    fill(disk)
    how = ["--label", "y", "--ignore", "id", "--models", "additive", "--report", page]
    result = run("evaluate", data, *how, "--json")
    assert result.exit_code == 1
    assert json.loads(result.stdout)["models"][0]["accuracy"] > 0
    assert f"--report: {page} could not be written: No space left on device" in result.stderr
    assert [one.name for one in disk.iterdir()] == ["fills the disk"]


@pytest.mark.parametrize("flag", ["--save", "--report"])
def test_a_place_that_cannot_be_written_is_refused_before_the_run(
    tmp_path: Path, disk: Path, flag: str
) -> None:
    data = csv_file(tmp_path / "data.csv", 100)
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    place = disk / "file"
    if flag == "--save":
        said = refused("run", "--from", data, "--label", "y", "--ignore", "id", flag, place)
    else:
        said = refused("evaluate", data, "--label", "y", "--ignore", "id", flag, place)
    assert said == f"stream-llsvm: {flag}: {place} cannot be written: Read-only file system\n"


SHORT = """
import resource, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv.pop(1)), resource.RLIM_INFINITY))
sys.argv[0] = "stream-llsvm"
from stream_llsvm.cli.main import main
main()
"""


def short(most: int, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run the command where no file may be longer: what is done where no disk can be mounted."""
    command = [sys.executable, "-c", SHORT, str(most), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_predictions_that_may_not_grow_name_their_file(tmp_path: Path) -> None:
    data, to = csv_file(tmp_path / "data.csv", 400), tmp_path / "out.jsonl"
    done = short(2_000, *learn("--from", data, "--to", to))
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == f"stream-llsvm: {to} cannot be written: File too large"


def test_a_last_checkpoint_that_may_not_grow_is_told(tmp_path: Path) -> None:
    """The first one, of a model that has learned nothing, is shorter than the last."""
    data, folder = csv_file(tmp_path / "data.csv", 400), tmp_path / "kept"
    assert run(*learn("--from", data, "--checkpoints", tmp_path / "whole")).exit_code == 0
    first, last = (path.stat().st_size for path in sorted((tmp_path / "whole").glob("*.llsvm")))
    assert first < last
    done = short((first + last) // 2, *learn("--from", data, "--checkpoints", folder))
    assert done.returncode == 1
    told = json.loads(done.stdout)
    good = folder / "checkpoint-0000000001.llsvm"
    assert told["checkpoint"] == str(good) and good.exists()
    assert told["lost"] == {"records": 400, "why": "File too large"}
    assert f"the newest good one is {good}, at record 0" in done.stderr
