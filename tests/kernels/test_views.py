"""Views of numbers as other numbers, compiled and in plain Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from stream_llsvm.kernels.compile import kernel
from stream_llsvm.kernels.views import bits_of
from tests.kernels.alone import alone


@kernel
def _read(x: Any, out: Any) -> None:
    bits = bits_of(x[1:])
    for i in range(bits.size):
        out[i] = bits[i]


@pytest.mark.parametrize(("kind", "whole"), [(np.float32, np.int32), (np.float64, np.int64)])
def test_the_bits_of_numbers_are_numpys(kind: Any, whole: Any) -> None:
    x = np.array([7.0, 0.0, -0.0, 1.5, -2.25, np.inf, np.nan], dtype=kind)
    found = np.zeros(x.size - 1, dtype=np.int64)
    alone(_read)(x, found)
    np.testing.assert_array_equal(found, x[1:].view(whole))
    np.testing.assert_array_equal(bits_of(x[1:]), x[1:].view(whole))
