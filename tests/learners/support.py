"""Streams made up on the spot, and what it means that two models are the same."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Any

import numpy as np

from stream_llsvm import LCCClassifier, LLSVMClassifier, SAPLClassifier
from stream_llsvm.learners.anchored import AnchorClassifier
from stream_llsvm.learners.base import LocalClassifier

LEARNERS: tuple[type[AnchorClassifier], ...] = (LLSVMClassifier, SAPLClassifier, LCCClassifier)

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


def small(kind: type[AnchorClassifier], **options: Any) -> LocalClassifier:
    """Return a model with few anchors: its state is quick to copy and to compare."""
    return kind(**({"n_anchors": 12, "n_neighbors": 4} | options))


def taught(
    model: LocalClassifier, stream: Iterable[tuple[Mapping[Any, Any], Hashable]]
) -> LocalClassifier:
    """Return the model after it has learned the stream one record at a time."""
    for x, y in stream:
        model.learn_one(x, y)
    return model


def everything(model: LocalClassifier) -> tuple[Any, ...]:
    """Return all that a model knows, to the bit."""
    memory = model._memory
    known = (b"", 0, 0) if memory is None else (memory.state.tobytes(), memory.width, memory.shape)
    return (*known, model.features, model.classes, [type(label) for label in model.classes])


def sound(model: LocalClassifier) -> bool:
    """Whether no NaN or infinity is in the state."""
    return model._memory is not None and bool(model._memory.sound())


def accuracy(model: LocalClassifier, stream: Stream) -> float:
    """Return the prequential accuracy: each record is predicted, then learned."""
    right = 0
    for x, y in stream:
        right += model.predict_one(x) == y
        model.learn_one(x, y)
    return right / len(stream)
