"""The picture follows what is in it by steps, so that it mostly stands still."""

from __future__ import annotations

import numpy as np

from stream_llsvm.dashboard.map_plane import TRAIL, DeadAnchors, Extent, Trails, leading_pair
from stream_llsvm.records.columns import NameColumn, PartColumn


def boxes(extent: Extent) -> list[float]:
    return [*extent.low.tolist(), *extent.high.tolist()]


def test_it_stays_until_something_leaves_it() -> None:
    rng, extent = np.random.default_rng(0), Extent()
    extent.cover(rng.uniform(-1, 1, (200, 2)))
    first = boxes(extent)
    assert all(1 < abs(side) < 1.5 for side in first)
    for _ in range(20):
        extent.cover(rng.uniform(-1, 1, (200, 2)))
        assert boxes(extent) == first
    extent.cover(rng.uniform(-1, 1, (200, 2)) + np.array([1.0, 0.0]))
    assert extent.high[0] > 2
    wide = boxes(extent)
    extent.cover(rng.uniform(-0.2, 0.2, (200, 2)))
    assert boxes(extent) != wide
    assert extent.size.max() < 0.6


def test_an_outlier_does_not_make_all_else_small() -> None:
    places = np.random.default_rng(0).uniform(-1, 1, (200, 2))
    places[7] = 1e9
    extent = Extent()
    extent.cover(places)
    assert extent.size.max() < 3


def test_every_group_is_in_it() -> None:
    extent = Extent()
    extent.cover(np.zeros((0, 2)), np.array([[0.0, 0.0]] * 200), np.array([[5.0, -5.0]]))
    assert (extent.low < np.array([0.0, -5.0])).all()
    assert (extent.high > np.array([5.0, 0.0])).all()


def test_places_that_are_all_the_same_have_a_picture() -> None:
    for value in (0.0, 1e12, -3.0):
        extent = Extent()
        extent.cover(np.full((10, 2), value))
        assert (extent.size > 0).all()
        assert (extent.low <= value).all()
        assert (extent.high >= value).all()
    nothing = Extent()
    nothing.cover(np.zeros((0, 2)))
    assert (nothing.size > 0).all()


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


def test_only_numbers_have_an_axis() -> None:
    """A field of names counts among the others, but it cannot be drawn along a line."""
    columns = ["x", "city", NameColumn("city", "Oslo"), NameColumn("city", "Rome"), "y", "z"]
    columns += [PartColumn("at", "hour"), PartColumn("at", "weekday")]
    told = {"x": 3.0, "city": 0.2, "y": 2.5, "z": 0.1, "at": 0.2}
    assert leading_pair(told, columns, None) == (0, 4)
    assert leading_pair(told | {"city": 9.0}, columns, None) is None
    assert leading_pair(told | {"y": 0.1, "at": 2.5}, columns, None) is None
