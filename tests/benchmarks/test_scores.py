"""What is measured beside every learner: who never looks at a record."""

from __future__ import annotations

import numpy as np
import peers
import pytest
from scores import baselines, kappa_temporal, run_records
from streams import Stream


def skewed(n: int) -> Stream:
    """Return records that say nothing, and three labels of which each stays for a while."""
    luck = np.random.default_rng(3)
    labels = [0]
    for stays in luck.random(n - 1) < 0.7:
        labels.append(labels[-1] if stays else int(luck.choice(3, p=(0.6, 0.3, 0.1))))
    return Stream("skewed", luck.random((n, 2)), np.array(labels), None)


@pytest.mark.parametrize("delay", [0, 1, 7])
def test_they_are_as_good_as_rivers_learners_that_do_the_same(delay: int) -> None:
    stream = skewed(400)
    beside = baselines(stream.y, delay)
    last = run_records(peers.no_change(3), stream, delay)
    assert beside.no_change == pytest.approx(last.accuracy() if delay == 0 else by_hand(delay))
    assert beside.majority == pytest.approx(
        run_records(peers.majority(3), stream, delay).accuracy(), abs=0.5
    )
    assert beside.majority != beside.no_change


def by_hand(delay: int) -> float:
    y = skewed(400).y
    return 100 * float(np.sum(y[delay + 1 :] == y[: -delay - 1])) / len(y)


def test_before_a_label_is_known_both_miss() -> None:
    assert baselines(np.array(["a", "a", "a", "b"])) == (50.0, 50.0)
    assert baselines(np.array(["a", "a", "a", "b"]), delay=2) == (0.0, 0.0)
    assert baselines(np.array(["a", "b", "a", "b", "a"])).no_change == 0.0


def test_kappa_is_the_share_of_the_last_labels_errors_that_is_avoided() -> None:
    assert kappa_temporal(100.0, 85.0) == 1.0
    assert kappa_temporal(85.0, 85.0) == 0.0
    assert kappa_temporal(94.0, 85.0) == pytest.approx(0.6)
    assert kappa_temporal(70.0, 85.0) == pytest.approx(-1.0)
    assert kappa_temporal(100.0, 100.0) is None
