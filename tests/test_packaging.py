"""What a checkout, a source distribution and a wheel hold: the same packages, each file once."""

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
LINK = ROOT / "stream_llsvm" / "connectors"
CONNECTORS = {
    f"stream_llsvm/{file.relative_to(ROOT).as_posix()}" for file in ROOT.glob("connectors/**/*.py")
}
MODULES = CONNECTORS | {
    file.relative_to(ROOT).as_posix()
    for file in (ROOT / "stream_llsvm").rglob("*.py")
    if LINK not in file.parents
}
PAGE = {file.relative_to(ROOT).as_posix() for file in ROOT.glob("stream_llsvm/dashboard/static/*")}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the sdist, and the wheel from it, in a copy of the checkout."""
    pytest.importorskip("build", reason="comes with the extra 'test'")
    copy = tmp_path_factory.mktemp("copy") / "stream_llsvm"
    unwanted = shutil.ignore_patterns(".*", "__pycache__", "build", "dist", "*.egg-info")
    shutil.copytree(ROOT, copy, symlinks=True, ignore=unwanted)
    done = subprocess.run(
        [sys.executable, "-m", "build", "--no-isolation", "--outdir", copy / "dist", copy],
        cwd=copy.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return copy / "dist"


def test_wheel_holds_every_module_once(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    assert len(names) == len(set(names))
    files = {name for name in names if ".dist-info/" not in name}
    assert files == MODULES | PAGE | {"stream_llsvm/py.typed"}
    assert "stream_llsvm/dashboard/static/index.html" in PAGE
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names)


def test_wheel_has_one_top_level_module(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        tops = {name.split("/")[0] for name in archive.namelist()}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"stream_llsvm"}


def test_sdist_holds_connectors_once(built: Path) -> None:
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = [name.partition("/")[2] for name in archive.getnames()]
    expected = sorted(name.removeprefix("stream_llsvm/") for name in CONNECTORS)
    assert sorted(n for n in names if "connectors/" in n and n.endswith(".py")) == expected
    assert "stream_llsvm/py.typed" in names


def test_the_link_is_a_link() -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("only a checkout has the link")
    assert LINK.is_symlink()
    assert os.readlink(LINK) == "../connectors"
    shown = subprocess.run(
        ["git", "ls-files", "--stage", "stream_llsvm/connectors"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    if not shown:
        pytest.skip("the link is not under version control yet")
    assert shown.startswith("120000 ") and len(shown.splitlines()) == 1


def test_connectors_import_from_a_plain_checkout(tmp_path: Path) -> None:
    """No installation, no site-packages entry: the folder alone, found through the path."""
    script = (
        "import pathlib, sys\n"
        "sys.path.insert(0, sys.argv[1])\n"
        "import stream_llsvm.connectors as connectors\n"
        "assert 'connectors' not in sys.modules\n"
        "print(pathlib.Path(connectors.__file__).resolve())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, ROOT],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert Path(done.stdout.strip()) == ROOT / "connectors" / "__init__.py"
