"""River's learners to stand beside the package's own."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable
from typing import Any

Labels = Collection[Hashable]


def _scaled(model: Any) -> Any:
    from river import preprocessing

    return preprocessing.StandardScaler() | model


def _logistic_regression(labels: Labels) -> Any:
    from river import linear_model, multiclass

    model: Any = linear_model.LogisticRegression()
    # It knows False and True only, which 0 and 1 equal.
    return _scaled(model if set(labels) <= {0, 1} else multiclass.OneVsRestClassifier(model))


def _forest(labels: Labels) -> Any:
    from river import forest

    return forest.ARFClassifier(n_models=10, seed=1)


def _neighbours(labels: Labels) -> Any:
    from river import neighbors

    return _scaled(neighbors.KNNClassifier())


def _majority(labels: Labels) -> Any:
    from river import dummy

    return dummy.PriorClassifier()


def _no_change(labels: Labels) -> Any:
    from river import dummy

    return dummy.NoChangeClassifier()


PEERS: dict[str, Callable[[Labels], Any]] = {
    "logreg": _logistic_regression,
    "arf": _forest,
    "knn": _neighbours,
    "majority": _majority,
    "nochange": _no_change,
}
