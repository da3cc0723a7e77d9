"""The table of first records: the same streams in each run, and who is best of whom."""

from __future__ import annotations

from argparse import Namespace

import early
import numpy as np
import pytest
from scores import Pass


def _told(**options: object) -> Namespace:
    usual = {"learners": ["committee"], "peers": ["bayes", "amf"], "counts": (500, 1_000)}
    return Namespace(**(usual | options))


FOUND = {
    "a": {
        "committee": {500: (90.0, 0.3), 1_000: (92.0, 0.2)},
        "bayes": {500: (85.0, 0.5), 1_000: (86.0, 0.4)},
        "amf": {500: (93.0, 0.4), 1_000: (91.0, 0.3)},
    },
    "b": {
        "committee": {500: (70.0, 0.6), 1_000: (80.0, 0.5)},
        "bayes": {500: (70.0, 0.5), 1_000: (60.0, 0.4)},
        "amf": {500: (69.0, 0.4), 1_000: (80.0, 0.3)},
    },
}


def test_means_and_how_often_nobody_is_better() -> None:
    table = early.means(FOUND, _told()).splitlines()
    ours = [cell.strip() for cell in table[2].strip("|").split("|")]
    title, *first = ours[:5]
    assert title == "committee"
    assert first == ["80.00", "0.450", "1 of 2", "1 of 2"]
    assert ours[5:] == ["86.00", "0.350", "2 of 2", "1 of 2"]


def test_the_best_peer_stands_beside_each_stream() -> None:
    table = early.by_stream(FOUND, _told()).splitlines()
    assert table[2] == "| a | 90.0 / 0.300 | 93.0 / 0.400 amf | 92.0 / 0.200 | 91.0 / 0.300 amf |"
    assert table[3] == "| b | 70.0 / 0.600 | 70.0 / 0.500 bayes | 80.0 / 0.500 | 80.0 / 0.300 amf |"


def test_who_is_far_behind_is_named() -> None:
    assert early.behind(FOUND, _told()).endswith("first 500 records: a (amf 3.0).")
    assert early.behind(FOUND, _told(peers=["bayes"])).endswith("nowhere.")


def test_figures_are_those_of_the_first_records() -> None:
    hits = np.arange(10) < 5
    done = Pass(hits, 1.0, np.ones(10), np.where(hits, 1.0, np.exp(-2.0)))
    assert early.figures(done, 5) == (100.0, 0.0)
    accuracy, loss = early.figures(done, 10)
    assert accuracy == 50.0
    assert loss == pytest.approx(1.0)


@pytest.mark.parametrize("name", early.MADE)
def test_made_streams_are_the_same_each_time(name: str) -> None:
    first, second = (early.stream_of(name, _told(counts=(300,))) for _ in range(2))
    assert len(first.y) == 300
    assert np.array_equal(first.X, second.X)
    assert np.array_equal(first.y, second.y)
    assert len(np.unique(first.y)) > 1


def test_a_stream_is_measured_as_a_whole() -> None:
    found = early.measure("sea", _told(counts=(200,), peers=["bayes"]))
    assert found.keys() == {"committee", "bayes"}
    assert all(50 < found[learner][200][0] <= 100 for learner in found)
