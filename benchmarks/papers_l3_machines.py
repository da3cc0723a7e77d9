"""What L3's figures compare: L3-SVMs, and the SVMs of scikit-learn."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import peers
import results
from numpy.typing import NDArray
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

GRID = [1e-3, 1e-2, 1e-1, 1, 10, 100]  # L3 section 4.1
PASSES = 50  # the paper solves to the end
CLOSE = 1.5  # points within which figures are called alike

Array = NDArray[Any]
Claim = tuple[str, str, bool]


def svms(X: Array, y: Array, asked: Array, truth: Array) -> dict[str, float]:
    """Return what SVMs know of the records asked, in %, tuned on those learned."""
    linear = GridSearchCV(SVC(kernel="linear"), {"C": GRID}, cv=5)
    kernel = GridSearchCV(SVC(), {"C": GRID, "gamma": GRID}, cv=5)
    return {
        "linear SVM": 100 * float(linear.fit(X, y).score(asked, truth)),
        "RBF-SVM": 100 * float(kernel.fit(X, y).score(asked, truth)),
    }


def l3(X: Array, y: Array, asked: Array, truth: Array, **options: Any) -> float:
    """Return what an L3-SVM knows of the records asked, in %."""
    model = peers.ours("l3svm", loss="hinge", **options)
    rng = np.random.default_rng(0)
    for _ in range(PASSES):
        order = rng.permutation(len(y))
        model.learn_many(X[order], y[order])
    return 100 * float(np.mean(np.asarray(model.predict_many(asked)) == truth))


def in_percent(values: Iterable[float]) -> list[str]:
    """Return accuracies as the cells of a table."""
    return [results.figure(value, 1) for value in values]
