"""Members that sleep: who, when, and that nothing else is to be noticed of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from stream_llsvm import CommitteeClassifier
from stream_llsvm.kernels.mixer import AWAKE, POWER
from stream_llsvm.kernels.plan import MEMBER_ROW
from stream_llsvm.kernels.sleep import TERM, TERMS_ASLEEP
from tests.learners.support import everything, small, sound
from tests.learners.test_committee import FEW, stream


def thrifty(**options: Any) -> CommitteeClassifier:
    """Return a small committee whose members cost more than it may spend."""
    model = small(CommitteeClassifier, **({"budget": 1} | options))
    assert isinstance(model, CommitteeClassifier)
    return model


def awake(model: CommitteeClassifier) -> list[bool]:
    return [report.awake for report in model.mixture]


def put_to_sleep(model: CommitteeClassifier, which: int) -> None:
    assert model._state is not None
    model._state.views(0)["members"][AWAKE, which] = 0


def test_within_the_budget_all_are_awake() -> None:
    X, y = stream(8 * TERM)
    model = CommitteeClassifier(members=FEW)
    model.learn_many(X, y)
    assert all(awake(model))


def test_beyond_the_budget_one_after_the_other_falls_asleep_but_not_the_last() -> None:
    X, y = stream(10 * TERM)
    model, asleep = thrifty(), []
    for i in range(0, len(X), TERM):
        model.learn_many(X[i : i + TERM], y[i : i + TERM])
        asleep.append(awake(model).count(False))
    assert set(np.diff([0, *asleep]).tolist()) <= {0, 1}
    assert 0 < asleep[-1] < len(FEW)


def test_a_sleeper_is_woken_now_and_then() -> None:
    X, y = stream(TERM * TERMS_ASLEEP + 100)
    model = thrifty()
    before: list[bool] = []
    woken = 0
    for i in range(0, len(X), 100):
        model.learn_many(X[i : i + 100], y[i : i + 100])
        now = awake(model)
        woken += sum(a and not b for a, b in zip(now, before or now, strict=True))
        before = now
    assert woken == 1


def test_a_sleeper_keeps_what_it_knows() -> None:
    X, y = stream(600)
    model = thrifty()
    model.learn_many(X[:300], y[:300])
    assert model._state is not None
    for which in range(len(FEW)):
        put_to_sleep(model, which)
        before = {k: v.copy() for k, v in model._state.views(1 + which).items() if k != "touched"}
        places = model._state._places[1 + which]
        model.learn_many(X[300:350], y[300:350])
        for name, view in model._state.views(1 + which).items():
            if places[name][4] == "state":
                assert np.array_equal(view, before[name]), name
        model._state.views(0)["members"][AWAKE, which] = 1


def test_rows_and_blocks_are_the_same_while_members_sleep() -> None:
    X, y = stream(6 * TERM + 50)
    block, single = thrifty(), thrifty()
    block.learn_many(X, y)
    assert not all(awake(block))
    for row, label in zip(X.tolist(), y.tolist(), strict=True):
        single.predict_one(dict(enumerate(row)))
        single.learn_one(dict(enumerate(row)), label)
    assert everything(block) == everything(single)


def test_a_warm_start_sends_at_most_one_to_sleep() -> None:
    X, y = stream(1_137)
    model = thrifty()
    model.warm_start(X, y, epochs=1)
    assert len(X) - int(0.1 * len(X)) == 2 * TERM, "the passes end where it is decided"
    assert awake(model).count(False) <= 1


@pytest.mark.parametrize("which", range(len(FEW)))
def test_a_sleeper_has_no_part_in_an_explanation(which: int) -> None:
    X, y = stream(600)
    model = small(CommitteeClassifier)
    assert isinstance(model, CommitteeClassifier)
    model.learn_many(X, y)
    put_to_sleep(model, which)
    x = dict(enumerate(X[7].tolist()))
    score = model.decision_function_one(x)
    explained = model.explain_one(x)
    parts = explained.bias + explained.memory + sum(explained.contributions.values())
    assert explained.members[FEW[which]] == 0
    assert parts == pytest.approx(score[explained.label], rel=1e-3, abs=1e-3)


def test_nobody_votes_in_a_memory_that_sleeps() -> None:
    X, y = stream(300)
    model = thrifty()
    model.learn_many(X, y)
    put_to_sleep(model, 3)
    assert model.explain_one({0: 1.0}).voters == []


def test_a_member_that_has_slept_long_is_no_louder_than_it_was() -> None:
    X, y = stream(4_000)
    model = thrifty(budget=10**9)
    model.learn_many(X[:1_000], y[:1_000])
    assert model._state is not None
    first = model._state.plan[2, MEMBER_ROW.first_expert]
    before = float(model._state.views(0)["mixer"][POWER, first])
    put_to_sleep(model, 1)
    model.learn_many(X[1_000:], y[1_000:])
    after = float(model._state.views(0)["mixer"][POWER, first])
    assert after == pytest.approx(before, rel=0.1)


# ---- reports


def test_the_mixture_reports_on_every_member() -> None:
    X, y = stream(2_000)
    model = CommitteeClassifier(members=FEW)
    assert model.mixture == []
    model.learn_many(X, y)
    assert [report.name for report in model.mixture] == list(FEW)
    assert model._state is not None
    for report, member in zip(model.mixture, model._state.members, strict=True):
        assert len(report.weights) == member.experts(*model._state.shape)
        assert 0 < report.log_loss < np.log(3) * 1.5
        assert 0.2 < report.accuracy < 1
        assert np.isfinite(report.worth)


def test_what_a_member_reports_is_how_it_does_alone() -> None:
    """Over the records it still remembers. Ferns alone have no metric to draw their features by.

    Contexts say nothing of numbers.
    """
    X, y = stream(6_000)
    few = tuple(name for name in FEW if not name.startswith(("ferns", "contexts")))
    assert len(few) == len(FEW) - 2
    together = CommitteeClassifier(members=few)
    together.learn_many(X, y)
    for report in together.mixture:
        told = CommitteeClassifier(members=(report.name,)).test_then_learn(X, y)
        assert report.accuracy == pytest.approx(np.mean(told[-800:] == y[-800:]), abs=0.06)


def test_a_member_that_knows_is_worth_more_than_one_that_guesses() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3_000, 4))
    y = X[:, 0] * X[:, 1] > 0
    model = CommitteeClassifier(members=("anchors:1", "anchors:50"))
    model.learn_many(X, y)
    guesser, knower = model.mixture
    assert knower.worth > guesser.worth + 0.05
    assert knower.accuracy > guesser.accuracy + 0.2


def test_the_relevance_of_features_is_the_metrics() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3_000, 6))
    model = CommitteeClassifier(members=("anchors:1", "memory:500"))
    assert model.feature_relevance == {}
    model.learn_many(X, X[:, 0] * X[:, 1] > 0)
    relevance = model.feature_relevance
    assert sorted(relevance) == list(range(6))
    assert np.mean(list(relevance.values())) == pytest.approx(1)
    assert min(relevance[0], relevance[1]) > 2 * max(relevance[i] for i in range(2, 6))
    assert CommitteeClassifier(members=("ferns",)).feature_relevance == {}


def test_no_features_have_no_relevance() -> None:
    model = CommitteeClassifier(members=("memory",))
    model.learn_one({}, "a")
    assert model.feature_relevance == {}


# ---- threads


@pytest.mark.parametrize("threads", [2, 3, 16])
@pytest.mark.parametrize("budget", ["auto", 1])
def test_threads_change_nothing_to_the_bit(budget: Any, threads: int) -> None:
    X, y = stream(4 * TERM + 77)
    w = np.random.default_rng(0).choice([0.0, 0.5, 1.0, 2.0], len(X))
    one, many = (small(CommitteeClassifier, budget=budget, threads=t) for t in (1, threads))
    told = [model.test_then_learn(X, y, w) for model in (one, many)]
    assert told[0].tolist() == told[1].tolist()
    assert everything(one) == everything(many)
    assert np.array_equal(one.predict_proba_many(X), many.predict_proba_many(X))
    assert sound(many)


def test_threads_and_sparse_records() -> None:
    import pandas as pd

    rng = np.random.default_rng(0)
    one, many = (small(CommitteeClassifier, threads=t) for t in (1, 2))
    for i in range(20):
        names = [f"w{j}" for j in rng.choice(150, 8, replace=False)]
        frame = pd.DataFrame(rng.poisson(1.0, (30, 8)).astype(float), columns=names)
        labels = rng.integers(0, 2 + i // 5, 30)
        for model in (one, many):
            model.learn_many(frame, labels)
    assert everything(one) == everything(many)


@pytest.mark.parametrize("threads", [1, 2])
def test_an_answer_is_not_kept_beyond_what_is_learned_since(threads: int) -> None:
    X, y = stream(600)
    model = small(CommitteeClassifier, threads=threads)
    model.learn_many(X[:500], y[:500])
    x = dict(enumerate(X[7].tolist()))
    model.predict_one(x)
    model.learn_many(X[500:], y[500:])
    told = model.predict_proba_one(x)
    model.predict_one({0: 9.0})
    assert told == model.predict_proba_one(x)
