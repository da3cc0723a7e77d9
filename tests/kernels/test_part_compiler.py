"""Kernels that only kernels call become part of them, and nothing else is made of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numba import njit

from stream_llsvm.kernels.compile import kernel


@kernel
def third_of(x: Any) -> Any:
    return x / 3


@kernel
def sum_of_thirds(x: Any) -> Any:
    total = 0.0
    for i in range(x.size):
        total += third_of(x[i])
    return total


@njit
def asked(x: Any) -> Any:
    return sum_of_thirds(x), third_of(x[0])


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
