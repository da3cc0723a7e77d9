"""Kernels are called as they may be called."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numba.core.errors import NumbaError

from stream_llsvm.kernels.compile import kernel, member_kernel
from tests.kernels.alone import alone
from tests.test_architecture import files, is_compiled

ROOT = Path(__file__).resolve().parents[2]
COMPILED = [p for _, p in files() if is_compiled(p)] + [ROOT / "tests/members/toy/kernel.py"]


def _inner_kernels() -> dict[str, set[str]]:
    """Return what only kernels may call, by module."""
    found: dict[str, set[str]] = {}
    for path in COMPILED:
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.FunctionDef) and any(
                isinstance(d, ast.Name)
                and d.id in ("kernel", "steady_kernel", "inlined", "outlined")
                for d in node.decorator_list
            ):
                found.setdefault(module, set()).add(node.name)
    return found


def _called(tree: ast.Module, inner: dict[str, set[str]]) -> Iterator[str]:
    """Yield the names under which a file calls kernels."""
    names, modules = set(), {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            for a in node.names:
                if a.name in inner.get(node.module, ()):
                    names.add(a.asname or a.name)
                whole = f"{node.module}.{a.name}"
                if whole in inner:
                    modules[a.asname or a.name] = whole
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        to = node.func
        if isinstance(to, ast.Name) and to.id in names:
            yield to.id
        if isinstance(to, ast.Attribute) and isinstance(to.value, ast.Name):
            module = modules.get(to.value.id)
            if module and to.attr in inner[module]:
                yield f"{module}.{to.attr}"


def test_nobody_calls_a_kernel_from_python_that_only_kernels_may_call() -> None:
    """It would end the process without a word: see ``alone``."""
    inner = _inner_kernels()
    assert "scores_of" in inner["stream_llsvm.kernels.linear"]
    wrong = {}
    for folder in ("stream_llsvm", "tests", "benchmarks", "examples", "tools"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            if path not in COMPILED:
                calls = sorted(set(_called(ast.parse(path.read_text()), inner)))
                if calls:
                    wrong[str(path.relative_to(ROOT))] = calls
    assert not wrong


def test_such_a_call_is_found() -> None:
    inner = _inner_kernels()
    for code in (
        "from stream_llsvm.kernels.linear import scores_of as s\ns(1)",
        "from stream_llsvm.kernels import linear\nlinear.scores_of(1)",
    ):
        assert list(_called(ast.parse(code), inner))


@alone
@kernel
def allocates(x: Any) -> Any:
    return np.zeros(x.size).sum()


@alone
@kernel
def copies(x: Any) -> None:
    x[1:] = x[:-1]


@pytest.mark.parametrize("function", [allocates, copies])
def test_a_kernel_that_would_allocate_does_not_compile(function: Any) -> None:
    """Nobody would give the memory back: references are not counted."""
    with pytest.raises(NumbaError, match=r"NRT required|Only accept returning"):
        function(np.ones(3))


def test_a_member_from_elsewhere_is_compiled_anew_when_its_folder_changes(tmp_path: Path) -> None:
    """Otherwise the machine code of what it was would be run: no file of the package changed."""
    stamps = set()
    for change in range(2):
        source = tmp_path / str(change) / "toy" / "kernel.py"
        source.parent.mkdir(parents=True)
        source.write_text("def run(x):\n    return x\n")
        (source.parent / "steps.py").write_text(f"STEP = {change}\n")
        space: dict[str, Any] = {}
        exec(compile(source.read_text(), str(source), "exec"), space)
        stamps.add(member_kernel(space["run"])._cache._stamp)
    assert len(stamps) == 2
