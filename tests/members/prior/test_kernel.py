"""The prior: shares of the labels that came of late, and of nothing else."""

from __future__ import annotations

import numpy as np
import pytest

from stream_llsvm.members.prior.member import Prior
from tests.oracle_compare import Kernels, stream


def test_shares_are_what_came_of_late() -> None:
    """Each label's part of its share fades by the reach, whatever the records were."""
    labels = np.random.default_rng(0).integers(0, 3, 200)
    kernels = Kernels(Prior(reach=20), 4, 3)
    kernels.rows(stream(0, 200, 4, 3)[0], labels)
    age = np.arange(len(labels))[::-1]
    for share, reach in zip(kernels.own["shares"], (20, 20 / 6.4), strict=True):
        fading = (1 - 1 / reach) ** age / reach
        expected = [fading[labels == c].sum() for c in range(3)]
        np.testing.assert_allclose(share, expected, rtol=1e-4)


@pytest.mark.parametrize("classes", [1, 2, 3])
def test_a_score_is_the_share(classes: int) -> None:
    kernels = Kernels(Prior(), 2, classes)
    x, labels = stream(1, 50, 2, classes)
    kernels.rows(x, labels)
    kernels.predict(x[0])
    shares = kernels.own["shares"].astype(float)
    expected = shares
    if classes <= 2:  # a second class that has not come yet has no share
        expected = np.pad(shares, ((0, 0), (0, 2 - classes))) @ [[-1.0], [1.0]]
    np.testing.assert_allclose(kernels.scores, expected, rtol=1e-6)


def test_nothing_has_come_at_first() -> None:
    kernels = Kernels(Prior(), 2, 3)
    kernels.predict(np.ones(2))
    assert (kernels.scores == 0).all()


def test_labels_in_runs_are_foretold() -> None:
    labels = np.repeat(np.random.default_rng(0).integers(0, 2, 100), 20)
    x = np.random.default_rng(1).normal(size=(len(labels), 3))  # knows nothing of them
    _, likeliest = Kernels(Prior(), 3, 2).rows(x, labels)
    assert (likeliest == labels)[500:].mean() > 0.85


def test_labels_that_take_turns_are_foretold() -> None:
    """What came last comes next the least: the mixer trusts the prior less than not at all."""
    labels = np.arange(1_000) % 2
    x = np.random.default_rng(1).normal(size=(len(labels), 3))
    _, likeliest = Kernels(Prior(reach=1), 3, 2).rows(x, labels)
    assert (likeliest == labels)[500:].mean() > 0.95
