"""Kernels as Python can call them."""

from __future__ import annotations

from typing import Any

from numba import njit


def alone(kernel: Any) -> Any:
    """Compile a kernel by itself, with the part that a call from Python needs.

    Kernels that only kernels call do without that part: called as they are, they would bring the
    interpreter down.
    """
    left_out = ("no_cpython_wrapper", "nopython")
    options = {name: v for name, v in kernel.targetoptions.items() if name not in left_out}
    return njit(**options)(kernel.py_func)
