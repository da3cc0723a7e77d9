"""Optional dependencies: to which extra a module belongs, and the command that installs it.

The command names the requirements themselves, as the installed metadata lists them. It works from
a checkout, a wheel and a container alike, and no package that a stranger could register is named.
"""

from __future__ import annotations

import re
import shlex
import shutil
import sys
from pathlib import Path

#: What is imported, and the extra in pyproject.toml that brings it.
EXTRAS = {
    "typer": "cli",
    "rich": "cli",
    "kafka": "kafka",
    "crc32c": "kafka",
    "starlette": "dashboard",
    "uvicorn": "dashboard",
    "httptools": "serve",
    "uvloop": "serve",
    "pyarrow": "parquet",
    "zstandard": "zstd",
    "sklearn": "sklearn",
    "ray": "cluster",
    "lmdb": "keyed",
}
_ROOT = Path(__file__).resolve().parents[1]


def install_command(extra: str) -> str:
    """Return the command that installs an extra into the environment that runs.

    Parameters
    ----------
    extra
        Its name, such as ``"kafka"``.

    Examples
    --------
    >>> install_command("zstd").endswith("pip install 'zstandard>=0.22'")
    True

    """
    python = "" if _is_on_the_path() else f"{shlex.quote(sys.executable)} -m "
    return f"{python}pip install {' '.join(map(shlex.quote, _requirements(extra)))}"


def install_hint(error: ModuleNotFoundError) -> str | None:
    """Return what to do about a module that is missing, None if no extra brings it.

    Parameters
    ----------
    error
        What the import raised.

    Examples
    --------
    >>> print(install_hint(ModuleNotFoundError("No module named 'kafka'", name="kafka")))
    kafka is not installed: ...pip install 'kafka-python...
    >>> install_hint(ModuleNotFoundError("No module named 'nothing'", name="nothing")) is None
    True

    """
    module = (error.name or "").partition(".")[0]
    if module not in EXTRAS:
        return None
    return f"{module} is not installed: {install_command(EXTRAS[module])}"


def _is_on_the_path() -> bool:
    """Whether a bare ``pip`` is that of the environment that runs."""
    pip = shutil.which("pip")
    return pip is not None and Path(pip).parent == Path(sys.executable).parent


def _requirements(extra: str) -> list[str]:
    """Return the extra's requirements; the checkout with the extra if it was never installed."""
    from importlib import metadata  # late: it brings much with it

    try:
        listed = metadata.requires("stream_llsvm") or []
    except metadata.PackageNotFoundError:
        listed = []
    marked = re.compile(rf"""^(.*?)\s*;.*\bextra\s*==\s*['"]{extra}['"]""")
    found = [match[1].strip("()") for one in listed if (match := marked.match(one))]
    return [one.replace(" ", "") for one in found] or [f"{_ROOT}[{extra}]"]
