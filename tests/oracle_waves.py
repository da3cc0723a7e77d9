"""The oracle's waves: recursive least squares over random Fourier features."""

from __future__ import annotations

import numpy as np

from stream_llsvm.members.waves import kernel
from stream_llsvm.members.waves.member import Waves
from stream_llsvm.model.state import columns_of
from tests.oracle_parts import Array


class WavesOracle:
    """A waves member: weights of waves, and what is not yet known of them."""

    def __init__(self, options: Waves, width: int, classes: int) -> None:
        self.options, self.width, self.classes = options, width, classes
        self.n = options.waves(width)
        self.seen, self.spread = 0, 0.0
        self.weights = np.zeros((columns_of(classes), self.n))
        self.variance = 3 * np.eye(self.n)
        self._draw()

    def _draw(self) -> None:
        """Take phases and frequencies from the options: no equation says what they are."""
        self.phases, self.frequencies = np.zeros(self.n), np.zeros((self.width, self.n))
        views = {"phases": self.phases, "frequencies": self.frequencies}
        views["variance"] = np.zeros((self.n, self.n))
        self.options.begin(views, self.width, 1)

    @property
    def experts(self) -> int:
        """One, none for records that are too wide."""
        return 1 if self.n > 0 else 0

    def score(self, z: Array) -> Array:
        """Return w_c . phi, (1, columns)."""
        self.square = float(z @ z)
        if self.seen < kernel.YOUNG:
            return np.zeros((self.experts, len(self.weights)))
        turns = self.phases + z @ self.frequencies / np.sqrt(self.spread + 1e-9)
        self.phi = np.cos(2 * np.pi * turns)
        return np.asarray((self.weights @ self.phi)[None])[: self.experts]

    def learn(self, label: int, w: float, scores: Array) -> None:
        """Take one step of recursive least squares, if a score is far off."""
        if self.n == 0:
            return
        self.seen += 1
        self.spread += max(0.001, 1 / self.seen) * (self.square - self.spread)
        if self.seen <= kernel.YOUNG:
            return
        came = np.arange(max(2, self.classes)) == label
        target = 1.0 * came if len(self.weights) > 1 else came[1:2] * 2.0 - 1
        errors = target - scores[0]
        if np.abs(errors).max() < 0.8 and self.seen > kernel.EAGER:
            return
        gain = self.variance @ self.phi
        divisor = 1 / min(w, 1e3) + self.phi @ gain
        self.weights += np.outer(errors, gain) / divisor
        self.variance -= np.outer(gain, gain) / divisor
        self.variance += 3e-7 * np.diag(np.diagonal(self.variance) < 3)

    def grow(self, width: int, classes: int) -> list[int]:
        """Know more features or classes; the targets -1 and 1 of two become 0 and 1."""
        before, columns = len(self.weights), columns_of(classes)
        self.width, self.classes, self.n = width, classes, self.options.waves(width)
        self._draw()
        if self.n == 0:
            self.weights, self.variance = np.zeros((columns, 0)), np.zeros((0, 0))
            return []
        if before == 1 and columns > 1:
            self.weights = np.concatenate([-self.weights / 2, self.weights / 2])
            if self.seen > kernel.YOUNG:
                self.weights[:, 0] += 0.5
        self.weights = np.pad(self.weights, ((0, columns - len(self.weights)), (0, 0)))
        return [0]
