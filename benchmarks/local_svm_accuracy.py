"""How right local SVMs are: on the data sets of LAS, and on streams by the map they learn."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
import results
from local_svm_speed import NeighbourSVC
from measuring import Way, measure_ours
from numpy.typing import NDArray
from streams import load_stream
from timing import Effort, Section, needed

#: LAS Figures 3 and 4.
PAPER = (
    "balance_scale",
    "glass",
    "hayes_roth",
    "sonar",
    "hepatitis",
    "monks3",
    "segment",
    "tic_tac_toe",
)
ROUNDS = 40
STREAMS = (
    "electricity",
    "covtype",
    "banana",
    "magic04",
    "keystroke",
    "segment",
    "phishing_stream",
    "letter",
    "satimage",
)
ROWS = 10_000
MAPS: dict[str, tuple[str, dict[str, Any]]] = {
    "local, plain": ("local", {"metric": None}),
    "local, diagonal": ("local", {"metric": "diagonal"}),
    "local, megm": ("local", {"metric": "megm"}),
    "local, megm, linear": ("local", {"metric": "megm", "kernel": "linear"}),
    "memory, plain": ("memory", {"metric": None}),
    "memory, diagonal": ("memory", {"metric": "learned"}),
}

Array = NDArray[Any]
Fit = Callable[[Array, Array, Array], Any]


def _local(**options: Any) -> Fit:
    def answers(X: Array, y: Array, asked: Array) -> Any:
        from stream_llsvm import LocalSVMClassifier

        model = LocalSVMClassifier(window=len(y), standardize=False, **options)
        model.learn_many(X[:19], y[:19])  # what a young window forgets comes twice
        model.learn_many(X, y)
        return model.predict_many(asked)

    return answers


def _nearest(X: Array, y: Array, asked: Array) -> Any:
    from sklearn.neighbors import KNeighborsClassifier

    return KNeighborsClassifier(1).fit(X, y).predict(asked)


def _global(X: Array, y: Array, asked: Array) -> Any:
    from sklearn.svm import SVC

    # LAS's standard SVM: one Gaussian, its width the mean distance, C = 10.
    return SVC(C=10, gamma=1 / (2 * 2 * X.shape[1])).fit(X, y).predict(asked)


METHODS: dict[str, Fit] = {
    "1-NN": _nearest,
    "SVM": _global,
    "SVM-KNN, scikit-learn": lambda X, y, asked: NeighbourSVC(X, y).predict_many(asked),
    "LSVM": _local(metric=None),
    "LSVM, k = 10": _local(metric=None, k=10.0),
    "LASVM, diagonal": _local(metric="diagonal"),
    "LASVM": _local(metric="megm"),
    "LASVM, k = 10": _local(metric="megm", k=10.0),
    "LASVM, linear": _local(metric="megm", kernel="linear"),
}


def paper(data: Path | None, effort: Effort) -> Section:
    """Repeat LAS's protocol: rounds of two folds, features of mean 0 and variance 1."""
    rounds = max(2, round(ROUNDS * effort.share))
    found: dict[str, list[float]] = {name: [] for name in METHODS}
    for name in PAPER:
        stream = load_stream(needed(data), name)
        X, y = _complete(stream.X.astype(np.float64)), stream.y
        right: dict[str, list[float]] = {method: [] for method in METHODS}
        for seed in range(rounds):
            order = np.random.default_rng(seed).permutation(len(y))
            for train, test in (np.array_split(order, 2), np.array_split(order, 2)[::-1]):
                scale = X[train].std(axis=0)
                Z = np.clip((X - X[train].mean(axis=0)) / np.where(scale > 0, scale, 1), -3, 3)
                for method, fit in METHODS.items():
                    told = fit(Z[train], y[train], Z[test])
                    right[method].append(100 * float(np.mean(told == y[test])))
        for method, figures in right.items():
            found[method].append(mean(figures))
    body = [
        [method, *(results.figure(f, 1) for f in figures), results.figure(mean(figures), 1)]
        for method, figures in found.items()
    ]
    note = (
        f"Accuracy in %, {rounds} rounds of 2-fold cross-validation; one pass over the half that "
        'is learned. LSVM is `LocalSVMClassifier(metric=None)`, LASVM is `metric="megm"`; k = 3, '
        "C = 10 and sigma by the neighbourhood unless said otherwise, nothing tuned. The paper "
        "gives its figures as bar charts only, so none can be quoted beside these."
    )
    header = ["", *(name.replace("_", "-") for name in PAPER), "mean"]
    return Section("LAS's data sets", results.table(header, body) + "\n\n" + note)


def maps(data: Path | None, effort: Effort) -> Section:
    """Compare the maps on streams, every record predicted before it is learned."""
    names = STREAMS
    found: dict[str, list[Any]] = {name: [] for name in MAPS}
    for name in names:
        stream = load_stream(needed(data), name, effort.rows(ROWS, 1_000))
        for label, (learner, options) in MAPS.items():
            found[label].append(measure_ours(label, _maker(learner, options), stream, Way()))
    body = [
        [
            label,
            *(results.figure(line.main.accuracy(), 2) for line in lines),
            results.figure(mean(line.main.accuracy() for line in lines), 2),
            results.figure(mean(line.main.micros() for line in lines), 0),
        ]
        for label, lines in found.items()
    ]
    note = (
        f"Accuracy in %, the first {effort.rows(ROWS, 1_000):,} rows of each, one pass, defaults; "
        "us: microseconds per record with `test_then_learn`. diagonal: a weight per feature "
        "(`kernels/metric.py`, the log loss); megm: a full linear map (the squared error)."
    )
    return Section("The map", results.table(["", *names, "mean", "us"], body) + "\n\n" + note)


def _maker(learner: str, options: dict[str, Any]) -> Callable[[], Any]:
    import peers

    return lambda: peers.ours(learner, **options)


def _complete(X: Array) -> Array:
    """Put each feature's mean where a value is missing."""
    return np.asarray(np.where(np.isnan(X), np.nanmean(X, axis=0), X))
