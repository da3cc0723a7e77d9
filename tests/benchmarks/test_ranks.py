"""Mean ranks, and how far apart they must be."""

from __future__ import annotations

import pytest
from ranks import critical_difference, mean_ranks

SCORES = {
    "one": {"a": 90.0, "b": 80.0, "c": 70.0},
    "two": {"a": 60.0, "b": 70.0, "c": 70.0},
}


def test_equal_scores_share_the_mean_of_their_ranks() -> None:
    assert mean_ranks(SCORES) == {"b": 1.75, "a": 2.0, "c": 2.25}
    assert list(mean_ranks(SCORES)) == ["b", "a", "c"]


@pytest.mark.parametrize(("learners", "q"), [(2, 1.960), (4, 2.569), (10, 3.164)])
def test_the_critical_difference_is_that_of_the_tables(learners: int, q: float) -> None:
    """Demsar, table 5a."""
    streams = 6
    wide = (learners * (learners + 1) / (6 * streams)) ** 0.5
    assert critical_difference(learners, streams) == pytest.approx(q * wide, abs=0.001 * wide)
