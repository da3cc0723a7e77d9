"""Records that count more or less: in blocks and one by one, late, after a crash, and in scores."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from river import base, linear_model, naive_bayes, preprocessing

from stream_llsvm import CommitteeClassifier, Engine, LLSVMClassifier, LLSVMRegressor
from stream_llsvm.connectors import ListSource
from stream_llsvm.connectors.base import Batch
from stream_llsvm.engine import Checkpoints
from stream_llsvm.engine.learner import Answers, Learner
from stream_llsvm.engine.progress import Progress
from stream_llsvm.learners.pipeline import payload_of
from stream_llsvm.model.file import dumps

N = 400


def stream() -> tuple[np.ndarray[Any, Any], list[Any], np.ndarray[Any, Any]]:
    rng = np.random.default_rng(3)
    values = rng.normal(size=(N, 3))
    labels: list[Any] = ["yes" if a * b > 0 else "no" for a, b, _ in values]
    weights = rng.choice([0.0, 0.5, 1.0, 3.0], size=N)
    for i in range(0, N, 17):
        labels[i] = None
    return values, labels, weights


def block() -> Batch:
    values, labels, weights = stream()
    return Batch(labels, [], {}, names=("a", "b", "c"), values=values, weights=weights)


class Told(base.Classifier):
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.learned: list[tuple[float, str, float]] = []

    def learn_one(self, x: dict[Any, Any], y: Any, w: float = 1.0) -> None:
        self.learned.append((x["a"], y, w))

    def predict_proba_one(self, x: dict[Any, Any], **kwargs: Any) -> dict[Any, float]:
        return {"yes": 0.5, "no": 0.5}


def shares(answers: Answers) -> list[list[float]]:
    assert answers.sure is not None
    assert answers.truth is not None
    return [answers.sure.tolist(), answers.truth.tolist()]


def own() -> LLSVMClassifier:
    return LLSVMClassifier(n_anchors=8, n_neighbors=2)


def test_a_block_and_one_by_one_learn_the_same_by_weight() -> None:
    batch = block()
    assert batch.values is not None
    assert batch.weights is not None
    together, alone, by_hand = Learner(own()), Learner(own()), own()
    answers = together.take(batch)
    rows = [dict(zip("abc", row, strict=True)) for row in batch.values.tolist()]
    told = alone.records(rows, batch.labels, batch.weights)
    for x, label, weight in zip(rows, batch.labels, batch.weights.tolist(), strict=True):
        by_hand.predict_proba_one(x)
        if label is not None:
            by_hand.learn_one(x, label, weight)
    assert list(answers.labels) == list(told.labels)
    assert shares(answers) == shares(told)
    state = payload_of(together.model)["state"].tobytes()
    assert state == payload_of(alone.model)["state"].tobytes()
    assert state == payload_of(by_hand)["state"].tobytes()


def test_a_record_without_weight_is_scored_and_not_learned() -> None:
    """Nor does a class count that has come without weight only."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=(60, 2))
    labels = ["a" if v > 0 else "b" for v in values[:, 0]]
    weights = np.ones(60)
    labels[40], weights[40:50] = "never", 0.0
    batch = Batch(list(labels), [], {}, names=("p", "q"), values=values, weights=weights)
    learner, progress = Learner(own()), Progress(100, None)
    answers = learner.take(batch)
    progress.score(batch.labels, answers, batch.weights)
    assert learner.model.classes in (("a", "b"), ("b", "a"))
    assert answers.truth is not None
    assert answers.truth[40] == 0.0
    assert (answers.truth[41:50] > 0).all()
    assert progress.counts["learned"] == 50
    assert progress.counts["weightless"] == 10
    assert progress.scores.seen == 60


def test_a_whole_batch_without_weight_is_scored_too() -> None:
    learner = Learner(own())
    learner.take(block())
    batch = block()
    labels = ["yes" if label is None else label for label in batch.labels]
    batch.labels, batch.weights = labels, np.zeros(N)
    answers = learner.take(batch)
    assert answers.truth is not None
    for i, x in enumerate(batch.record(i) for i in range(5)):
        assert answers.truth[i] == learner.model.predict_proba_one(x)[labels[i]]


