"""Kernels are kept where they can be, and run where they cannot."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from stream_llsvm.kernels.folders import VARIABLE

ROOT = Path(__file__).resolve().parents[2]

#: Compiles one small function, and says whether it was kept already.
ONE = """
from pathlib import Path

from stream_llsvm.kernels.cache import is_ready, kept
from stream_llsvm.kernels.folders import places

def double(x):
    return 2 * x

compiled = kept(double, Path(__file__))
ready = is_ready(compiled)
assert compiled(3) == 6
print(ready, places().written, *places().refused, sep="|")
"""
#: A process on another processor: its name, and what it can do of what this one can.
ELSEWHERE = """
import runpy, sys
import llvmlite.binding as llvm
name, without = sys.argv[2:]
here = llvm.get_host_cpu_features()
there = {one: has and not one.startswith(without) for one, has in here.items()}
llvm.get_host_cpu_name = lambda: name
llvm.get_host_cpu_features = lambda: llvm.targets.FeatureMap(there)
runpy.run_path(sys.argv[1])
"""
COMMAND = "from stream_llsvm.cli.main import main; main()"


class Machine:
    """A user's folders, and processes that see no others and obey the modes of files."""

    def __init__(self, folder: Path) -> None:
        self.home, self.temporary = folder / "home", folder / "tmp"
        self.packages = folder / "packages"
        for one in (self.home, self.temporary, self.packages):
            one.mkdir()
        (self.packages / "one.py").write_text(ONE)
        self.env = {
            "HOME": str(self.home),
            "TMPDIR": str(self.temporary),
            "PYTHONPATH": str(self.packages),
            "PATH": os.environ["PATH"],
            "PYTHONDONTWRITEBYTECODE": "1",
        }

    def install(self) -> None:
        """Copy the package, without what was compiled of it."""
        shutil.copytree(
            ROOT / "stream_llsvm",
            self.packages / "stream_llsvm",
            ignore=shutil.ignore_patterns("__pycache__", "static"),
        )

    def seal(self, *folders: Path) -> None:
        """Let nothing be written there."""
        for folder in folders:
            for one in (folder, *folder.rglob("*")):
                if one.is_dir():
                    one.chmod(0o555)

    def run(self, *arguments: str, **env: str | Path) -> subprocess.CompletedProcess[str]:
        """Run Python."""
        command = [sys.executable, *arguments]
        if os.geteuid() == 0:  # who may otherwise write anywhere
            command = ["setpriv", "--bounding-set=-dac_override,-dac_read_search", *command]
        return subprocess.run(
            command,
            cwd=self.home,
            env=self.env | {name: str(value) for name, value in env.items()},
            capture_output=True,
            text=True,
            check=False,
        )

    def says(self, *how: str, **env: str | Path) -> list[str]:
        """Return what ``ONE`` prints: whether it was ready, where it is kept, and who refused."""
        done = self.run(*how, str(self.packages / "one.py"), **env)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip().split("|")


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    if os.name == "nt" or (os.geteuid() == 0 and shutil.which("setpriv") is None):
        pytest.skip("nothing refuses to be written here")
    one = Machine(tmp_path)
    one.install()
    return one


def test_nothing_is_left_to_numbas_own_cache() -> None:
    """It would end the program where it finds no folder."""
    for folder in ("stream_llsvm", "connectors"):
        for source in (ROOT / folder).rglob("*.py"):
            assert "cache=True" not in source.read_text(encoding="utf-8"), source


def test_they_are_kept_beside_the_sources(machine: Machine) -> None:
    beside = str(machine.packages / "stream_llsvm" / "kernels" / "__pycache__")
    assert machine.says() == ["False", beside]
    assert machine.says() == ["True", beside]
    assert any((machine.packages / "__pycache__").glob("one.double-*.nbc"))


def test_next_comes_the_user_and_then_the_temporary_folder(machine: Machine) -> None:
    machine.seal(machine.packages)
    users = machine.home / ".cache" / "stream_llsvm"
    ready, folder, refused = machine.says()
    assert (ready, folder) == ("False", str(users))
    assert refused.startswith(str(machine.packages)) and refused.endswith("(Permission denied)")
    assert machine.says()[:2] == ["True", str(users)]
    shutil.rmtree(machine.home / ".cache")
    machine.seal(machine.home)
    temporary = str(machine.temporary / f"stream_llsvm-{os.geteuid()}")
    for ready in ("False", "True"):
        assert machine.says()[:2] == [ready, temporary]
    assert len(machine.says()) == 4


def test_a_folder_that_others_may_write_is_neither_read_nor_written(machine: Machine) -> None:
    """What is kept there would be run."""
    machine.seal(machine.packages, machine.home)
    assert machine.says()[0] == "False"
    temporary = machine.temporary / f"stream_llsvm-{os.geteuid()}"
    temporary.chmod(0o777)
    ready, folder, *refused = machine.says()
    assert (ready, folder) == ("False", "None")
    assert refused[-1] == f"{temporary} (others may write there)"


@pytest.mark.parametrize("name", [VARIABLE, "NUMBA_CACHE_DIR"])
@pytest.mark.parametrize("inside", [False, True])
def test_nor_is_one_that_is_named(machine: Machine, name: str, inside: bool) -> None:
    named = machine.home / "named"
    assert machine.says(**{name: named})[:2] == ["False", str(named)]
    (own,) = named.iterdir()
    (own if inside else named).chmod(0o777)
    ready, folder, refused = machine.says(**{name: named})
    assert ready == "False" and not folder.startswith(str(named))
    assert refused == f"{named} (others may write there)"


