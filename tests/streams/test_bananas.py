"""The moving bananas: the same for a seed, wherever one begins, and never at rest."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from stream_llsvm import SAPLClassifier
from stream_llsvm.streams.bananas import LABELS, MovingBananas


def taken(source: MovingBananas, n: int, most: int) -> tuple[Any, list[str]]:
    values, labels = [], list[str]()
    while len(labels) < n:
        batch = source.poll(min(most, n - len(labels)), 0.0)
        assert batch.values is not None
        values.append(batch.values)
        labels += batch.labels
    return np.concatenate(values), labels


def test_the_records_depend_on_the_seed_alone() -> None:
    whole, labels = taken(MovingBananas(seed=4, every=700), 3_000, 1_000)
    for most in (1, 37, 500):
        again, same = taken(MovingBananas(seed=4, every=700), 1_500, most)
        np.testing.assert_array_equal(again, whole[:1_500])
        assert same == labels[:1_500]
    assert not np.array_equal(taken(MovingBananas(seed=5, every=700), 100, 100)[0], whole[:100])
    assert set(labels) == set(LABELS)
    assert np.isfinite(whole).all()


def test_it_goes_on_from_any_position() -> None:
    source = MovingBananas(seed=4)
    whole, _ = taken(source, 2_000, 300)
    source.seek({"records": 1_234})
    batch = source.poll(50, 0.0)
    np.testing.assert_array_equal(batch.values, whole[1_234 : 1_234 + len(batch)])
    assert batch.places[0].number == 1_235
    assert source.position == {"records": 1_234 + len(batch)}
    source.seek({"records": 10**9})  # nothing before it is made
    assert len(source.poll(50, 0.0)) > 0


def test_the_first_throw_may_come_sooner() -> None:
    for first in (1_000, 2_500):
        values, labels = taken(MovingBananas(seed=2, every=10_000, first=first), 4_000, 500)
        ripe = np.array(labels) == "ripe"
        middles = [values[at : at + 200][ripe[at : at + 200]].mean(axis=0) for at in (0, 200)]
        assert np.linalg.norm(middles[1] - middles[0]) < 0.4
        before, after = (
            values[at : at + 200][ripe[at : at + 200]].mean(axis=0) for at in (first - 200, first)
        )
        assert np.linalg.norm(after - before) > 0.8


@pytest.mark.parametrize("seed", range(5))
def test_a_throw_is_a_change_and_the_drift_is_slow(seed: int) -> None:
    """What was learned holds for a while, and no longer after the throw."""
    every = 8_000
    values, labels = taken(MovingBananas(seed, every), 2 * every, 500)
    model = SAPLClassifier()
    hits = model.test_then_learn(values, labels) == np.array(labels)
    before, after = hits[every - 500 : every].mean(), hits[every : every + 100].mean()
    assert before > 0.9
    assert after < before - 0.2
    assert hits[-2_000:].mean() > 0.9
