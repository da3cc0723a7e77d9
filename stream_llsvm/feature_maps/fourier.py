"""The RBF kernel as random cosines, for features that appear as the stream goes on."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Hashable, Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from river import base

from stream_llsvm.feature_maps.base import Made, as_numbers
from stream_llsvm.options import number, whole

#: Directions are kept for so many names; those of others are drawn each time.
_MOST_KEPT = 10_000


class FourierFeatures(base.Transformer):
    """Random cosines whose inner products are, nearly, the RBF kernel exp(-gamma |x - y|^2).

    Each feature's part of the random directions is drawn from its name and the seed. So nothing
    has to be known beforehand, and neither the order of features nor of records matters.

    Parameters
    ----------
    n_components
        How many cosines: the error falls as 1 / sqrt(n_components).
    gamma
        The kernel's sharpness.
    seed
        For the directions and the phases.

    References
    ----------
    [^1]: Rahimi, Recht. Random Features for Large-Scale Kernel Machines. NIPS 2007.

    Examples
    --------
    >>> from stream_llsvm.feature_maps.fourier import FourierFeatures
    >>> rbf = FourierFeatures(n_components=5_000, gamma=0.5)
    >>> a, b = rbf.transform_one({"u": 1.0}), rbf.transform_one({"v": 1.0})
    >>> round(sum(a[j] * b[j] for j in a), 1)  # exp(-0.5 * 2)
    0.4

    """

    def __init__(self, n_components: int = 100, gamma: float = 1.0, seed: int = 0) -> None:
        self.n_components = whole("n_components", n_components, 1, 10**6)
        self.gamma = number("gamma", gamma, 1e-12, 1e12)
        self.seed = whole("seed", seed, 0, 2**32 - 1)
        self._phases = np.random.default_rng(seed).uniform(0, 2 * math.pi, n_components)
        self._kept: dict[Hashable, NDArray[np.float64]] = {}

    def transform_one(self, x: Mapping[Any, Any]) -> dict[Any, float]:
        """Return the cosines of a record, named 0, 1, ...

        Parameters
        ----------
        x
            The record. What is missing counts as 0; a name is a feature that is 1.

        """
        return dict(enumerate(self.map_one(as_numbers(x))))

    def made_of(self, names: Iterable[Hashable]) -> list[Made]:
        """Return what it makes of any record: the cosines, each of all features.

        Parameters
        ----------
        names
            The features.

        """
        return [(None, j) for j in range(self.n_components)]

    def map_one(self, x: Mapping[Any, float]) -> list[float]:
        """Return the cosines of a record, in the order of `made_of`.

        Parameters
        ----------
        x
            The record. What is missing counts as 0.

        """
        angle = self._phases.copy()
        for name in sorted(x, key=repr):  # so that sums are the same to the bit
            value = x[name]
            if value != 0 and not math.isnan(value):
                angle += value * self._direction(name)
        cosines: list[float] = (math.sqrt(2 / self.n_components) * np.cos(angle)).tolist()
        return cosines

    def _direction(self, name: Hashable) -> NDArray[np.float64]:
        direction = self._kept.get(name)
        if direction is None:
            text = f"{self.seed} {type(name).__name__} {name!r}".encode("utf-8", "surrogatepass")
            words = np.frombuffer(hashlib.blake2b(text, digest_size=32).digest(), dtype="<u4")
            drawn = np.random.default_rng(words).normal(size=self.n_components)
            direction = math.sqrt(2 * self.gamma) * drawn
            if len(self._kept) < _MOST_KEPT:
                self._kept[name] = direction
        return direction
