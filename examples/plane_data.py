"""The papers' data sets in the plane: XOR, a Swiss roll, two sines, and the bananas."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from river import datasets

LEARNED = 2_000
ASKED = 2_000
NOISE = 0.02  # of what is drawn on the unit square
TURNS = 2.0

Points = NDArray[np.float64]
Labels = NDArray[np.bool_]


class Plane(NamedTuple):
    """Records in the plane: those that are learned, in their order, and those asked afterwards."""

    X: Points
    y: Labels
    X_asked: Points
    y_asked: Labels


def xor(rng: np.random.Generator, n: int) -> tuple[Points, Labels]:
    """Return points of a square; the label says whether both coordinates have one sign, L3 4.1."""
    X = rng.uniform(-1, 1, size=(n, 2))
    return X, X[:, 0] * X[:, 1] > 0


def swiss_roll(rng: np.random.Generator, n: int) -> tuple[Points, Labels]:
    """Return half of the points on a spiral, half of them anywhere on the square, L3 4.1."""
    X = rng.uniform(-1, 1, size=(n, 2))
    y = rng.random(n) < 0.5
    along = np.sqrt(rng.uniform(0.02, 1, size=n))  # even along the roll
    angle = 2 * np.pi * TURNS * along
    roll = 0.95 * along[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    X[y] = (roll + rng.normal(scale=NOISE, size=(n, 2)))[y]
    return X, y


def sines(rng: np.random.Generator, n: int) -> tuple[Points, Labels]:
    """Return points of two sine signals, one above the other, SAPL 4.1."""
    across = rng.uniform(0, 4 * np.pi, size=n)
    y = rng.random(n) < 0.5
    up = np.sin(across) + np.where(y, 0.5, -0.5) + rng.normal(scale=0.15, size=n)
    return np.column_stack([across, up]), y


DRAWN: dict[str, Callable[[np.random.Generator, int], tuple[Points, Labels]]] = {
    "xor": xor,
    "swiss_roll": swiss_roll,
    "sines": sines,
}
NAMES = (*DRAWN, "bananas")


def load(name: str, seed: int = 0) -> Plane:
    """Return a data set by its name; the bananas are river's, two thirds of them learned."""
    rng = np.random.default_rng(seed)
    if name in DRAWN:
        X, y = DRAWN[name](rng, LEARNED + ASKED)
        return Plane(X[:LEARNED], y[:LEARNED], X[LEARNED:], y[LEARNED:])
    pairs = list(datasets.Bananas())
    X = np.array([list(x.values()) for x, _ in pairs])
    y = np.array([label for _, label in pairs])
    end = 2 * len(y) // 3
    return Plane(X[:end], y[:end], X[end:], y[end:])
