"""The ML3 member beside the oracle, its codes, its explanations, and what no line can learn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from stream_llsvm import ML3Classifier, PegasosClassifier
from stream_llsvm.kernels.losses import CRAMMER_SINGER, HINGE, HUBERIZED_HINGE, LOGISTIC, OVR
from stream_llsvm.kernels.scaling import ABSENT
from stream_llsvm.members.family.ml3 import kernel
from stream_llsvm.members.family.ml3.member import Ml3
from stream_llsvm.model.state import columns_of
from tests.kernels.alone import alone
from tests.oracle_compare import Kernels, stream
from tests.oracle_ml3 import STATE, Ml3Oracle

WIDTH = 5
ANY: dict[str, dict[str, Any]] = {
    "usual": {},
    "the best machine only": {"norm": 1.0},
    "nearly evenly": {"norm": 50.0},
    "one machine": {"machines": 1},
    "one step": {"steps": (2.0,), "averaged": False},
    "hinge, one against the rest": {"loss": HINGE, "multiclass": OVR},
    "Huberized hinge": {"loss": HUBERIZED_HINGE},
}


def ml3(**options: Any) -> Ml3:
    usual: dict[str, Any] = {
        "loss": LOGISTIC, "multiclass": CRAMMER_SINGER, "averaged": True, "machines": 4, "seed": 3,
    }  # fmt: skip
    return Ml3(**(usual | options))


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("options", ANY.values(), ids=ANY)
def test_the_member_is_the_oracle(options: dict[str, Any], classes: int) -> None:
    """The oracle finds codes as slopes, by differences: these are right, too."""
    of = ml3(**options)
    kernels, oracle = Kernels(of, WIDTH, classes), Ml3Oracle(of, WIDTH, columns_of(classes))
    x, labels = stream(3, 200, WIDTH, classes)
    weights = np.random.default_rng(0).choice([0.5, 1.0, 2.0], len(x))
    begun = kernels.own["weights"].copy()
    for row, label, w in zip(x, labels, weights, strict=True):
        kernels.predict(row)
        z = kernels.memory.views(0)["z"][0, 0, :WIDTH].astype(float)
        oracle.take(kernels.own)
        np.testing.assert_allclose(kernels.scores, oracle.scores(z), rtol=1e-3, atol=1e-3)
        kernels.learn(row, int(label), float(w))
        oracle.learn(z, int(label), float(w))
        for name in STATE:
            told, expected = kernels.own[name], oracle.own[name]
            size = 1 + np.abs(expected).max()
            np.testing.assert_allclose(told, expected, rtol=2e-3, atol=2e-3 * size, err_msg=name)
        assert kernels.own["running"][kernel.SEEN] == oracle.seen
        assert kernels.own["running"][kernel.SPREAD] == pytest.approx(oracle.spread, rel=1e-4)
    assert np.abs(kernels.own["weights"] - begun).max() > 0.1


@pytest.mark.parametrize("norm", [1.0, 1.2, 1.5, 2.0, 5.0, 100.0])
def test_no_other_code_says_more(norm: float) -> None:
    choose = alone(kernel.choose)
    rng = np.random.default_rng(0)
    for shift in (-3.0, 0.0, 3.0):
        heights = (rng.normal(size=6) + shift).astype(np.float32)
        code = np.zeros(6, dtype=np.float32)
        told = choose(norm, heights, code)
        assert np.linalg.norm(code, norm) == pytest.approx(1, rel=1e-5) and (code >= 0).all()
        assert told == pytest.approx(code @ heights, rel=1e-5)
        others = rng.exponential(size=(2_000, 6)) ** rng.uniform(0.2, 5, size=(2_000, 1))
        others /= others.max(axis=1, keepdims=True)  # or powers of 100 are too large
        others /= np.linalg.norm(others, norm, axis=1, keepdims=True)
        assert (others @ heights).max() <= told + 1e-5


@pytest.mark.parametrize("classes", [2, 3])
def test_parts_are_the_scores_and_their_slopes(classes: int) -> None:
    of = ml3()
    kernels = Kernels(of, WIDTH, classes, standardize=False)
    x, labels = stream(1, 300, WIDTH, classes)
    kernels.rows(x, labels)
    h = 1e-3
    for row in x[:20]:
        kernels.predict(row)
        told, parts = kernels.scores.copy(), of.parts(kernels.own, row)
        whole = parts.of_features.sum(axis=2) + parts.rest
        np.testing.assert_allclose(whole, told, rtol=1e-3, atol=1e-3)
        for i in range(WIDTH):
            ends = []
            for sign in (1, -1):
                moved = row.copy()
                moved[i] += sign * h
                kernels.predict(moved)
                ends.append(kernels.scores.copy())
            slope = (ends[0] - ends[1]) / (2 * h)
            np.testing.assert_allclose(parts.slopes[:, :, i], slope, rtol=2e-2, atol=2e-2)


def test_sparse_rows_are_dense_ones_with_zeros() -> None:
    x, labels = stream(2, 200, WIDTH, 3)
    x[np.random.default_rng(0).random(x.shape) < 0.5] = ABSENT
    dense, sparse = (Kernels(ml3(), WIDTH, 3, standardize=False) for _ in range(2))
    for row, label in zip(x, labels, strict=True):
        dense.learn(np.where(row == ABSENT, 0.0, row), int(label), 1.0)
        sparse.sparse(row, int(label))
    np.testing.assert_allclose(dense.own["biases"], sparse.own["biases"], rtol=1e-3, atol=1e-3)
    raw = dense.own["weights"][:, :, 0], sparse.own["weights"][:, :, 0]
    np.testing.assert_allclose(*raw, rtol=1e-3, atol=1e-3)


def test_it_learns_what_no_line_tells_apart() -> None:
    x = np.random.default_rng(0).uniform(-1, 1, size=(6_000, 2))
    y = (x[:, 0] > 0) != (x[:, 1] > 0)
    accuracies = [
        np.mean(model.test_then_learn(x, y)[3_000:] == y[3_000:])
        for model in (ML3Classifier(), PegasosClassifier())
    ]
    assert accuracies[0] > 0.93 and accuracies[1] < 0.65