def test_scores_count_each_record_alike() -> None:
    def accuracy(weights: np.ndarray[Any, Any] | None) -> float:
        labels = ["a", "b"] * 20
        values = np.array([[0.0], [1.0]] * 20)
        progress = Progress(100, None)
        learner = Learner(own())
        batch = Batch(labels, [], {}, names=("p",), values=values, weights=weights)
        answers = learner.take(batch)._replace(labels=["a"] * 40, given=None)
        progress.score(batch.labels, answers, weights)
        found: float = progress.report()["scores"]["cumulative"]["accuracy"]
        return found

    assert accuracy(None) == accuracy(np.array([9.0, 0.5] * 20)) == 0.5


@pytest.mark.parametrize("bad", [-1.0, float("nan"), float("inf"), 1e7])
def test_an_impossible_weight_of_a_source_is_refused_by_the_record(bad: float) -> None:
    batch = block()
    assert batch.weights is not None
    batch.weights[5] = bad
    answers = Learner(own()).take(batch)
    assert list(answers.refused) == [5]
    assert "the weight w must be a number from 0" in answers.refused[5]


def test_models_of_river_learn_by_weight_if_they_can() -> None:
    rows: list[dict[str, Any]] = [{"a": float(i % 7), "y": i % 7 > 3, "w": 2.0} for i in range(50)]

    def run(model: Any) -> Any:
        engine = Engine(ListSource(rows, label="y", weight="w"), model, detector=None)
        engine.run()
        return engine

    engine = run(linear_model.LogisticRegression())
    alone = linear_model.LogisticRegression()
    for row in rows:
        alone.learn_one({"a": row["a"]}, row["y"], w=2.0)
    assert dict(engine.model.weights) == dict(alone.weights)
    piped = run(preprocessing.StandardScaler() | linear_model.LogisticRegression())
    assert "no weights" not in [event["kind"] for event in piped.progress.events]
    told = run(naive_bayes.GaussianNB()).progress.events
    assert [one["text"] for one in told if one["kind"] == "no weights"] == [
        "a GaussianNB learns each record that counts as one"
    ]


def rows_of() -> list[dict[str, Any]]:
    values, labels, weights = stream()
    return [
        {**dict(zip("abc", row, strict=True)), "id": i, "y": y, "w": w}
        for i, (row, y, w) in enumerate(zip(values.tolist(), labels, weights.tolist(), strict=True))
    ]


def test_weights_and_a_run_that_goes_on(tmp_path: Path) -> None:
    def run(folder: Path, most: int | None = None) -> Engine:
        with closing(Checkpoints(folder)) as kept:
            source = ListSource(rows_of(), label="y", key="id", weight="w")
            engine = Engine(source, own(), checkpoints=kept, detector=None, max_batch=30)
            engine.run(most)
        return engine

    quiet = run(tmp_path / "quiet")
    for most in (100, 130, None):
        engine = run(tmp_path / "kept", most)
    assert dumps(payload_of(engine.model)) == dumps(payload_of(quiet.model))
    assert "w" not in own().features
    report = engine.report()
    _, labels, weights = stream()
    counted = [w for y, w in zip(labels, weights.tolist(), strict=True) if y is not None]
    assert report["learned"] == sum(w > 0 for w in counted)
    assert report["weightless"] == sum(w == 0 for w in counted)
    model: Any = engine.model
    assert model.features == ("a", "b", "c")


def test_a_late_label_finds_the_weight_of_its_record(tmp_path: Path) -> None:
    rows = rows_of()
    late = [{"id": row["id"], "y": row["y"]} for row in rows if row["y"] is not None]
    bare = [{name: v for name, v in row.items() if name != "y"} for row in rows]

    def run(folder: Path, most: int | None) -> Engine:
        with closing(Checkpoints(folder)) as kept:
            engine = Engine(
                ListSource(bare, label="y", key="id", weight="w"),
                Told(),
                labels=ListSource(late if most is None else [], label="y", key="id"),
                checkpoints=kept,
                detector=None,
                trust_pickle=True,
            )
            engine.run(most)
        return engine

    run(tmp_path / "kept", 200)  # which keeps what waits, with its weight
    engine = run(tmp_path / "kept", None)
    assert engine.report()["waiting"]["matched"] == len(late)
    assert engine.report()["weightless"] > 0
    model: Any = engine.model
    assert sorted(model.learned) == sorted(
        (row["a"], row["y"], row["w"]) for row in rows if row["y"] is not None and row["w"] > 0
    )


