"""Every message about a missing package names a command that installs it from anywhere."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from stream_llsvm.extras import EXTRAS, install_command

ROOT = Path(__file__).resolve().parents[1]
DECLARED = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]


@pytest.mark.parametrize("extra", sorted(set(EXTRAS.values())))
def test_the_command_names_what_pyproject_asks_for(extra: str) -> None:
    named = shlex.split(install_command(extra).partition("pip install")[2])
    # Metadata sorts the bounds of a version.
    assert list(map(Requirement, named)) == list(map(Requirement, DECLARED[extra]))
    assert "stream_llsvm" not in install_command(extra).partition("pip install")[2]


def test_what_was_never_installed_names_the_checkout(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> None:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "requires", absent)
    assert install_command("kafka").endswith(f"pip install '{ROOT}[kafka]'")


def test_pip_stands_alone_where_it_is_this_environments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: str(Path(sys.executable).parent / name))
    assert install_command("zstd").startswith("pip install ")
    monkeypatch.setattr(shutil, "which", lambda name: f"/elsewhere/{name}")
    assert install_command("zstd").startswith(f"{sys.executable} -m pip install ")


def test_no_message_names_the_package_itself() -> None:
    """It is on no index: whoever took its name there would be installed instead."""
    said = subprocess.run(
        ["grep", "-rnE", "pip install '?stream_llsvm", "stream_llsvm", "connectors", "docs"],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    assert said.stdout == ""


def test_the_documentation_needs_no_more_than_its_extra_brings() -> None:
    brought = {Requirement(one).name for one in DECLARED["docs"]}
    names = {"kafka": "kafka-python", "sklearn": "scikit-learn"}
    absent = [module for module in EXTRAS if names.get(module, module) not in brought]
    if not any(Requirement(one).name == "click" for one in metadata.requires("typer") or []):
        absent.append("click")
    pages = "[*commands(), *addresses(), *pipeline_keys()]"
    code = (
        f"import sys; sys.path.insert(0, 'tools'); sys.modules.update(dict.fromkeys({absent}))\n"
        f"from docs_site import *; assert {pages}"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr
