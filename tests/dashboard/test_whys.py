"""Explanations on the page are those of the model, each made once."""

from __future__ import annotations

from typing import Any

import pytest

from stream_llsvm import CommitteeClassifier, SAPLClassifier
from stream_llsvm.dashboard.whys import Whys, explained
from tests.dashboard.support import Run, quadrants, sendable


def test_a_why_is_the_models_explanation() -> None:
    run = Run(CommitteeClassifier(members=("anchors:12", "additive", "memory", "ferns:8")))
    run.learn(*quadrants(500), names=["a", "b"])
    one, copy = run.recent[-1], run.copy
    why: Any = sendable(explained(copy, one, 0))
    expected = copy.explain_one(one.x, one.prediction)
    assert (why["record"], why["place"]) == (500, "rows:500")
    assert (why["label"], why["truth"]) == (one.prediction, one.label)
    assert why["score"] == pytest.approx(expected.score, rel=1e-3)
    assert dict(why["contributions"]) == pytest.approx(expected.contributions, rel=1e-3)
    assert dict(why["values"]) == pytest.approx(one.x, rel=1e-3)
    assert why["members"] == pytest.approx(expected.members, rel=1e-3)
    assert len(why["voters"]) == len(expected.voters) == 20
    assert sum(anchor["share"] for anchor in why["anchors"]) == pytest.approx(1, abs=1e-3)
    parts = why["bias"] + why["memory"] + why["rest"] + sum(v for _, v in why["contributions"])
    assert parts == pytest.approx(why["score"], abs=1e-2)


def test_what_is_not_listed_is_in_the_rest() -> None:
    run = Run(SAPLClassifier(n_anchors=12))
    run.learn(*quadrants(300, 0, 60))
    why: Any = explained(run.copy, run.recent[-1], 0)
    assert len(why["contributions"]) == 12
    assert len(why["values"]) == 40
    parts = why["bias"] + why["rest"] + sum(v for _, v in why["contributions"])
    assert parts == pytest.approx(why["score"], abs=1e-2)
    sizes = [abs(v) for _, v in why["contributions"]]
    assert sizes == sorted(sizes, reverse=True)


def test_the_newest_come_first_and_each_once() -> None:
    run, whys = Run(SAPLClassifier(n_anchors=12)), Whys()
    run.learn(*quadrants(100))
    seen: list[Any] = []
    for _ in range(8):
        seen = whys.look(run.copy, run.recent, 0)
    assert [why["record"] for why in seen] == list(range(100, 92, -1))
    run.learn(*quadrants(20, 1))
    again = whys.look(run.copy, run.recent, 0)
    assert again[0]["record"] == 120
    assert len(again) == 8
    assert any(why is old for why in again for old in seen) or again[-1]["record"] >= 113
    # Beside the map of another member the answers stay; the anchors that gave them do not.
    assert any(why["anchors"] for why in again)
    other = whys.look(run.copy, run.recent, None)
    assert len(other) == 8
    assert not any(why["anchors"] for why in other)


def test_what_cannot_be_explained_is_left_out() -> None:
    run = Run(SAPLClassifier(n_anchors=12))
    run.learn(*quadrants(50))
    last = run.recent[-1]
    odd_x: list[Any] = [{0: "text"}, {0: 10**400}]
    odd = [
        last._replace(record=51, x=odd_x[0]),
        last._replace(record=52, prediction="never seen"),
        last._replace(record=53, prediction=None),
        last._replace(record=54, x=odd_x[1]),
    ]
    whys = Whys()
    for _ in range(8):
        seen = whys.look(run.copy, [*run.recent, *odd], 0)
    assert {why["record"] for why in seen} <= set(range(43, 51))
    assert seen