@pytest.mark.parametrize("name", [VARIABLE, "NUMBA_CACHE_DIR"])
def test_a_folder_that_is_named_comes_first(machine: Machine, name: str) -> None:
    named = machine.home / "named" / "here"
    env: dict[str, str | Path] = {"NUMBA_CACHE_DIR": machine.home / "second", name: named}
    for ready in ("False", "True"):
        assert machine.says(**env) == [ready, str(named)]


def test_one_that_is_no_folder_is_passed_over(machine: Machine) -> None:
    file = machine.home / "file"
    file.write_text("")
    env: dict[str, str | Path] = {VARIABLE: file, "NUMBA_CACHE_DIR": machine.home / "second"}
    ready, folder, refused = machine.says(**env)
    assert (ready, folder) == ("False", str(machine.home / "second"))
    assert refused.startswith(f"{file} (")


def test_kernels_in_an_image_are_used_although_it_cannot_be_written(machine: Machine) -> None:
    image = machine.home / "image"
    machine.says(**{VARIABLE: image})
    machine.seal(machine.packages, machine.home)
    ready, folder, *refused = machine.says(**{VARIABLE: image})
    assert ready == "True"
    assert folder.startswith(str(machine.temporary)) and refused[0].startswith(str(image))


def test_what_cannot_be_kept_in_the_end_still_runs(machine: Machine) -> None:
    named = machine.home / "named"
    machine.says(**{VARIABLE: named})
    (own,) = named.iterdir()
    for file in own.iterdir():
        file.unlink()
    machine.seal(own)
    done = machine.run(str(machine.packages / "one.py"), **{VARIABLE: named})
    assert done.returncode == 0
    assert done.stderr.count(f"a compiled kernel cannot be kept in {own} (Permission denied)") == 1


def test_a_changed_source_is_compiled_again(machine: Machine) -> None:
    machine.says()
    file = machine.packages / "one.py"
    file.write_text(ONE.replace("2 * x", "x + x"))
    assert machine.says()[0] == "False"


def test_what_was_not_written_to_its_end_is_compiled_again(machine: Machine) -> None:
    named = machine.home / "named"
    machine.says(**{VARIABLE: named})
    for file in named.rglob("*.nb?"):
        file.write_bytes(file.read_bytes()[:40])
    assert machine.says(**{VARIABLE: named})[0] == "False"
    assert machine.says(**{VARIABLE: named})[0] == "True"


def test_the_command_runs_where_nothing_of_its_own_can_be_written(machine: Machine) -> None:
    """A container with a read-only root: all it has is a place for temporary files."""
    pytest.importorskip("typer", reason="comes with the extra 'cli'")
    data = machine.home / "data.csv"
    data.write_text("a,b,y\n" + "".join(f"{i % 7},{i % 5},{i % 2}\n" for i in range(50)))
    machine.seal(machine.packages, machine.home)
    flags = ("evaluate", str(data), "--label", "y", "--models", "additive")
    first, second = (machine.run("-c", COMMAND, *flags) for _ in range(2))
    assert first.returncode == second.returncode == 0, first.stderr
    assert "additive" in first.stdout
    said, where, *rest = first.stderr.splitlines()
    assert second.stderr.splitlines() == rest
    assert said == "stream_llsvm: compiling kernels, once on this machine"
    temporary = machine.temporary / f"stream_llsvm-{os.geteuid()}"
    assert where.startswith(f"stream_llsvm: kernels are kept in {temporary}; these cannot take")
    for refused in (machine.packages, machine.home / ".cache"):
        assert f"{refused}" in where
    assert where.endswith(f"{VARIABLE} names another one")


def test_an_image_compiles_all_that_a_run_needs(machine: Machine) -> None:
    pytest.importorskip("typer", reason="comes with the extra 'cli'")
    image = {VARIABLE: machine.home / "image"}
    done = machine.run(str(ROOT / "tools/compile_kernels.py"), "PegasosClassifier", **image)
    assert done.returncode == 0, done.stderr
    files = (machine.home / "image").rglob("*.nbc")
    assert {"read_csv", "read_json", "locate"} <= {re.split("[.-]", one.name)[1] for one in files}
    data = machine.home / "data.csv"
    data.write_text("a,b,y\n" + "".join(f"{i % 7},{i % 5},{i % 2}\n" for i in range(2_000)))
    machine.seal(machine.packages, machine.home)
    flags = ("run", "--from", str(data), "--label", "y", "--model", "pegasos", "--json")
    done = machine.run("-c", COMMAND, *flags, **image)
    assert done.returncode == 0, done.stderr
    assert '"records": 2000' in done.stdout
    assert "compiling" not in done.stderr
    assert not list(machine.temporary.rglob("*.nbc"))


# ---- on another processor


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="has several levels")
def test_kernels_are_those_of_every_processor_of_a_level(machine: Machine) -> None:
    def ready_on(name: str, without: str) -> str:
        done = machine.run("-c", ELSEWHERE, str(machine.packages / "one.py"), name, without)
        assert done.returncode == 0, done.stderr
        return done.stdout.split("|")[0]

    assert machine.says()[0] == "False"
    assert machine.says(STREAM_LLSVM_CPU="native")[0] == "False"
    assert ready_on("haswell", "avx512") == "True"
    assert ready_on("nehalem", "avx") == "False"
