"""What a local SVM's query costs: beside scikit-learn's SVM-KNN, and as the window grows."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
import results
from numpy.typing import NDArray
from streams import load_stream
from timing import Effort, Section, alternate, micros, needed

K, COST = 3.0, 10.0
QUERIES = 1_000
TRAINED = 4_000
#: Data sets beside which a local SVM makes sense: few features to many classes.
SETS = ("banana", "magic04", "segment", "satimage", "letter", "pendigits")
WINDOWS = (2_000, 5_000, 10_000, 20_000)
#: Records that a young window forgets: they come twice, so that both search the same.
YOUNG = 20

Array = NDArray[Any]


class NeighbourSVC:
    """SVM-KNN from scikit-learn's parts: the nearest, the early exit, an SVC for the query."""

    def __init__(self, X: Array, y: Array) -> None:
        from sklearn.neighbors import NearestNeighbors

        self.X, self.y = X, y
        k = min(len(y), math.ceil(K * math.log2(len(y))))
        self.search = NearestNeighbors(n_neighbors=k).fit(X)

    def predict_one(self, x: Array) -> Any:
        """Return the label."""
        return self._answer(x, self.search.kneighbors(x[None], return_distance=False)[0])

    def predict_many(self, X: Array) -> list[Any]:
        """Return the labels; the nearest of all queries are found in one call."""
        near = self.search.kneighbors(X, return_distance=False)
        return [self._answer(x, which) for x, which in zip(X, near, strict=True)]

    def _answer(self, x: Array, near: Array) -> Any:
        from sklearn.svm import SVC

        labels = self.y[near]
        if (labels == labels[0]).all():
            return labels[0]
        points = self.X[near]
        # The mean squared distance of the pairs: twice the mean squared distance to the centre.
        n = len(points)
        square = 2 * n / (n - 1) * np.square(points - points.mean(axis=0)).sum(axis=1).mean()
        machine = SVC(C=COST, gamma=1 / (2 * max(square, 1e-12)))
        return machine.fit(points, labels).predict(x[None])[0]


def ours(X: Array, y: Array, **options: Any) -> Any:
    """Return a learner that has all rows in its window, and scales nothing itself."""
    from stream_llsvm import LocalSVMClassifier

    settings: dict[str, Any] = {"window": len(y), "metric": None, "standardize": False, "k": K}
    model = LocalSVMClassifier(**(settings | options))
    model.learn_many(X[: YOUNG - 1], y[: YOUNG - 1])
    model.learn_many(X, y)
    return model


def prepared(data: Path | None, name: str, effort: Effort) -> tuple[Array, Array, Array, Array]:
    """Return rows to search, their labels, queries and theirs, scaled by the rows to search."""
    trained, asked = effort.rows(TRAINED), effort.rows(QUERIES)
    stream = load_stream(needed(data), name)
    order = np.random.default_rng(0).permutation(len(stream.y))
    X, y = stream.X[order].astype(np.float64), stream.y[order]
    trained = min(trained, len(y) * 2 // 3)
    train, test = slice(0, trained), slice(trained, trained + asked)
    centre, scale = X[train].mean(axis=0), X[train].std(axis=0)
    # As far out as the learners let a feature be, so that both see the same.
    Z = np.clip((X - centre) / np.where(scale > 0, scale, 1), -3, 3)
    return Z[train], y[train], Z[test], y[test]


def beside_scikit_learn(data: Path | None, effort: Effort) -> Section:
    """Time queries of the same window, with the same K, C and sigma."""
    lines, ratios = [], []
    for name in SETS:
        X, y, asked, truth = prepared(data, name, effort)
        mine, theirs = ours(X, y), NeighbourSVC(X, y)
        records = [dict(enumerate(row)) for row in asked.tolist()]
        mine.predict_one(records[0])
        right = [100 * float(np.mean(m.predict_many(asked) == truth)) for m in (mine, theirs)]
        times = alternate(
            {
                "one": _one_by_one(mine, records),
                "their one": _one_by_one(theirs, list(asked)),
                "many": _all_at_once(mine, asked),
                "their many": _all_at_once(theirs, asked),
            },
            effort.rounds,
        )
        pair = times.ratio("their one", "one"), times.ratio("their many", "many")
        ratios.append(pair)
        lines.append([
            name,
            *(results.figure(r, 2) for r in right),
            *(results.figure(times.micros(n), 0) for n in ("one", "their one")),
            f"{pair[0]:.1f}x",
            *(results.figure(times.micros(n), 0) for n in ("many", "their many")),
            f"{pair[1]:.1f}x",
        ])  # fmt: skip
    header = [
        "data", "accuracy %", "SVM-KNN's", "us, dicts one by one", "SVM-KNN's", "faster",
        "us, all at once", "SVM-KNN's", "faster",
    ]  # fmt: skip
    note = (
        f"`LocalSVMClassifier(metric=None)` beside `NearestNeighbors` and an `SVC` for each query: "
        f"the same rows to search (up to {effort.rows(TRAINED):,}), K = {K:g} log2(N), "
        f"C = {COST:g}, sigma, features scaled before. Microseconds per query, "
        f"{effort.rows(QUERIES):,} queries. Ours is one against the rest, SVC one against one. "
        f"Faster on the mean: {mean(r[0] for r in ratios):.1f}x one by one, "
        f"{mean(r[1] for r in ratios):.1f}x all at once."
    )
    return Section("Beside SVM-KNN", results.table(header, lines) + "\n\n" + note)


def windows(data: Path | None, effort: Effort) -> Section:
    """Time queries as the window grows: what the search costs, and what the whole query."""
    lines = []
    rng = np.random.default_rng(0)
    for width in (8, 32):
        for window in WINDOWS:
            X = rng.normal(size=(window, width))
            y = (X[:, 0] * X[:, 1] > 0).astype(int)
            asked = rng.normal(size=(effort.rows(QUERIES), width))
            models = {
                "whole": ours(X, y),
                # Everybody agrees: there is nothing but the search.
                "search": ours(X, np.zeros(window, dtype=int)),
            }
            runners = {name: _all_at_once(model, asked) for name, model in models.items()}
            times = alternate(runners, effort.rounds)
            lines.append([
                f"{width} features, window {window:,}",
                results.figure(times.micros("search")),
                results.figure(times.micros("whole")),
            ])  # fmt: skip
    note = "Microseconds per query, all at once; normal features, the label a cross of two of them."
    header = ["", "us, search alone", "us, whole query"]
    return Section("As the window grows", results.table(header, lines) + "\n\n" + note)


def _one_by_one(model: Any, records: list[Any]) -> Callable[[], float]:
    return lambda: micros(lambda: [model.predict_one(x) for x in records], len(records))


def _all_at_once(model: Any, asked: Array) -> Callable[[], float]:
    return lambda: micros(lambda: model.predict_many(asked), len(asked))
