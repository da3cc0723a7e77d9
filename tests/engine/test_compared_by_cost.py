"""Challengers of a run with costs are compared by what their decisions would cost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stream_llsvm import Decision, Engine, LLSVMClassifier, PegasosClassifier
from stream_llsvm.connectors import ListSource
from stream_llsvm.engine.checkpoints import Checkpoints
from stream_llsvm.engine.late_labels import Waiting

COSTS = {"fraud": {"fine": 30.0}, "fine": {"fraud": 2.0, "fine": -1.0}}
Rows = list[dict[str, Any]]


def rows(n: int) -> Rows:
    x = np.random.default_rng(5).normal(size=(n, 2))
    return [
        {"a": a, "b": b, "id": i, "y": "fraud" if a * b > 0.8 else "fine"}
        for i, (a, b) in enumerate(x.tolist())
    ]


def made(source: ListSource, **more: Any) -> Engine:
    return Engine(
        source, PegasosClassifier(), challengers={"other": LLSVMClassifier()},
        decision=Decision(costs=COSTS), **more,
    )  # fmt: skip


def by_hand(data: Rows) -> list[float]:
    """Return each challenger's cost minus the champion's, of the records that both answered."""
    models = (LLSVMClassifier(), PegasosClassifier())
    decision, found = Decision(costs=COSTS), []
    for row in data:
        x = {k: row[k] for k in "ab"}
        told = [model.predict_proba_one(x) for model in models]
        if all(told):
            costs = [decision.cost(row["y"], decision.decide(one).label) for one in told]
            found.append(costs[0] - costs[1])
        for model in models:
            model.learn_one(x, row["y"])
    return found


@pytest.mark.parametrize("size", [1, 64, 1_000])
def test_the_difference_is_that_of_costs(size: int) -> None:
    data = rows(600)
    engine = made(ListSource(data, label="y", key="id"), max_batch=size)
    report = engine.run()
    wanted = by_hand(data)
    (rival,) = report["challengers"]
    assert (rival["by_cost"], rival["compared"]) == (True, len(wanted))
    assert rival["difference"] == pytest.approx(np.mean(wanted))
    assert abs(rival["difference"]) > 1  # no error rates could differ by so much
    assert rival["low"] < rival["difference"] < rival["high"]
    (verdict,) = [one["text"] for one in engine.progress.events if one["kind"] == "verdict"]
    assert verdict.startswith("other costs less than original (by ")
    assert rival["scores"]["cumulative"]["accuracy"] < 1  # its own scores stay what they are


def test_of_late_labels_it_is_what_was_decided_then(tmp_path: Path) -> None:
    data = rows(600)
    begun, asked = data[:100], [{k: v for k, v in one.items() if k != "y"} for one in data[100:]]

    def engine(kept: Checkpoints, labels: Rows) -> Engine:
        source = ListSource([*begun, *asked], label="y", key="id")
        late = ListSource(labels, label="y", key="id")
        return made(source, labels=late, waiting=Waiting(), checkpoints=kept, max_batch=100)

    kept = Checkpoints(tmp_path)
    first = engine(kept, [])
    first.run()
    (before,) = first.report()["challengers"]
    assert before["compared"] == len(by_hand(begun))
    kept.close()
    kept = Checkpoints(tmp_path)
    second = engine(kept, [{"id": one["id"], "y": one["y"]} for one in data[100:]])
    second.run()  # what waited was kept, with what both would have decided
    (after,) = second.report()["challengers"]
    assert after["compared"] == before["compared"] + 500
    models, decision, wanted = (LLSVMClassifier(), PegasosClassifier()), Decision(costs=COSTS), []
    for row in begun:
        for model in models:
            model.learn_one({k: row[k] for k in "ab"}, row["y"])
    for row in data[100:]:
        told = [model.predict_proba_one({k: row[k] for k in "ab"}) for model in models]
        costs = [decision.cost(row["y"], decision.decide(one).label) for one in told]
        wanted.append(costs[0] - costs[1])
    whole = sum(by_hand(begun)) + sum(wanted)
    assert after["difference"] * after["compared"] == pytest.approx(whole)
    kept.close()


def test_with_other_costs_the_comparison_begins_anew(tmp_path: Path) -> None:
    data = rows(400)
    for costs, compared in ((COSTS, 199), (COSTS, 299), ({"fraud": {"fine": 9.0}}, 50), (None, 50)):
        kept = Checkpoints(tmp_path)
        decision = None if costs is None else Decision(costs=costs)
        engine = Engine(
            ListSource(data, label="y", key="id"), PegasosClassifier(), checkpoints=kept,
            challengers={"other": LLSVMClassifier()}, decision=decision, max_batch=50,
        )  # fmt: skip
        engine.run({199: 200, 299: 100}.get(compared, 50))
        (rival,) = engine.report()["challengers"]
        assert (rival["compared"], rival["by_cost"]) == (compared, costs is not None)
        kept.close()
