"""Regressors with little in them, streams of numbers, and what it means that two are the same."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pytest

from stream_llsvm import LLSVMRegressor
from stream_llsvm.learners.registry import REGRESSORS, learner

KINDS: list[Any] = [learner(name) for name in REGRESSORS]
BOTH = pytest.mark.parametrize("kind", KINDS)


def small(kind: Any, **options: Any) -> Any:
    """Return a model with little in it: its state is quick to copy and to compare."""
    few = {"n_anchors": 12, "n_neighbors": 4} if kind is LLSVMRegressor else {}
    return kind(**(few | options))


def everything(model: Any) -> Any:
    """Return all that a model knows, to the bit; no prediction waits for anything."""
    payload = dict(model._payload())
    state, foretold = payload.pop("state"), payload.pop("foretold")
    assert foretold is None or all(part.size == 0 for part in foretold.values())
    pages = payload.pop("pages", None)
    known = [b"" if part is None else part.tobytes() for part in (state, pages)]
    return known, payload


def taught(model: Any, stream: Iterable[tuple[Mapping[Any, Any], float]]) -> Any:
    """Return the model after it has learned the stream one record at a time."""
    for x, y in stream:
        model.learn_one(x, y)
    return model


def numbers(n: int, seed: int = 0) -> list[tuple[dict[str, float], float]]:
    """Return records of which a number is a plane with a bend, seen through noise."""
    rng = np.random.default_rng(seed)
    x = rng.normal([0, 3, -5], [1, 2, 0.5], (n, 3))
    y = 50 + 10 * x[:, 0] - 4 * x[:, 1] + 5 * np.abs(x[:, 2] + 5) + rng.normal(size=n)
    names = ("f0", "f1", "f2")
    return [
        (dict(zip(names, row, strict=True)), target)
        for row, target in zip(x.tolist(), y.tolist(), strict=True)
    ]
