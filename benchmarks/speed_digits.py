"""Speed on MNIST against scikit-learn: a linear machine to learn, a kernel machine to answer."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import perf_counter

import numpy as np
import peers
import results
from sklearn.linear_model import SGDClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from streams import load_split
from timing import RATIO_HEADER, Effort, Section, alternate, micros, needed


def linear_digits(learner: str, data: Path | None, effort: Effort) -> Section:
    """Time one pass of MNIST against scikit-learn's linear SGDClassifier."""
    digits = load_split(needed(data), "mnist")
    rows = effort.rows(60_000, 2_000)
    X, y = digits.X_train[:rows], digits.y_train[:rows]
    # Scaling is part of what our learner does in the measured time; theirs gets it for nothing.
    scaled = StandardScaler().fit_transform(X.astype(np.float32)).astype(np.float32)
    classes = np.unique(y)
    few = min(rows, 6_000)

    def learn(step: str | float) -> Callable[[], float]:
        def run() -> float:
            model = peers.ours(learner, n_anchors=100, n_neighbors=8, step_size=step)
            return micros(lambda: model.learn_many(X, y), rows)

        return run

    def sgd(size: int, count: int) -> Callable[[], float]:
        def run() -> float:
            model = SGDClassifier(random_state=0)
            begin = perf_counter()
            for start in range(0, count, size):
                part = slice(start, start + size)
                model.partial_fit(scaled[part], y[part], classes=classes)
            return 1e6 * (perf_counter() - begin) / count

        return run

    peers.ours(learner, n_anchors=100, n_neighbors=8).learn_many(X[:200], y[:200])
    # Its price depends on the rows a call; the ratio is to whichever is cheapest.
    sizes = {f"SGDClassifier, {size:,} rows a call": size for size in (100, 1_000, 10_000)}
    single = "SGDClassifier, a row a call"
    one, ladder = f"{learner}, one step size", f"{learner}, the ladder"
    runners = {one: learn(1.0), ladder: learn("auto")}
    runners |= {name: sgd(size, rows) for name, size in sizes.items()}
    times = alternate(runners | {single: sgd(1, few)}, effort.rounds)
    best = min((*sizes, single), key=times.micros)
    lines = [[name, results.figure(times.micros(name)), times.times(name, best)] for name in times]
    note = (
        f"MNIST, {rows:,} rows learned once, 10 classes, m = 100, k = 8 (a row a call: the first "
        f"{few:,} rows). SGDClassifier gets standardised float32 rows, scaled outside the clock; "
        f"`learn_many` gets the raw pixels. Ratio to the cheapest of its ways: {best}."
    )
    return Section("One pass of MNIST", results.table(RATIO_HEADER, lines) + "\n\n" + note)


def kernel_digits(learner: str, data: Path | None, effort: Effort) -> Section:
    """Time predict_many on MNIST against scikit-learn's SVC(rbf) trained on 10,000 rows."""
    digits = load_split(needed(data), "mnist")
    rows = effort.rows(10_000, 1_000)
    X, y = digits.X_train[:rows], digits.y_train[:rows]
    test, few = digits.X_test, digits.X_test[: effort.rows(1_000)] / 255
    svc = SVC(kernel="rbf").fit(X / 255, y)
    models = {
        learner: peers.ours(learner),
        f"{learner}, m = 100, k = 8, one step size": peers.ours(
            learner, n_anchors=100, n_neighbors=8, step_size=1.0
        ),
    }
    runners: dict[str, Callable[[], float]] = {}
    for name, model in models.items():
        model.learn_many(X, y)
        model.predict_many(test[:10])
        runners[name] = partial(micros, partial(model.predict_many, test), len(test))
    theirs = "scikit-learn SVC(rbf)"
    runners[theirs] = partial(micros, partial(svc.predict, few), len(few))
    times = alternate(runners, effort.rounds)
    lines = [
        [name, results.figure(times.micros(name)), times.times(theirs, name) + " faster"]
        for name in models
    ]
    lines.append([theirs, results.figure(times.micros(theirs)), "-"])
    note = (
        f"MNIST: {rows:,} rows learned, the {len(test):,} test rows answered in one call, the "
        f"first {len(few):,} of them by SVC ({len(svc.support_):,} support vectors)."
    )
    return Section("predict_many", results.table(RATIO_HEADER, lines) + "\n\n" + note)
