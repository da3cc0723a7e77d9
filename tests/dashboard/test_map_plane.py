"""The picture follows what is in it by steps, so that it mostly stands still."""

from __future__ import annotations

import numpy as np

from stream_llsvm.dashboard.map_plane import Extent


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
