"""Learn as the papers did: several passes, settings chosen on the training part alone."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import peers
from numpy.typing import NDArray
from streams import Split, load_split

PASSES = 10
HELD_OUT = 5  # one part in so many of the training part decides between settings
ANCHORS = {"n_anchors": 100, "n_neighbors": 8}  # LL section 4, SAPL section 4.2
ONE_AGAINST_REST = {"loss": "hinge", "multiclass": "ovr"}

Array = NDArray[Any]


class Candidate(NamedTuple):
    """Settings that may be chosen: what they are called, options, passes."""

    text: str
    options: dict[str, Any]
    passes: int = PASSES


def schedule(l2: float, coding: str = "softmax") -> Candidate:
    """Return the papers' own schedule, LL Algorithm 1, SAPL Algorithm 1."""
    # t0 keeps the first step at 10 or less, skip is far below it.
    own = {"step_size": "paper", "l2": l2, "t0": max(1_000, round(0.1 / l2)), "skip": 20}
    by = "" if coding == "softmax" else ", 1 / distance"
    return Candidate(
        f"papers' schedule, lambda {l2:g}{by}", own | ONE_AGAINST_REST | {"coding": coding}
    )


DEFAULTS = Candidate("defaults", {})
HINGE = Candidate("hinge, one against the rest", ONE_AGAINST_REST)
SQUARED = Candidate(
    "squared hinge, one against the rest", {"loss": "squared_hinge", "multiclass": "ovr"}
)
INVERSE = Candidate(f"{HINGE.text}, 1 / distance", HINGE.options | {"coding": "inverse_distance"})
LONGER = Candidate(f"{HINGE.text}, 30 passes", HINGE.options, 30)


class Found(NamedTuple):
    """The settings that were chosen, and the test accuracy in % they led to."""

    text: str
    accuracy: float


def tuned(
    learner: str,
    data: Path,
    name: str,
    seed: int,
    candidates: Sequence[Candidate],
    **fixed: Any,
) -> Found:
    """Choose on the training part of the data set's split, learn all of it, ask the test part."""
    split = load_split(data, name, seed)
    chosen = choose(learner, split, candidates, seed, fixed)
    model = learn(learner, split.X_train, split.y_train, chosen, seed, fixed)
    found = Found(chosen.text, right(model, split.X_test, split.y_test))
    print(f"{name}, {learner}, seed {seed}: {found.accuracy:.2f} %, {found.text}", file=sys.stderr)
    return found


def choose(
    learner: str,
    split: Split,
    candidates: Sequence[Candidate],
    seed: int,
    fixed: dict[str, Any],
) -> Candidate:
    """Return the candidate that does best on a part of the training part, held out."""
    if len(candidates) == 1:
        return candidates[0]
    order = np.random.default_rng(1_000 + seed).permutation(len(split.y_train))
    held, rest = np.split(order, [len(order) // HELD_OUT])
    X, y = split.X_train, split.y_train
    figures = [
        right(learn(learner, X[rest], y[rest], candidate, seed, fixed), X[held], y[held])
        for candidate in candidates
    ]
    return candidates[int(np.argmax(figures))]


def learn(
    learner: str, X: Array, y: Array, candidate: Candidate, seed: int, fixed: dict[str, Any]
) -> Any:
    """Return a model that has learned these records in the candidate's way."""
    model = peers.ours(learner, seed=seed, **(fixed | candidate.options))
    model.warm_start(X, y, epochs=candidate.passes)
    return model


def right(model: Any, X: Array, y: Array) -> float:
    """Return how many of the labels the model knows, in %."""
    return 100 * float(np.mean(np.asarray(model.predict_many(X)) == y))


@cache
def of_digits(learner: str, data: Path, rows: int, scaled: bool, options: tuple[Any, ...]) -> float:
    """Return the test accuracy on MNIST: its one split, no search, which would take an hour.

    ``scaled`` features have variance 1; otherwise they are the pixels over 255.
    """
    split = load_split(data, "mnist", 0)
    X, asked = split.X_train[:rows], split.X_test
    if not scaled:
        X, asked = X.astype(np.float32) / 255, asked.astype(np.float32) / 255
    fixed = ANCHORS | {"standardize": scaled} | dict(options)
    model = learn(learner, X, split.y_train[:rows], DEFAULTS, 0, fixed)
    found = right(model, asked, split.y_test)
    print(f"mnist, {learner}: {found:.2f} %", file=sys.stderr)
    return found
