"""Additive homogeneous kernels as a few features each, after Vedaldi and Zisserman."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from river import base

from stream_llsvm.feature_maps.base import Made, as_numbers
from stream_llsvm.options import choice, number, whole

Array = NDArray[np.float64]


def _sech(x: Array) -> Array:
    grown: Array = np.exp(-np.abs(x))
    return 2 * grown / (1 + grown * grown)


#: The spectrum of each kernel, and its signature K(e^(t/2), e^(-t/2)), as their Table 1 has them.
KERNELS: dict[str, tuple[Callable[[Array], Array], Callable[[Array], Array]]] = {
    "intersection": (
        lambda w: 2 / math.pi / (1 + 4 * w * w),
        lambda t: np.exp(-np.abs(t) / 2),
    ),
    "chi2": (lambda w: _sech(math.pi * w), lambda t: _sech(t / 2)),
    "jensen_shannon": (
        lambda w: 2 / math.log(4) * _sech(math.pi * w) / (1 + 4 * w * w),
        lambda t: (
            np.exp(t / 2) / 2 * np.log2(1 + np.exp(-t))
            + np.exp(-t / 2) / 2 * np.log2(1 + np.exp(t))
        ),
    ),
}
#: Values that differ by up to e to this power are where the map is made exact.
_WIDEST = 6.0


class HomogeneousKernelMap(base.Transformer):
    """An additive kernel on amounts (histograms, counts) as 2 n + 1 features for each.

    A linear machine on what comes out is, nearly, an SVM with the sum over features of the
    intersection kernel min(x, y), the chi2 kernel 2 x y / (x + y) or Jensen-Shannon's: the finite
    dimensional kernels of LL section 3.2. A value below 0 is mapped as its amount, negated.

    Parameters
    ----------
    kernel
        "intersection", "chi2" or "jensen_shannon".
    order
        n: how many pairs of a cosine and a sine there are.
    step
        How finely the kernel's spectrum is sampled; None for what suits kernel and order best.

    References
    ----------
    [^1]: Vedaldi, Zisserman. Efficient Additive Kernels via Explicit Feature Maps. PAMI 2012.

    Examples
    --------
    >>> from stream_llsvm.feature_maps.homogeneous import HomogeneousKernelMap
    >>> chi2 = HomogeneousKernelMap("chi2", order=3)
    >>> a, b = chi2.transform_one({"red": 3.0}), chi2.transform_one({"red": 1.0})
    >>> round(sum(a[name] * b[name] for name in a), 2)  # 2 * 3 * 1 / (3 + 1)
    1.5

    """

    def __init__(
        self, kernel: str = "intersection", order: int = 2, step: float | None = None
    ) -> None:
        self.kernel = choice("kernel", kernel, KERNELS)
        self.order = whole("order", order, 0, 1_000)
        self.step = step if step is None else number("step", step, 1e-6, 1e6)
        self._step = _best_step(kernel, order) if step is None else step
        spectrum, _ = KERNELS[kernel]
        self._waves: Array = self._step * np.arange(1, order + 1, dtype=np.float64)
        self._level = math.sqrt(self._step * float(spectrum(np.zeros(1))[0]))
        self._heights = np.sqrt(2 * self._step * spectrum(self._waves))

    def transform_one(self, x: Mapping[Any, Any]) -> dict[Any, float]:
        """Return the features of a record, named "feature:0" to "feature:2n".

        Parameters
        ----------
        x
            The record. What is missing or 0 has no features.

        """
        found: dict[Any, float] = {}
        for name, value in as_numbers(x).items():
            if value != 0 and not math.isnan(value):
                found.update((f"{name}:{j}", v) for j, v in enumerate(self._features_of(value)))
        return found

    def made_of(self, names: Iterable[Hashable]) -> list[Made]:
        """Return what it makes of records that name these features: 2 n + 1 of each.

        Parameters
        ----------
        names
            The features.

        """
        return [(name, j) for name in names for j in range(2 * self.order + 1)]

    def map_one(self, x: Mapping[Any, float]) -> list[float]:
        """Return phi of a record, in the order of `made_of`; NaN for what has no value.

        Parameters
        ----------
        x
            The record.

        """
        return [v for value in x.values() for v in self._features_of(value)]

    def _features_of(self, value: float) -> list[float]:
        if value == 0:
            return [0.0] * (2 * self.order + 1)
        root = math.copysign(math.sqrt(abs(value)), value)
        logarithm = math.log(abs(value))
        found = [root * self._level]
        for wave, height in zip(self._waves.tolist(), self._heights.tolist(), strict=True):
            found.append(root * height * math.cos(wave * logarithm))
            found.append(root * height * math.sin(wave * logarithm))
        return found


def _best_step(kernel: str, order: int) -> float:
    """Return the step with the least mean squared error of the signature."""
    spectrum, signature = KERNELS[kernel]
    t: Array = np.linspace(0, _WIDEST, 200)
    wanted = signature(t)
    best, least = 1.0, math.inf
    for step in np.geomspace(0.02, 2.0, 150):
        waves: Array = step * np.arange(1, order + 1, dtype=np.float64)
        made = step * spectrum(np.zeros(1)) + 2 * step * spectrum(waves) @ np.cos(
            np.outer(waves, t)
        )
        error = float(np.mean((made - wanted) ** 2))
        if error < least:
            best, least = float(step), error
    return best
