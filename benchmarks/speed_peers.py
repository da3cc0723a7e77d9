"""Speed against river, record by record, and against adaptive random forests."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path

import numpy as np
import peers
import results
from numpy.typing import NDArray
from scores import Record, RecordLearner, predict_and_learn, run_blocks, run_records
from streams import Stream, load_stream
from timing import RATIO_HEADER, Effort, Rounds, Section, alternate, micros, needed

FEATURES = 22


def one_by_one(learner: str, data: Path | None, effort: Effort) -> Section:
    """Time predict_one and learn_one on dicts against river's scaled logistic regression."""
    X, y = two_classes(effort.rows(20_000))
    records: list[Record] = [
        {f"feature_{i}": value for i, value in enumerate(row)} for row in X.tolist()
    ]
    labels: list[bool] = y.tolist()

    def runner(make: Callable[[], RecordLearner]) -> Callable[[], float]:
        return lambda: micros(lambda: predict_and_learn(make(), records, labels), len(records))

    predict_and_learn(peers.ours(learner), records[:100], labels[:100])
    mine, theirs = learner, "river StandardScaler | LogisticRegression"
    times = alternate(
        {
            mine: runner(lambda: peers.ours(learner)),
            theirs: runner(lambda: peers.logistic_regression(2)),
        },
        effort.rounds,
    )
    note = f"{len(records):,} dicts of {FEATURES} floats, 2 classes, a fresh model a round."
    return Section("predict_one and learn_one", _versus(times, mine, note))


def forests(learner: str, data: Path | None, effort: Effort) -> Section:
    """Time test_then_learn on electricity against river's and MOA's adaptive random forests."""
    stream = load_stream(needed(data), "electricity", effort.rows(45_312))
    first = Stream(stream.name, stream.X[: effort.rows(5_000)], stream.y, None)
    first = first._replace(y=stream.y[: len(first.X)])
    run_blocks(peers.ours(learner), first, 1_000)
    mine, theirs = learner, "river ARFClassifier(10)"
    runners = {
        mine: lambda: run_blocks(peers.ours(learner), stream, 1_000).micros(),
        theirs: lambda: run_records(peers.adaptive_forest(2), first).micros(),
    }
    note = (
        f"Electricity: {len(stream.y):,} rows in blocks of 1,000 for `{learner}`, the first "
        f"{len(first.y):,} rows for river's forest, whose trees are then still small: its price "
        "over the whole stream is higher."
    )
    if importlib.util.find_spec("capymoa") is None:
        note += " CapyMOA is not installed here: MOA's forest was not run."
    else:
        moa_forest(first)
        runners["MOA ARF(10) through CapyMOA"] = lambda: moa_forest(stream)
    return Section("test_then_learn", _versus(alternate(runners, effort.rounds), mine, note))


def moa_forest(stream: Stream) -> float:
    """Return MOA's microseconds per record, evaluated by CapyMOA's own loop."""
    # Optional, and it starts a Java machine: imported only when it is there to be measured.
    from capymoa.classifier import AdaptiveRandomForestClassifier
    from capymoa.evaluation import prequential_evaluation
    from capymoa.stream import NumpyStream

    source = NumpyStream(stream.X.astype(np.float64), stream.y, target_type="categorical")
    model = AdaptiveRandomForestClassifier(source.get_schema(), ensemble_size=10, random_seed=1)
    return micros(lambda: prequential_evaluation(source, model), len(stream.y))


def two_classes(rows: int, seed: int = 0) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """Return rows of normal features and labels that no plane divides."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rows, FEATURES), dtype=np.float32)
    return X, X[:, 0] * X[:, 1] + X[:, 2] > 0


def _versus(times: Rounds, mine: str, note: str) -> str:
    lines = [[mine, results.figure(times.micros(mine)), "-"]]
    for name in times:
        if name != mine:
            ratio = times.ratio(mine, name)
            said = f"{times.times(name, mine)} faster"
            if ratio > 1:
                said = f"{times.times(mine, name)} slower"
            lines.append([name, results.figure(times.micros(name)), f"{ratio:.3f} of it, {said}"])
    return results.table(RATIO_HEADER, lines) + "\n\n" + note
