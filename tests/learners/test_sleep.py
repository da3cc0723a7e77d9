"""Members that rest: who, when, and that nothing else is to be noticed of it."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from stream_llsvm import CommitteeClassifier
from stream_llsvm.kernels.judge import JUDGE_FADE, JUDGE_ONE_IN
from stream_llsvm.kernels.mixer import AWAKE, JUDGED, POWER, SINCE
from stream_llsvm.kernels.plan import MEMBER_ROW
from stream_llsvm.kernels.run import TAUGHT
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


def lines(n: int, seed: int = 0) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Draw records of which a straight line knows all that can be known."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, (X[:, 0] + 0.5 * rng.normal(size=n) > 0).astype(np.int64)


def boards(n: int, seed: int = 0) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Draw records of a chess board, of which a line knows nothing and the neighbours much."""
    X = np.random.default_rng(seed).normal(size=(n, 3))
    return X, (np.floor(X[:, 0]) + np.floor(X[:, 1])).astype(np.int64) % 2


#: A line, and others, the memory the dearest, that are worth nothing where a line knows all.
LINE_AND_OTHERS = ("anchors:1", "anchors:30", "memory:200", "waves:32")
#: How many records it takes until the memory rests.
SETTLED = 6_000


def settled(**options: Any) -> CommitteeClassifier:
    """Return a committee of which some rest since a line knows all."""
    model = CommitteeClassifier(members=LINE_AND_OTHERS, **options)
    model.learn_many(*lines(SETTLED))
    assert not awake(model)[2]
    return model


def test_who_is_worth_nothing_rests_at_any_budget() -> None:
    model = CommitteeClassifier(members=LINE_AND_OTHERS, budget=10**12)
    X, y = lines(SETTLED)
    model.learn_many(X[:1_000], y[:1_000])
    assert all(awake(model)), "nobody rests before it has been judged for long"
    model.learn_many(X[1_000:], y[1_000:])
    assert awake(model)[0] and not awake(model)[2]


