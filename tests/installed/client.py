"""A small program of somebody who checks types strictly, against what is public."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from stream_llsvm import (
    CommitteeClassifier,
    Engine,
    Explanation,
    KeyedClassifier,
    LLSVMRegressor,
    SAPLClassifier,
    load_model,
)
from stream_llsvm.connectors import FileSink, FileSource, ListSource
from stream_llsvm.engine import Checkpoints, Waiting


def records() -> Iterator[tuple[dict[str, Any], str]]:
    for i in range(100):
        yield {"amount": float(i % 7), "country": "DE" if i % 2 else "SE"}, "yes" if i % 2 else "no"


def learned() -> CommitteeClassifier:
    model = CommitteeClassifier(threads=1, seed=3)
    for x, y in records():
        model.learn_one(x, y)
    return model


def told(model: CommitteeClassifier) -> str:
    x = {"amount": 3.0, "country": "DE"}
    probabilities = model.predict_proba_one(x)
    why: Explanation = model.explain_one(x)
    return f"{max(probabilities.values()):.2f} {why.label} {model.predict_one(x)}"


def run(folder: str) -> dict[str, Any]:
    engine = Engine(
        FileSource(["stream.csv"], label="y"),
        SAPLClassifier(),
        sink=FileSink("predictions.jsonl"),
        checkpoints=Checkpoints(folder),
        waiting=Waiting(most=10),
    )
    return engine.run(max_records=10)


def others() -> list[object]:
    keyed = KeyedClassifier(CommitteeClassifier(), key="country")
    number = LLSVMRegressor()
    number.learn_one({"x": 1.0}, 2.0)
    source = ListSource([{"x": 1.0, "y": "a"}], label="y")
    return [keyed, number, source, load_model("model.llsvm")]
