"""Anchors that nobody needs are told, and those that move leave a trail."""

from __future__ import annotations

import numpy as np

from stream_llsvm.dashboard.map_trails import TRAIL, DeadAnchors, Trails


def test_a_mass_that_stands_still_is_dead_after_a_while() -> None:
    lives, masses = DeadAnchors(), np.array([5.0, 5.0, 5.0])
    for learned in range(0, 10_000, 100):
        masses[0] += 30.0
        masses[1] += 0.03  # next to nothing, but it adds up
        dead = lives.dead(masses, learned)
        assert dead.tolist() == [False, False, learned > 2_000]
    masses[2] += 1
    assert not lives.dead(masses, 10_100)[2]


def test_anchors_are_born_alive() -> None:
    lives = DeadAnchors()
    assert lives.dead(np.array([3.0]), 50_000).tolist() == [False]
    assert lives.dead(np.array([9.0, 0.0]), 90_000).tolist() == [False, False]
    assert lives.dead(np.array([9.0, 0.0]), 99_000).tolist() == [True, True]


def test_with_many_anchors_one_waits_longer() -> None:
    lives, masses = DeadAnchors(), np.ones(300)
    lives.dead(masses, 0)
    assert not lives.dead(masses, 5_900).any()
    assert lives.dead(masses, 6_100).all()


def test_a_mass_too_great_to_grow_is_no_death() -> None:
    lives, masses = DeadAnchors(), np.array([3e6])
    lives.dead(masses, 0)
    assert not lives.dead(masses, 10**6).any()


def test_another_model_begins_anew() -> None:
    lives = DeadAnchors()
    lives.dead(np.ones(5), 50_000)
    assert not lives.dead(np.ones(3), 70_000).any()
    assert not lives.dead(np.ones(3), 10).any()


def test_a_trail_is_what_one_can_see_and_bounded() -> None:
    trails, size = Trails(), np.array([1.0, 10.0])
    which = np.array([4, 9])
    for step in range(50):
        trails.follow(which, np.array([[0.05 * step, 0.0], [0.0, 0.001 * step]]), size)
    assert len(trails.of(4)) == TRAIL
    assert trails.of(4)[-1] == (0.05 * 49, 0.0)
    assert trails.of(9) == [(0.0, 0.0)]
    trails.follow(np.array([9]), np.array([[0.0, 1.0]]), size)
    trails.follow(which, np.array([[1.0, 1.0], [0.0, 1.0]]), size)
    assert trails.of(4) == [(1.0, 1.0)]  # it was not in the picture meanwhile
    assert trails.of(9) == [(0.0, 0.0), (0.0, 1.0)]
