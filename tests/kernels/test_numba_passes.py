"""Kernels compile to what numba itself would make of them, by fewer passes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from llvmlite import ir
from numba import njit

from stream_llsvm.kernels.inside_numba import KernelCompiler
from stream_llsvm.kernels.numba_passes import KernelLower


def in_one_branch(x: Any) -> Any:
    """One variable is assigned in one branch only, and read in another of the same condition."""
    total = 0.0
    for i in range(x.size):
        large = x[i] > 1
        if large:
            over = x[i] - 1
        total += 2.0
        if large:
            total += over
    return total


def across_loops(x: Any) -> Any:
    """Variables that outlive blocks: assigned once, once a turn, and more often."""
    first, whole = x[0], x[1:]
    last = first
    for i in range(whole.size):
        here = whole[i]
        for k in range(i):
            if whole[k] > here:
                last = here + first
                break
        else:
            last = last - here
    return last, first


def changed_in_a_loop(x: Any) -> Any:
    """Variables that change places."""
    a, b = 0.0, 1.0
    for i in range(x.size):
        a, b = b, a + x[i]
    return a, b


@pytest.mark.parametrize("function", [in_one_branch, across_loops, changed_in_a_loop])
def test_a_kernel_is_what_python_says(function: Any) -> None:
    compiled = njit(pipeline_class=KernelCompiler)(function)
    for seed in range(5):
        x = np.random.default_rng(seed).normal(1.0, 1.0, size=12)
        np.testing.assert_array_equal(compiled(x), function(x))


def test_what_is_assigned_once_is_no_place_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    places: list[str] = []
    usual = KernelLower.alloca

    def counted(self: KernelLower, name: str, kind: Any) -> ir.Instruction:
        places.append(name)
        return usual(self, name, kind)

    monkeypatch.setattr(KernelLower, "alloca", counted)
    njit(pipeline_class=KernelCompiler)(across_loops)(np.ones(4))
    names = {name.split(".")[0] for name in places}
    assert "last" in names
    assert not names & {"x", "first", "whole", "here"}
