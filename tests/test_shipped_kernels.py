"""A wheel brings its kernels along: installed, nothing is compiled, and models are the same."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
#: Of these learners the wheel here has kernels; of all, the one that is given away.
SHIPPED = ("CommitteeClassifier", "AdditiveSVMClassifier")

#: Learns, and prints a digest of what is learned and which functions had to be compiled.
LEARNS = """
import hashlib, sys
import numpy as np
from numba.core import event
compiled = []

class Listener(event.Listener):
    def on_start(self, one):
        compiled.append(one.data["dispatcher"].py_func.__qualname__)
    def on_end(self, one):
        pass

event.register("numba:compile", Listener())
import stream_llsvm
rng = np.random.default_rng(0)
x = np.round(rng.normal(size=(400, 6)), 3)
y = (x[:, 0] * x[:, 1] > 0).astype(int)
model = getattr(stream_llsvm, sys.argv[1])()
for row, label in zip(x[:100].tolist(), y.tolist()):
    record = dict(enumerate(row))
    model.predict_one(record)
    model.learn_one(record, label)
model.learn_many(x[100:], y[100:])
print(hashlib.blake2b(model._state.state.tobytes(), digest_size=16).hexdigest())
print(stream_llsvm.__file__)
print(*compiled)
"""


def _python(*arguments: str | Path, **env: str | Path) -> list[str]:
    """Run Python, and return the lines that it prints."""
    done = subprocess.run(
        [sys.executable, *map(str, arguments)],
        cwd=tempfile.gettempdir(),  # `python -c` looks there first
        env=os.environ | {name: str(value) for name, value in env.items()},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build a wheel as `make wheel` does; what this checkout has compiled already is used."""
    pytest.importorskip("build", reason="comes with the extra 'test'")
    copy = tmp_path_factory.mktemp("copy") / "stream_llsvm"
    unwanted = shutil.ignore_patterns(".*", "build", "dist", "*.egg-info", "shipped", "*.pyc")
    shutil.copytree(ROOT, copy, symlinks=True, ignore=unwanted)
    tool = copy / "tools" / "compile_kernels.py"
    said = _python(tool, "--ship", *SHIPPED, PYTHONPATH=copy)
    assert "kernels for" in said[-1] and str(copy) in said[-1]
    _python("-m", "build", "--wheel", "--no-isolation", "--outdir", copy / "dist", copy)
    (built,) = (copy / "dist").glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install it into a folder of its own: pip looks whether it is one for this machine."""
    folder = tmp_path_factory.mktemp("installed")
    pip = ("-m", "pip", "--disable-pip-version-check", "--quiet", "install", "--no-deps")
    _python(*pip, "--no-index", "--target", folder, wheel)
    return folder


def test_the_wheel_says_for_whom_it_is(wheel: Path) -> None:
    version, python, interface, system = wheel.name.removesuffix(".whl").split("-")[1:]
    assert version[0].isdigit()
    assert (python, interface) == (f"cp{sys.version_info[0]}{sys.version_info[1]}", "none")
    assert system != "any" and not system.startswith("linux")


@pytest.mark.parametrize("name", SHIPPED)
def test_nothing_is_compiled_where_it_is_installed(
    installed: Path, tmp_path: Path, name: str
) -> None:
    empty = {"STREAM_LLSVM_CACHE": tmp_path / "empty", "HOME": tmp_path}
    digest, where, *compiled = _python("-c", LEARNS, name, PYTHONPATH=installed, **empty)
    assert Path(where).is_relative_to(installed)
    assert compiled == [""]
    assert not list(tmp_path.rglob("*.nb?"))
    # The checkout loads what it compiled itself at another time, for which it has had its own way.
    expected, here, *_ = _python("-c", LEARNS, name, PYTHONPATH=ROOT)
    assert Path(here).is_relative_to(ROOT)
    assert digest == expected


def test_a_process_that_compiles_learns_the_same(installed: Path, tmp_path: Path) -> None:
    name, empty = "AdditiveSVMClassifier", {"STREAM_LLSVM_CACHE": tmp_path / "empty"}
    digest, _, *_ = _python("-c", LEARNS, name, PYTHONPATH=installed, **empty)
    own, _, compiled = _python("-c", LEARNS, name, PYTHONPATH=ROOT, **empty)
    assert "run" in compiled.split()
    assert own == digest


@pytest.mark.parametrize("change", ["source", "python", "numba", "processor"])
def test_kernels_that_do_not_fit_are_left_aside(
    installed: Path, tmp_path: Path, change: str
) -> None:
    """Then one is compiled: slower, and never wrong."""
    folder = tmp_path / "stream_llsvm"
    shutil.copytree(installed / "stream_llsvm", folder)
    before, env = "", {"STREAM_LLSVM_CACHE": tmp_path / "empty", "PYTHONPATH": tmp_path}
    ready = (
        "from stream_llsvm.kernels.cache import is_ready\n"
        "from stream_llsvm.members.prior.kernel import run\n"
        "print(is_ready(run))"
    )
    assert _python("-c", ready, **env) == ["True"]
    if change == "source":
        with (folder / "kernels" / "mixer.py").open("a") as file:
            file.write("# another line\n")
    elif change == "python":
        before = "import sys; sys.version_info = (3, 99, 0, 'final', 0)\n"
        before = f"import numba.core.caching, numpy\n{before}"
    elif change == "numba":
        before = "import numba; numba.__version__ = '0.99.0'\n"
    else:
        env["STREAM_LLSVM_CPU"] = Path("native")
    assert _python("-c", before + ready, **env) == ["False"]


def test_other_ends_of_lines_are_the_same_sources(installed: Path, tmp_path: Path) -> None:
    folder = tmp_path / "stream_llsvm"
    shutil.copytree(installed / "stream_llsvm", folder)
    for source in (*(folder / "kernels").rglob("*.py"), *(folder / "members").rglob("*.py")):
        source.write_bytes(source.read_bytes().replace(b"\n", b"\r\n"))
    learns = "import stream_llsvm; stream_llsvm.AdditiveSVMClassifier().learn_one({'a': 1.0}, 1)"
    _python("-c", learns, PYTHONPATH=tmp_path, STREAM_LLSVM_CACHE=tmp_path / "empty")
    assert not list(tmp_path.joinpath("empty").rglob("*.nbc"))
