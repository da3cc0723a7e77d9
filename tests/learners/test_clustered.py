"""CSVM: hard clusters around a global machine."""

from __future__ import annotations

import numpy as np
import pytest

from stream_llsvm import CSVMClassifier
from tests.learners.support import accuracy, records


def test_a_single_cluster_learns_from_its_centre_and_the_global_machine_from_the_mean() -> None:
    model = CSVMClassifier(n_clusters=1, step_size=1.0)
    stream = list(records(200, classes=2))
    for x, y in stream[:-1]:
        model.learn_one(x, y)
    memory = model._state
    assert memory is not None
    views, (x, y) = memory.views(1), stream[-1]
    before = views["weights"].reshape(2, -1).astype(float)
    model.learn_one(x, y)
    own, common = views["weights"].reshape(2, -1).astype(float) - before
    # Both take a step of the same length, from x - v and from x.
    z, v = memory.views(0)["z"][0, 0], views["facts"][0, 0] * views["positions"][0]
    assert np.abs(common).max() > 0
    np.testing.assert_allclose(own * z, common * (z - v), rtol=1e-2, atol=1e-5)


def test_clusters_that_share_learn_faster_what_all_have_in_common() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(600, 6))
    y = (x @ np.array([1.0, -2.0, 0.5, 0.0, 1.0, -1.0]) > 0).tolist()
    stream = [(dict(enumerate(row)), label) for row, label in zip(x.tolist(), y, strict=True)]
    together = accuracy(CSVMClassifier(n_clusters=60), stream)
    apart = accuracy(CSVMClassifier(n_clusters=60, global_share=0.0), stream)
    assert together > apart + 0.05


def test_what_is_refused() -> None:
    for options in ({"global_share": -1.0}, {"n_clusters": 0}, {"step_size": "paper"}):
        with pytest.raises(ValueError, match="must be"):
            CSVMClassifier(**options)
