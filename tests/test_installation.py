"""A wheel installs into an empty environment, with the oldest and the newest that it allows."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
CLIENT = ROOT / "tests" / "installed" / "client.py"
FIVE_LINES = """
import csv, pathlib, stream_llsvm
from stream_llsvm import SAPLClassifier
assert pathlib.Path(stream_llsvm.__file__).is_relative_to(pathlib.Path({folder!r}))
model = SAPLClassifier()
for payment in csv.DictReader(open({payments!r})):
    model.learn_one(payment, payment.pop("fraud"))
print(model.predict_one({{"country": "DE", "device": "android", "amount": 20.0}}))
"""
DOCTEST = """
import doctest
from stream_llsvm.records import times, values
for module in (times, values):
    result = doctest.testmod(module)
    assert result.attempted > 0 and result.failed == 0
"""


def oldest() -> list[str]:
    """Return the requirements of the package and of its command, each at its floor."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [*project["dependencies"], *project["optional-dependencies"]["cli"]]
    return [re.sub(r">=([^,]+).*", r"==\1", one) for one in wanted]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel by way of the source distribution, as a release does."""
    folder = tmp_path_factory.mktemp("dist")
    copy = tmp_path_factory.mktemp("copy") / "stream_llsvm"
    subprocess.run(["git", "clone", "--quiet", "--depth=1", ROOT.as_uri(), copy], check=True)
    subprocess.run(
        [sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, copy],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    (found,) = folder.glob("*.whl")
    return found


@pytest.mark.parametrize("which", ["oldest", "newest"])
def test_it_works_in_an_empty_environment(which: str, wheel: Path, tmp_path: Path) -> None:
    folder = tmp_path / "environment"
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    python = folder / "bin" / "python"
    alone = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}

    def run(*command: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(one) for one in command],
            cwd=tmp_path,
            env=alone,
            capture_output=True,
            text=True,
            check=False,
        )

    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    done = run(*pip, f"{wheel}[cli]", *(oldest() if which == "oldest" else []))
    assert done.returncode == 0, done.stderr

    payments = str(ROOT / "examples" / "payments.csv")
    done = run(python, "-c", FIVE_LINES.format(folder=str(folder), payments=payments))
    assert (done.returncode, done.stdout) == (0, "yes\n"), done.stderr

    done = run(python, "-c", DOCTEST)
    assert done.returncode == 0, done.stderr

    command = folder / "bin" / "stream-llsvm"
    done = run(command, "evaluate", payments, "--label", "fraud", "--models", "sapl", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["models"][0]["accuracy"] > 0.85

    # What is missing is named with a command that works here, and not with a name that a
    # stranger could register.
    done = run(command, "run", "--from", "kafka://localhost:9/x", "--label", "y")
    assert done.returncode == 2
    assert re.search(r"pip install .*'kafka-python[^']*>=3", done.stderr)
    assert "stream_llsvm[" not in done.stderr


def test_types_are_there_for_those_who_check_strictly(tmp_path: Path) -> None:
    (tmp_path / "client.py").write_text(CLIENT.read_text(encoding="utf-8"))
    (tmp_path / "wrong.py").write_text(
        "from stream_llsvm import CommitteeClassifier\nCommitteeClassifier(threads='two')\n"
    )
    (tmp_path / "pyrightconfig.json").write_text(
        json.dumps({"typeCheckingMode": "strict", "extraPaths": [str(ROOT)]})
    )
    path = {"MYPYPATH": str(ROOT)}

    def checked(*command: object) -> tuple[int, str]:
        done = subprocess.run(
            [sys.executable, "-m", *map(str, command)],
            cwd=tmp_path,
            env=os.environ | path,
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout + done.stderr

    for checker in (["mypy", "--strict", "--follow-imports=silent"], ["basedpyright"]):
        code, said = checked(*checker, "client.py")
        assert code == 0, said
        code, said = checked(*checker, "wrong.py")
        assert code == 1, said
        assert "threads" in said or "two" in said or "str" in said