def test_the_price_of_a_stream_falls_and_its_accuracy_does_not() -> None:
    """In nanoseconds as the plan has them: time itself is measured elsewhere."""
    X, y = lines(20_000)
    model, all_awake = (CommitteeClassifier(members=LINE_AND_OTHERS) for _ in range(2))
    paid, hits, hits_of_all = [], 0, 0
    for i in range(0, len(X), 500):
        some, labels = X[i : i + 500], y[i : i + 500]
        hits += int((model.test_then_learn(some, labels) == labels).sum())
        assert all_awake._state is None or all(awake(all_awake))
        hits_of_all += int((all_awake.test_then_learn(some, labels) == labels).sum())
        assert model._state is not None and all_awake._state is not None
        all_awake._state.views(0)["members"][JUDGED] = 0
        price = model._state.plan[1:, MEMBER_ROW.price]
        works = np.array(awake(model))
        paid.append(float((price * np.where(works, 1, 1 / JUDGE_ONE_IN)).sum() / price.sum()))
    assert paid[0] == 1
    assert np.mean(paid[len(paid) // 2 :]) < 0.7
    assert hits > hits_of_all - 0.001 * len(X)


def test_all_wake_when_the_stream_changes() -> None:
    model = settled()
    X, y = boards(1_500)
    before = awake(model)
    model.learn_many(X[: 2 * TERM], y[: 2 * TERM])
    assert all(awake(model)) and not all(before)
    told = model.test_then_learn(X[2 * TERM :], y[2 * TERM :])
    assert np.mean(told[-300:] == y[-300:]) > 0.75


def test_who_is_worth_much_wakes_although_errors_do_not_rise() -> None:
    """A board comes little by little: the neighbours are asked now and then, and are heard."""
    model, rng = settled(), np.random.default_rng(3)
    assert not awake(model)[2]
    X, y = lines(20_000, seed=1)
    others, theirs = boards(len(X), seed=2)
    new = rng.random(len(X)) < np.linspace(0, 1, len(X))
    X[new], y[new] = others[new], theirs[new]
    woken = 0
    for i in range(0, len(X), TERM):
        model.learn_many(X[i : i + TERM], y[i : i + TERM])
        woken += awake(model)[2]
    assert awake(model)[2] and woken < len(X) / TERM


def test_beyond_the_budget_one_after_the_other_rests_but_not_the_last() -> None:
    X, y = stream(20 * TERM)
    model, asleep = thrifty(), []
    for i in range(0, len(X), TERM):
        model.learn_many(X[i : i + TERM], y[i : i + TERM])
        asleep.append(awake(model).count(False))
    assert max(np.diff([0, *asleep])) == 1
    assert 2 <= max(asleep) < len(FEW)


def test_who_rests_has_its_turn_now_and_then() -> None:
    model = settled()
    assert model._state is not None
    turn = TERM * TERMS_ASLEEP
    X, y = lines(turn, seed=1)
    left = turn - int(model._state.views(0)["counters"][TAUGHT])
    model.learn_many(X[: left - 1], y[: left - 1])
    facts = model._state.views(0)["members"]
    assert not all(awake(model))
    longest = np.flatnonzero(facts[AWAKE] == 0)[np.argmin(facts[SINCE, facts[AWAKE] == 0])]
    model.learn_many(X[left - 1 : left], y[left - 1 : left])
    assert awake(model)[longest] and facts[SINCE, longest] == turn


@pytest.mark.parametrize("which", range(len(FEW)))
def test_who_rests_learns_the_records_that_it_is_judged_on(which: int) -> None:
    """And keeps what it knows on all others, and when it is only asked."""
    X, y = stream(600)
    model = thrifty()
    model.learn_many(X[:300], y[:300])
    assert model._state is not None
    put_to_sleep(model, which)
    places = model._state._places[1 + which]
    changed = []
    for i in range(300, 320):
        before = {k: v.copy() for k, v in model._state.views(1 + which).items()}
        model.predict_many(X[:3])
        model.learn_one(dict(enumerate(X[i].tolist())), int(y[i]))
        same = [
            np.array_equal(view, before[name])
            for name, view in model._state.views(1 + which).items()
            if places[name].where == "state" and name != "touched"
        ]
        if not all(same):
            changed.append(i + 1)
    silent = FEW[which].startswith(("contexts", "words"))  # which learn nothing of numbers
    assert changed == ([304, 312, 320] if changed or not silent else [])


# ---- however records arrive


def fed(model: CommitteeClassifier, how: str, X: Any, y: Any) -> CommitteeClassifier:
    """Teach records in rows, in blocks of other sizes, on threads, or with a break."""
    if how == "rows":
        for row, label in zip(X.tolist(), y.tolist(), strict=True):
            model.predict_one(dict(enumerate(row)))
            model.learn_one(dict(enumerate(row)), label)
    elif how == "a break":
        half = len(X) // 2 + 5
        model.test_then_learn(X[:half], y[:half])
        model = pickle.loads(pickle.dumps(model))
        model.test_then_learn(X[half:], y[half:])
    elif how == "blocks":
        for i in range(0, len(X), 37):
            model.test_then_learn(X[i : i + 37], y[i : i + 37])
    else:
        model.test_then_learn(X, y)
    return model


@pytest.mark.parametrize("how", ["rows", "a break", "blocks", "threads"])
@pytest.mark.parametrize("resting", [(0, 3, 6), (1, 2, 4, 5, 7)])
def test_nothing_hangs_on_how_records_arrive(how: str, resting: tuple[int, ...]) -> None:
    """While some rest and are judged, rest and wake: the memory and the ferns among them."""
    X, y = stream(4 * TERM + 50)
    begun = small(CommitteeClassifier)
    assert isinstance(begun, CommitteeClassifier)
    begun.learn_many(X[:300], y[:300])
    for which in resting:
        put_to_sleep(begun, which)
    one, other = copy.deepcopy(begun), copy.deepcopy(begun)
    other.threads = 2 if how == "threads" else 1
    one.test_then_learn(X[300:], y[300:])
    other = fed(other, how, X[300:], y[300:])
    other.threads = 1
    assert everything(one) == everything(other)


def test_nothing_hangs_on_it_where_members_change() -> None:
    one, other = settled(), settled(threads=2)
    X, y = boards(3 * TERM)
    assert not all(awake(one))
    one.learn_many(X, y)
    for row, label in zip(X[:TERM].tolist(), y[:TERM].tolist(), strict=True):
        other.learn_one(dict(enumerate(row)), label)
    other.learn_many(X[TERM:], y[TERM:])
    other.threads = 1
    assert all(awake(one))
    assert everything(one) == everything(other)


def test_a_late_label_teaches_those_who_rest_too() -> None:
    """Rows and blocks alike: what is foretold is what was said, and who rests said nothing."""
    X, y = stream(700)
    models = []
    for block in (1, 50):
        model = small(CommitteeClassifier)
        assert isinstance(model, CommitteeClassifier)
        model.learn_many(X[:500], y[:500])
        for which in (1, 3, 6):
            put_to_sleep(model, which)
        model.predict_many(X[500:])
        for i in range(500, 700, block):
            model.learn_many(X[i : i + block], y[i : i + block])
        models.append(model)
    assert models[0]._state is not None
    assert (models[0]._state.views(0)["members"][JUDGED, [1, 3, 6]] > 20).all()
    assert everything(models[0]) == everything(models[1])


def test_new_classes_and_features_change_nothing_of_who_rests() -> None:
    model = settled()
    before = awake(model)
    assert model._state is not None
    errors = model._state.views(0)["errors"].copy()
    model.learn_one({0: 0.1, 1: 0.2, 2: 0.3, "new": 1.0}, "a class of its own")
    assert awake(model) == before
    assert model._state.views(0)["errors"][2] == errors[2] + 1


def test_a_merged_model_works_where_any_works() -> None:
    one, other = settled(), settled()
    X, y = boards(2 * TERM)
    other.learn_many(X, y)
    assert all(awake(one.merge([other])))
    assert awake(one.merge([settled()])) == awake(one)


def test_in_history_everybody_works() -> None:
    X, y = stream(1_137)
    model = thrifty()
    model.warm_start(X, y, epochs=2)
    assert all(awake(model))


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


def test_a_member_that_has_rested_long_is_about_as_loud_as_if_it_had_not() -> None:
    X, y = stream(2_300)
    power = []
    for rests in (False, True):
        model = thrifty(budget=10**9)
        model.learn_many(X[:500], y[:500])
        assert model._state is not None
        if rests:
            put_to_sleep(model, 1)
            model._state.views(0)["members"][JUDGED, 1] = -10_000  # not woken meanwhile
        model.learn_many(X[500:], y[500:])
        assert awake(model)[1] is not rests
        first = model._state.plan[2, MEMBER_ROW.first_expert]
        power.append(float(model._state.views(0)["mixer"][POWER, first]))
    assert 0.2 < power[1] / power[0] < 2


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
    X, y = stream(2_400)  # as long as nobody rests
    few = tuple(name for name in FEW if not name.startswith(("ferns", "contexts")))
    assert len(few) == len(FEW) - 2
    together = CommitteeClassifier(members=few)
    together.learn_many(X, y)
    remembered = JUDGE_FADE ** (np.arange(len(y))[::-1] / JUDGE_ONE_IN)
    for report in together.mixture:
        told = CommitteeClassifier(members=(report.name,)).test_then_learn(X, y)
        right = np.average(told == y, weights=remembered)
        assert report.accuracy == pytest.approx(right, abs=0.1)


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
    X, y = stream(8 * TERM + 77)
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
