"""Streams made up on the spot, and what it means that two models are the same."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Any

import numpy as np

from stream_llsvm import (
    AdditiveSVMClassifier,
    BoostedTreesClassifier,
    BudgetedPegasosClassifier,
    CommitteeClassifier,
    ContextsClassifier,
    CSVMClassifier,
    FernsClassifier,
    L3SVMClassifier,
    LocalSVMClassifier,
    MemoryClassifier,
    PegasosClassifier,
)
from stream_llsvm.learners.anchored import AnchorClassifier
from stream_llsvm.learners.base import LocalClassifier
from stream_llsvm.learners.registry import CLASSIFIERS, learner

#: Every classifier that the engine works with, and of these the ones on anchors alone.
ALL_LEARNERS: tuple[type[LocalClassifier], ...] = tuple(
    kind for kind in map(learner, CLASSIFIERS) if issubclass(kind, LocalClassifier)
)
LEARNERS: tuple[type[AnchorClassifier], ...] = tuple(
    kind
    for kind in ALL_LEARNERS
    if issubclass(kind, AnchorClassifier) and kind is not CSVMClassifier
)
NEW_LEARNERS = tuple(kind for kind in ALL_LEARNERS if kind not in LEARNERS)

#: Options that make a model's state quick to copy and to compare.
SMALL: dict[type[LocalClassifier], dict[str, Any]] = {
    **{kind: {"n_anchors": 12, "n_neighbors": 4} for kind in LEARNERS},
    CSVMClassifier: {"n_clusters": 12},
    AdditiveSVMClassifier: {"n_knots": 5},
    MemoryClassifier: {"window": 70},
    ContextsClassifier: {"n_cells": 1_024},
    BoostedTreesClassifier: {"n_trees": 4, "n_leaves": 8},
    FernsClassifier: {"n_ferns": 8, "depth": 4},
    LocalSVMClassifier: {"window": 70},
    L3SVMClassifier: {"n_clusters": 5},
    BudgetedPegasosClassifier: {"budget": 20},
    PegasosClassifier: {"batch_size": 3},
    CommitteeClassifier: {
        "members": (
            "anchors:1",
            "anchors:8",
            "additive:5",
            "memory:70",
            "prior:9",
            "waves:8",
            "trees:4",
            "ferns:8",
            "words:1024",
            "contexts:1024",
        )
    },
}

Stream = list[tuple[dict[Any, Any], Any]]


def records(n: int, seed: int = 0, features: int = 3, classes: int = 3) -> Stream:
    """Return records in which the class is a cell of a grid, seen through noise."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, features))
    cell = (x[:, 0] > 0).astype(int) + 2 * (x[:, 1] > 0).astype(int)
    y = (cell + (rng.random(n) < 0.05)) % classes
    names = [f"f{i}" for i in range(features)]
    return [
        (dict(zip(names, row, strict=True)), int(label))
        for row, label in zip(x.tolist(), y, strict=True)
    ]


def small(kind: type[LocalClassifier], **options: Any) -> LocalClassifier:
    """Return a model with little in it: its state is quick to copy and to compare."""
    make: Any = kind
    model: LocalClassifier = make(**(SMALL.get(kind, {}) | options))
    return model


def taught(
    model: LocalClassifier, stream: Iterable[tuple[Mapping[Any, Any], Hashable]]
) -> LocalClassifier:
    """Return the model after it has learned the stream one record at a time."""
    for x, y in stream:
        model.learn_one(x, y)
    return model


def everything(model: LocalClassifier) -> tuple[Any, ...]:
    """Return all that a model knows, to the bit."""
    memory = model._state
    known = (b"", 0, 0) if memory is None else (memory.state.tobytes(), memory.width, memory.shape)
    return (*known, model.features, model.classes, [type(label) for label in model.classes])


def sound(model: LocalClassifier) -> bool:
    """Whether no NaN or infinity is in the state."""
    return model._state is not None and bool(model._state.sound())


def accuracy(model: LocalClassifier, stream: Stream) -> float:
    """Return the prequential accuracy: each record is predicted, then learned."""
    right = 0
    for x, y in stream:
        right += model.predict_one(x) == y
        model.learn_one(x, y)
    return right / len(stream)
