"""Dependencies point one way, importing stays cheap, and models are plain data."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest
from numba.core.dispatcher import Dispatcher

from tests.learners.number_support import KINDS
from tests.learners.support import ALL_LEARNERS

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "stream_llsvm"

# What each part may import of the package, besides itself. A file at the top is a part.
MAY_IMPORT: dict[str, set[str]] = {
    "version": set(),
    "extras": set(),
    "limits": set(),
    "options": set(),
    "locks": set(),
    "kernels": set(),
    "records": {"kernels"},
    "members": {"kernels"},
    "model": {"kernels", "locks", "members", "options", "records", "version"},
    "feature_maps": {"kernels", "locks", "options", "records"},
    "optimum": {"kernels", "options"},
    "learners": {
        "removed",
        "feature_maps",
        "kernels",
        "locks",
        "members",
        "model",
        "optimum",
        "options",
        "records",
        "version",
    },
    "reference": {"kernels", "learners", "members", "optimum", "records"},
    "sklearn": {"extras", "learners", "model", "options", "records"},
    "connectors": {"extras", "kernels", "options", "records"},
    "engine": {
        "connectors",
        "kernels",
        "learners",
        "limits",
        "model",
        "records",
        "version",
    },
    "removed": set(),
    "cluster": {
        "connectors",
        "engine",
        "extras",
        "kernels",
        "learners",
        "members",
        "model",
        "options",
        "records",
        "version",
    },
    "dashboard": {
        "connectors",
        "engine",
        "kernels",
        "learners",
        "model",
        "records",
        "version",
    },
    "streams": {"connectors", "records"},
    "client": set(),
    "serve": {"connectors", "dashboard", "engine", "limits", "records", "version"},
    "cli": {
        "removed",
        "cluster",
        "connectors",
        "dashboard",
        "engine",
        "extras",
        "learners",
        "model",
        "options",
        "records",
        "serve",
        "streams",
        "version",
    },
    "__init__": {"version", "engine", "feature_maps", "learners", "model"},
}
#: A member's files that kernels know nothing of.
PYTHON_SIDE = ("__init__.py", "member.py", "merge.py")
BANNED = ("pandas", "polars", "pyarrow", "sklearn", "scipy", "matplotlib", "rich", "capymoa")
SERVERS = ("http.server", "aiohttp", "starlette", "uvicorn", "fastapi", "flask", "tornado")


def files() -> Iterator[tuple[str, Path]]:
    for path in sorted(PACKAGE.rglob("*.py")):
        inside = path.relative_to(PACKAGE)
        yield inside.parts[0].removesuffix(".py"), path


def imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            if node.module == "stream_llsvm":
                yield from (f"stream_llsvm.{alias.name}" for alias in node.names)
            else:
                yield node.module or ""
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def test_every_part_is_in_the_table() -> None:
    assert {part for part, _ in files()} <= set(MAY_IMPORT)


@pytest.mark.parametrize("part", MAY_IMPORT)
def test_dependencies_point_one_way(part: str) -> None:
    for own, path in files():
        if own != part:
            continue
        for name in imports(path):
            if name.startswith("stream_llsvm."):
                other = name.split(".")[1]
                assert other == part or other in MAY_IMPORT[part], f"{path} imports {name}"


SYSTEMS = sorted(path.parent.name for path in (ROOT / "connectors").glob("*/__init__.py"))


@pytest.mark.parametrize("folder", SYSTEMS)
def test_a_system_knows_no_other(folder: str) -> None:
    """A connector's folder imports what all share, and the loops in `flat` nothing of it."""
    here = f"stream_llsvm.connectors.{folder}."
    for path in sorted((ROOT / "connectors" / folder).glob("*.py")):
        for name in imports(path):
            if not name.startswith("stream_llsvm.connectors.") or name.startswith(here):
                continue
            rest = name.removeprefix("stream_llsvm.connectors.")
            shared = "." not in rest or rest.startswith("flat.")
            assert shared and folder != "flat", f"{path} imports {name}"


def test_the_table_has_no_circle() -> None:
    left = dict(MAY_IMPORT)
    while left:
        free = {part for part, needs in left.items() if not needs & set(left)}
        assert free, f"these depend on each other: {sorted(left)}"
        left = {part: needs for part, needs in left.items() if part not in free}


def is_compiled(path: Path) -> bool:
    """Whether a file is a kernel's: all in kernels/, and in a member's folder all but its face."""
    room, *rest = path.relative_to(PACKAGE).parts
    return room == "kernels" or (
        room == "members" and len(rest) > 1 and rest[-1] not in PYTHON_SIDE
    )


def test_kernels_need_only_numpy_and_numba() -> None:
    compiled = [path for _, path in files() if is_compiled(path)]
    assert len(compiled) > 50
    modules = {
        "stream_llsvm." + ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
        for path in compiled
    }
    for path in compiled:
        for name in imports(path):
            whole = name.split(".")[0]
            known = whole in ("numpy", "numba", "llvmlite") or whole in sys.stdlib_module_names
            ours = any(name == one or one.startswith(f"{name}.") for one in modules)
            assert known or ours, f"{path} imports {name}"


def test_each_file_does_one_job() -> None:
    """About 150 lines are meant; this is where a file has become two."""
    long = {p.name: n for _, p in files() if (n := len(p.read_text().splitlines())) > 500}
    assert not long


def loaded_by(statement: str) -> set[str]:
    code = f"import sys; {statement}; print(*sys.modules)"
    told = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )
    return set(told.stdout.split())


def test_importing_brings_no_more_than_it_must() -> None:
    base = loaded_by("import river.base, numpy, numba, msgpack, narwhals.stable.v2")
    extra = loaded_by("from stream_llsvm import *") - base
    for module in extra:
        assert module.split(".")[0] not in BANNED, f"import stream_llsvm imports {module}"
        assert module not in SERVERS
        # What a connector is, but no connector.
        room, _, file = module.rpartition(".")
        assert room != "stream_llsvm.connectors" or file in ("base", "ownership")


def parts_of(value: Any, seen: set[int]) -> Iterator[Any]:
    """Yield everything that an object holds, however deep."""
    if id(value) in seen or isinstance(value, type | str | bytes | int | float):
        return
    seen.add(id(value))
    yield value
    inside: list[Any] = []
    if isinstance(value, dict):
        inside = [*value.keys(), *value.values()]
    elif isinstance(value, list | tuple | set | frozenset):
        inside = list(value)
    elif not isinstance(value, np.ndarray):
        inside = list(getattr(value, "__dict__", {}).values())
        for kind in type(value).__mro__:
            inside += [getattr(value, n, None) for n in getattr(kind, "__slots__", ())]
    for one in inside:
        yield from parts_of(one, seen)


@pytest.mark.parametrize("kind", [*ALL_LEARNERS, *KINDS])
def test_a_model_is_plain_data(kind: Any) -> None:
    """Nothing compiled is stored on a model: it can be pickled, cloned and copied."""
    model = kind()
    for i in range(30):
        model.learn_one({"a": float(i % 7), "b": 1.0}, i % 3)
        model.predict_one({"a": 1.0, "b": 0.0})
    found = list(parts_of(model, set()))
    assert any(value is model._state for value in found)
    assert any(isinstance(value, np.ndarray) for value in found)
    for value in found:
        assert not isinstance(value, Dispatcher)
        assert not isinstance(value, numba.typed.Dict | numba.typed.List)
        assert not type(value).__module__.startswith("numba")
