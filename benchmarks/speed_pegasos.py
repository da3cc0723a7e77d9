"""What a record costs Pegasos, beside river's logistic regression and scikit-learn's SGD."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
from river import linear_model, preprocessing
from sklearn.linear_model import SGDClassifier
from sklearn.preprocessing import StandardScaler

from stream_llsvm import PegasosClassifier

RECORDS, FEATURES, ROUNDS = 20_000, 22, 9


def seconds(work: Callable[[], None]) -> float:
    """Return how long some work takes."""
    begin = perf_counter()
    work()
    return perf_counter() - begin


def one_by_one(model: Any, records: list[Any], labels: list[bool]) -> None:
    """Predict each record, then learn it."""
    for x, y in zip(records, labels, strict=True):
        model.predict_one(x)
        model.learn_one(x, y)


def compared(name: str, ours: Callable[[], None], theirs: Callable[[], None], n: int) -> None:
    """Run both in turns, and print the medians and their ratio."""
    ours()
    theirs()
    both = [(seconds(ours), seconds(theirs)) for _ in range(ROUNDS)]
    a, b = (median(times) / n * 1e6 for times in zip(*both, strict=True))
    print(f"| {name} | {a:.3f} | {b:.3f} | {a / b:.3f} |")


def main() -> None:
    """Measure on dicts and on matrices."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(RECORDS, FEATURES))
    y = X @ rng.normal(size=FEATURES) + rng.normal(size=RECORDS) > 0
    names = [f"feature {i}" for i in range(FEATURES)]
    some = [dict(zip(names, row, strict=True)) for row in X[:3_000].tolist()]
    labels = y[:3_000].tolist()
    print("| pegasos, and its peer | us | peer, us | ratio |\n| --- | ---: | ---: | ---: |")
    dicts: dict[str, tuple[Any, Any]] = {
        "scaled: river LogisticRegression": (
            PegasosClassifier(),
            linear_model.LogisticRegression(),
        ),
        "scaled: river StandardScaler + LogisticRegression": (
            PegasosClassifier(),
            preprocessing.StandardScaler() | linear_model.LogisticRegression(),
        ),
        "not scaled: river LogisticRegression": (
            PegasosClassifier(standardize=False),
            linear_model.LogisticRegression(),
        ),
    }
    for name, (model, peer) in dicts.items():
        compared(
            name, partial(one_by_one, model, some, labels), partial(one_by_one, peer, some, labels),
            len(some),
        )  # fmt: skip
    many = PegasosClassifier(standardize=False)
    sgd = SGDClassifier(alpha=1e-2)
    compared(
        "not scaled: SGDClassifier.partial_fit",
        partial(many.learn_many, X, y),
        partial(sgd.partial_fit, X, y, classes=[False, True]),
        RECORDS,
    )
    scaled = PegasosClassifier()
    compared(
        "scaled: StandardScaler and SGDClassifier, partial_fit",
        partial(scaled.learn_many, X, y),
        partial(scale_and_fit, SGDClassifier(alpha=1e-2), StandardScaler(), X, y),
        RECORDS,
    )


def scale_and_fit(sgd: SGDClassifier, scaler: StandardScaler, X: Any, y: Any) -> None:
    """Learn scales, then steps, as a pipeline that learns from a stream has to."""
    sgd.partial_fit(scaler.partial_fit(X).transform(X), y, classes=[False, True])


if __name__ == "__main__":
    main()
