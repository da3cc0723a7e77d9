"""The decision who works and who rests, on facts made up."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from stream_llsvm.kernels import sleep
from stream_llsvm.kernels.mixer import (
    AWAKE,
    JUDGED,
    MEMBER_FACTS,
    SINCE,
    WORTH,
    WORTH_SQUARED,
)
from stream_llsvm.kernels.plan import (
    LEAVES_METRIC,
    MEMBER_ROW,
    MODEL_ROW,
    PLAN_WIDTH,
    READS_METRIC,
)
from tests.kernels.alone import alone

Array = NDArray[Any]
PRICES = (200, 1_000, 6_000)
decide, follow_errors = alone(sleep.decide), alone(sleep.follow_errors)


def facts_of(*worth: float, awake: str | None = None, judged: float = 1_000) -> Array:
    """Make facts of members of this worth, judged often and without much doubt."""
    facts = np.zeros((MEMBER_FACTS, len(worth)))
    facts[AWAKE] = [int(a) for a in awake or "1" * len(worth)]
    facts[WORTH], facts[JUDGED] = worth, judged
    facts[WORTH_SQUARED] = facts[WORTH] ** 2 + 1e-8
    return facts


def plan_of(prices: tuple[int, ...] = PRICES, **model: int) -> Array:
    """Make a plan of members with an expert each, that cost as many multiply-adds as time."""
    plan = np.zeros((1 + len(prices), PLAN_WIDTH), dtype=np.int64)
    sizes = {"width": 10, "classes": 2, "budget": 10**9, "counted_experts": len(prices)} | model
    for name, size in sizes.items():
        plan[0, MODEL_ROW._fields.index(name)] = size
    plan[1:, MEMBER_ROW.width] = sizes["width"]
    for m, price in enumerate(prices):
        plan[1 + m, MEMBER_ROW.price] = plan[1 + m, MEMBER_ROW.cost] = price
        plan[1 + m, MEMBER_ROW.first_expert], plan[1 + m, MEMBER_ROW.experts] = m, 1
    return plan


def decided(facts: Array, plan: Array, learned: int = 10 * sleep.TERM, named: float = 0) -> str:
    """Decide once; returns who works."""
    decide(facts, np.zeros(sleep.ERROR_FACTS), plan, float(learned), float(named))
    return "".join(str(int(a)) for a in facts[AWAKE])


def test_the_dearest_of_those_who_are_not_worth_their_price_rests() -> None:
    facts = facts_of(0.0, 0.0, 0.0)
    assert decided(facts, plan_of()) == "110"
    assert facts[SINCE].tolist() == [0, 0, 10 * sleep.TERM]
    assert facts[JUDGED].tolist() == [sleep.AFTER_A_CHANGE] * 2 + [0]
    assert decided(facts, plan_of()) == "110", "the others are judged anew first"


def test_a_dear_member_must_be_worth_more_than_a_cheap_one() -> None:
    assert decided(facts_of(0.003, 0.003, 0.003), plan_of()) == "110"
    assert decided(facts_of(0.003, 0.003, 0.009), plan_of()) == "111"
    assert decided(facts_of(0.003, 0.0001, 0.009), plan_of()) == "101"


@pytest.mark.parametrize(("microseconds", "nats"), [(0.5, 0.0005), (10, 0.01), (40, 0.04)])
def test_what_is_asked_rises_with_the_price(microseconds: float, nats: float) -> None:
    prices = (200, int(1_000 * microseconds))
    assert decided(facts_of(1.0, 1.05 * nats), plan_of(prices)) == "11"
    assert decided(facts_of(1.0, 0.95 * nats), plan_of(prices)) == "10"


@pytest.mark.parametrize(("classes", "judged"), [(2, 256), (8, 512)])
def test_nobody_rests_before_it_has_been_judged_enough(classes: int, judged: int) -> None:
    """With more classes it learns more slowly."""
    plan = plan_of(classes=classes)
    assert decided(facts_of(0.0, 0.0, 0.0, judged=judged - 1), plan) == "111"
    assert decided(facts_of(0.0, 0.0, 0.0, judged=judged), plan) == "110"


def test_nobody_rests_or_wakes_in_doubt() -> None:
    """The standard deviation of a worth of 500 judgements is 0.2 / sqrt(500)."""
    for awake in ("111", "110"):
        facts = facts_of(1.0, 1.0, 0.006, awake=awake, judged=500)
        worth = 0.006 - 0.008 if awake == "111" else 0.006 + 0.008
        facts[WORTH, 2], facts[WORTH_SQUARED, 2] = worth, worth**2 + 0.2**2
        assert decided(facts.copy(), plan_of()) == awake
        facts[WORTH_SQUARED, 2] = worth**2 + 0.1**2
        assert decided(facts, plan_of()) == ("110" if awake == "111" else "111")


def test_the_last_does_not_rest_and_what_is_on_top_is_not_the_last() -> None:
    assert decided(facts_of(-1.0, -1.0, -1.0, awake="100"), plan_of()) == "100"
    facts = facts_of(-1.0, 1.0, awake="11")
    assert decided(facts, plan_of((500, 500), counted_experts=1)) == "11"
    facts = facts_of(1.0, -1.0, awake="11")
    assert decided(facts, plan_of((500, 500), counted_experts=1)) == "10"


def test_who_takes_no_time_does_not_rest() -> None:
    facts = facts_of(0.5, -1.0, 0.0)
    facts[WORTH_SQUARED, 2] = 0  # it has never said anything
    assert decided(facts, plan_of((200, 0, 6_000))) == "111"


def test_a_memory_whose_metric_is_read_does_not_rest() -> None:
    plan = plan_of()
    plan[1:, MEMBER_ROW.metric] = 0, LEAVES_METRIC, READS_METRIC
    assert decided(facts_of(1.0, 0.0, 1.0), plan) == "111"
    assert decided(facts_of(1.0, 0.0, 0.0, awake="110"), plan) == "100"


def test_who_would_add_the_most_wakes() -> None:
    facts = facts_of(1.0, 0.004, 0.02, awake="100")
    assert decided(facts, plan_of()) == "101"
    assert facts[JUDGED].tolist() == [sleep.AFTER_A_CHANGE] * 2 + [0]


def test_who_has_rested_longest_has_its_turn() -> None:
    facts = facts_of(1.0, 0.0, 0.0, awake="100")
    facts[SINCE, 1:] = 900, 800
    turn = sleep.TERM * sleep.TERMS_ASLEEP
    assert decided(facts.copy(), plan_of(), learned=turn - sleep.TERM) == "100"
    assert decided(facts, plan_of(), learned=turn) == "101"


def test_beyond_the_budget_the_least_worth_rests_soon_and_whatever_it_costs() -> None:
    facts = facts_of(0.5, 0.0015, 0.001, judged=sleep.A_FEW)
    assert decided(facts.copy(), plan_of((900, 200, 300))) == "111"
    assert decided(facts.copy(), plan_of((900, 200, 300), budget=1_000)) == "110"
    wide = plan_of((900, 200, 300), budget=1_000, width=1_000)
    assert decided(facts, wide, named=5) == "111", "of a record that names little a part is paid"


def errors_after(*rates: tuple[float, int]) -> Array:
    """Follow errors that come so often, for so many records."""
    rng = np.random.default_rng(0)
    errors = np.zeros(sleep.ERROR_FACTS)
    for rate, n in rates:
        for wrong in rng.random(n) < rate:
            follow_errors(errors, bool(wrong))
    return errors


def test_errors_are_followed_lately_and_usually() -> None:
    errors = errors_after((0.5, 20_000), (0.1, 300))
    assert errors[sleep.LATELY] == pytest.approx(0.1, abs=0.07)
    assert errors[sleep.USUALLY] == pytest.approx(0.5 - 0.4 * (1 - math.exp(-0.15)), abs=0.05)
    assert errors[sleep.FOLLOWED] == 20_300


def test_all_wake_when_errors_rise() -> None:
    errors = errors_after((0.1, 5_000), (0.4, 100))
    facts = facts_of(1.0, 0.0, 0.0, awake="100")
    decide(facts, errors, plan_of(), 10.0 * sleep.TERM, 0.0)
    assert facts[AWAKE].tolist() == [1, 1, 1]
    assert facts[JUDGED].tolist() == [sleep.AFTER_A_CHANGE, 0, 0]
    facts = facts_of(1.0, 0.0, 0.0, awake="100")
    decide(facts, errors, plan_of(), 11.0 * sleep.TERM, 0.0)
    assert facts[AWAKE].tolist() == [1, 0, 0], "that is the usual now"


@pytest.mark.parametrize("rate", [0.005, 0.05, 0.3])
def test_errors_that_only_vary_wake_nobody(rate: float) -> None:
    rng = np.random.default_rng(1)
    errors, woken = np.zeros(sleep.ERROR_FACTS), 0
    for i, wrong in enumerate(rng.random(100_000) < rate):
        follow_errors(errors, bool(wrong))
        if i % sleep.TERM == 0:
            facts = facts_of(1.0, 0.0, 0.0, awake="100")
            decide(facts, errors, plan_of(), i + 1.0, 0.0)
            woken += facts[AWAKE].sum() > 1
    assert woken <= 4