def test_a_weight_that_cannot_be_used_is_a_bad_field() -> None:
    weights: list[Any] = [1.0, -2, "much", float("inf"), None, float("nan"), [1], 1e7, 0, "0.5"]
    rows = [{"a": 1.0 * i, "y": i % 2, "w": w} for i, w in enumerate(weights)]
    batch = ListSource(rows, label="y", weight="w").poll(100, 0.0)
    assert batch is not None
    assert batch.weights is not None
    assert batch.weights.tolist() == [1, 1, 1, 1, 1, 1, 1, 1, 0, 0.5]
    assert [(one.place.number, one.reason) for one in batch.bad_fields] == [
        (2, "weight is negative"),
        (3, "weight is no number"),
        (4, "weight is infinite"),
        (7, "weight is no number"),
        (8, "weight is too large"),
    ]


def test_warm_start_learns_by_weight() -> None:
    values, labels, _ = stream()
    kept = [i for i, y in enumerate(labels) if y is not None]
    x, y = values[kept], [labels[i] for i in kept]
    plain, ones, less = own(), own(), own()
    plain.warm_start(x, y, epochs=3)
    ones.warm_start(x, y, epochs=3, w=np.ones(len(y)))
    assert dumps(payload_of(plain)) == dumps(payload_of(ones))
    weights = np.where(np.arange(len(y)) % 3 == 0, 0.0, 1.0)
    less.warm_start(x, y, epochs=3, w=weights)
    without = own()
    left = np.flatnonzero(weights)
    without.warm_start(x[left], [y[i] for i in left.tolist()], epochs=3)
    assert dumps(payload_of(less)) == dumps(payload_of(without))
    heavy = own()
    heavy.warm_start(x, y, epochs=3, w=np.where(np.array(y) == "yes", 5.0, 0.2))
    asked = {"a": 0.01, "b": 0.01, "c": 0.0}
    assert heavy.predict_proba_one(asked)["yes"] > plain.predict_proba_one(asked)["yes"]
    with pytest.raises(ValueError, match="knows no weights"):
        paper: dict[str, Any] = {"step_size": "paper", "loss": "hinge", "multiclass": "ovr"}
        model = LLSVMClassifier(l2=1e-4, **paper)
        model.warm_start(x, y, w=weights, solver="reference")


def test_a_committee_learns_by_weight_with_threads() -> None:
    batch = block()
    one, two = Learner(CommitteeClassifier()), Learner(CommitteeClassifier(threads=2))
    assert shares(one.take(batch)) == shares(two.take(batch))


def test_a_regressor_learns_by_weight() -> None:
    rng = np.random.default_rng(0)
    values = rng.normal(size=(200, 2))
    weights = rng.choice([0.0, 0.5, 1.0, 2.0], size=200)
    labels: list[Any] = (values @ [2.0, -1.0]).tolist()
    labels[3] = "none"  # rejected, with its weight
    batch = Batch(labels, list(range(200)), {}, names=("a", "b"), values=values, weights=weights)  # type: ignore[arg-type]
    together, alone = Learner(LLSVMRegressor()), LLSVMRegressor()
    batch = together.readable(batch)
    answers = together.take(batch)
    for i in (i for i in range(200) if i != 3):
        x, y = dict(zip("ab", values[i].tolist(), strict=True)), labels[i]
        alone.predict_one(x)
        if weights[i] > 0:
            alone.learn_one(x, y, float(weights[i]))
    asked = {"a": 0.3, "b": 0.4}
    assert together.model.predict_one(asked) == alone.predict_one(asked)
    progress = Progress(100, None, "regression")
    progress.score(batch.labels, answers, batch.weights)
    kept = np.delete(weights, 3)
    assert progress.counts["weightless"] == int((kept == 0).sum())
    assert progress.counts["learned"] == int((kept > 0).sum())
