"""Kernels that only kernels call become part of them, and nothing else is made of them."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import numpy as np
import pytest
from numba import njit

from stream_llsvm.kernels.compile import inlined, kernel, outlined
from stream_llsvm.kernels.inside_numba import KernelCompiler, processor


@kernel
def third_of(x: Any) -> Any:
    return x / 3


@kernel
def sum_of_thirds(x: Any) -> Any:
    total = 0.0
    for i in range(x.size):
        total += third_of(x[i])
    return total


def asking(x: Any) -> Any:
    return sum_of_thirds(x), third_of(x[0])


asked: Any = njit(pipeline_class=KernelCompiler)(asking)


def test_they_do_what_they_say() -> None:
    total, first = asked(np.array([3.0, 6.0, 9.0]))
    assert total == pytest.approx(6.0)
    assert first == 1.0


@pytest.mark.parametrize("part", [third_of, sum_of_thirds])
def test_only_the_caller_has_machine_code(part: Any) -> None:
    asked(np.zeros(1))
    (made,) = part.overloads.values()
    engine = made.library._codegen._engine
    assert not engine.is_symbol_defined(made.fndesc.llvm_func_name)
    (whole,) = asked.overloads.values()
    assert engine.is_symbol_defined(whole.fndesc.llvm_func_name)


def test_a_kernel_may_be_a_part_of_what_numba_compiles_for_the_very_machine() -> None:
    total, first = njit(asking)(np.array([3.0, 6.0, 9.0]))
    assert (total, first) == (pytest.approx(6.0), 1.0)


@pytest.mark.parametrize("first", [inlined, outlined])
def test_who_is_compiled_first_does_not_decide_what_is_inlined(first: Any) -> None:
    """Numba would hand that choice down to whatever such a kernel calls."""

    @kernel
    def half(x: Any) -> Any:
        return x / 2

    @outlined
    def quarter(x: Any) -> Any:
        return x / 4

    def sum_of_both(x: Any) -> Any:
        return half(x) + quarter(x)

    both = first(sum_of_both)

    @njit(pipeline_class=KernelCompiler)
    def whole(x: Any) -> Any:
        return both(x)

    assert whole(4.0) == 3.0
    for part, inside in ((half, True), (quarter, False)):
        (made,) = part.overloads.values()
        (function,) = (
            one for one in made.library.get_defined_functions() if one.name.startswith("_ZN")
        )
        assert (b"alwaysinline" in b" ".join(function.attributes)) is inside


# ---- the processor

SAYS = "from stream_llsvm.kernels.inside_numba import processor; print(*processor()[1:], sep='|')"


def _processor(before: str = "", **env: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_CPU")}
    kept.pop("STREAM_LLSVM_CPU", None)
    return subprocess.run(
        [sys.executable, "-c", f"{before}\n{SAYS}"],
        env=kept | env,
        capture_output=True,
        text=True,
        check=False,
    )


def test_kernels_are_compiled_for_a_level_and_not_for_this_machine() -> None:
    here = llvm.get_host_cpu_name()
    expected = {"x86_64": "x86-64-v3", "aarch64": "generic"}.get(platform.machine(), here)
    assert _processor().stdout.strip() == f"{expected}|"
    assert _processor(STREAM_LLSVM_CPU="native").stdout.startswith(f"{here}|+")
    assert _processor(NUMBA_CPU_NAME="x86-64", NUMBA_CPU_FEATURES="").stdout == "x86-64|\n"


def test_a_processor_below_the_level_gets_what_it_can_run() -> None:
    old = (
        "import llvmlite.binding as llvm\n"
        "llvm.get_host_cpu_name = lambda: 'nehalem'\n"
        "llvm.get_host_cpu_features = lambda: llvm.targets.FeatureMap({'avx': False})"
    )
    if platform.machine() != "x86_64":
        pytest.skip("there is no lower level")
    assert _processor(old).stdout == "nehalem|-avx\n"


def test_another_choice_is_refused_with_what_there_is() -> None:
    done = _processor(STREAM_LLSVM_CPU="fast")
    assert "STREAM_LLSVM_CPU is 'fast'; it can only be 'native' or not set" in done.stderr


def test_what_else_uses_numba_is_compiled_as_ever() -> None:
    asked(np.zeros(1))
    plain: Any = njit(asking)
    plain(np.zeros(1))
    (made,) = plain.overloads.values()
    assert made.library._codegen.magic_tuple()[1] == llvm.get_host_cpu_name()
    (ours,) = asked.overloads.values()
    assert ours.library._codegen.magic_tuple() == processor()


UNEXPECTED = """
from numba.core import caching
del caching.IndexDataCacheFile._load_index
from stream_llsvm.kernels import inside_numba
assert not inside_numba.AS_EXPECTED
from stream_llsvm.kernels.cache import is_ready
from stream_llsvm.kernels.dispatch import SIGNATURE
from stream_llsvm.members.prior.kernel import run
assert not is_ready(run)
run.compile(SIGNATURE)
assert is_ready(run)
"""


def test_a_numba_that_is_not_as_expected_compiles_in_its_own_way(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", UNEXPECTED],
        env=os.environ | {"STREAM_LLSVM_CACHE": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert not list(tmp_path.rglob("*.nb*"))
