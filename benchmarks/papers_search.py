"""Learn as the papers did: several passes, settings chosen on the training part alone."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import peers
from numpy.typing import NDArray
from streams import Split, has_standard_split, load_split

PASSES = 10
HELD_OUT = 5  # one part in so many of the training part decides between settings
ANCHORS = {"n_anchors": 100, "n_neighbors": 8}  # LL section 4, SAPL section 4.2
ONE_AGAINST_REST: dict[str, Any] = {"loss": "hinge", "multiclass": "ovr"}

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
    "Huberized hinge, one against the rest", {"loss": "huberized_hinge", "multiclass": "ovr"}
)
INVERSE = Candidate(f"{HINGE.text}, 1 / distance", HINGE.options | {"coding": "inverse_distance"})
LONGER = Candidate(f"{HINGE.text}, 30 passes", HINGE.options, 30)


class Found(NamedTuple):
    """The settings that were chosen, and the accuracy in % they led to."""

    text: str
    accuracy: float


def once(kept: Path | None, what: str, measure: Callable[[], Found]) -> Found:
    """Measure, or read what an earlier run kept in the file under this name."""
    if kept is not None and kept.exists():
        for line in kept.read_text(encoding="utf-8").splitlines():
            name, text, accuracy = json.loads(line)
            if name == what:
                return Found(text, accuracy)
    found = measure()
    print(f"{what}: {found.accuracy:.2f} %, {found.text}", file=sys.stderr)
    if kept is not None:
        with kept.open("a", encoding="utf-8") as file:
            file.write(json.dumps([what, *found]) + "\n")
    return found


def tuned(
    learner: str,
    folder: Path,
    name: str,
    seed: int,
    candidates: Sequence[Candidate],
    kept: Path | None = None,
    **fixed: Any,
) -> Found:
    """Choose on the training part of the data set's split, learn all of it, ask the test part.

    Where the split is given, so that all seeds learn the same records, the first one chooses.
    """
    chooser = 0 if has_standard_split(folder, name) else seed
    split = load_split(folder, name, seed)
    asked = f"{name}, {learner}" + "".join(f", {key} {value}" for key, value in fixed.items())

    def decide() -> Found:
        return choose(learner, split, candidates, chooser, fixed)

    def measure() -> Found:
        chosen = next(candidate for candidate in candidates if candidate.text == text)
        model = learn(learner, split.X_train, split.y_train, chosen, seed, fixed)
        return Found(text, right(model, split.X_test, split.y_test))

    several = len(candidates) > 1
    choice = f"{asked}, one of {len(candidates)}, seed {chooser}"
    text = once(kept, choice, decide).text if several else candidates[0].text
    return once(kept, f"{asked}, {text}, seed {seed}", measure)


def choose(
    learner: str, split: Split, candidates: Sequence[Candidate], seed: int, fixed: dict[str, Any]
) -> Found:
    """Return the candidate that does best on a part of the training part, held out."""
    order = np.random.default_rng(1_000 + seed).permutation(len(split.y_train))
    held, rest = np.split(order, [len(order) // HELD_OUT])
    X, y = split.X_train, split.y_train
    tried = [
        Found(
            candidate.text,
            right(learn(learner, X[rest], y[rest], candidate, seed, fixed), X[held], y[held]),
        )
        for candidate in candidates
    ]
    return max(tried, key=lambda found: found.accuracy)


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


def of_digits(
    learner: str, folder: Path, rows: int, scaled: bool, kept: Path | None, **options: Any
) -> float:
    """Return the test accuracy on MNIST: its one split, no search, which would take an hour.

    ``scaled`` features have variance 1; otherwise they are the pixels over 255.
    """

    def measure() -> Found:
        split = load_split(folder, "mnist", 0)
        X, asked = split.X_train[:rows], split.X_test
        if not scaled:
            X, asked = X.astype(np.float32) / 255, asked.astype(np.float32) / 255
        fixed = ANCHORS | {"standardize": scaled} | options
        model = learn(learner, X, split.y_train[:rows], DEFAULTS, 0, fixed)
        return Found(DEFAULTS.text, right(model, asked, split.y_test))

    told = "".join(f", {key} {value}" for key, value in options.items())
    what = f"mnist, {learner}{told}, {rows} rows, {'scaled' if scaled else 'raw'}"
    return once(kept, what, measure).accuracy
