"""The kernel of models of numbers beside the oracle: scaled rows and targets, units, chunks."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy import sparse

from stream_llsvm import LLSVMRegressor, PegasosRegressor
from stream_llsvm.kernels.plan import MODEL_ROW
from stream_llsvm.kernels.run import SEEN
from stream_llsvm.kernels.run_numbers import FARTHEST
from tests.learners.number_support import BOTH, everything, small
from tests.oracle_numbers import NumbersOracle
from tests.oracle_parts import Array, Scale
from tests.oracle_pegasos import pegasos


class Scaled(NamedTuple):
    """Rows and targets as members see them, and the units that each answer is told in."""

    z: Array
    y: Array
    centre: Array
    spread: Array


def scaled(X: Array, y: Array) -> Scaled:
    """Scale a stream record by record: a row before its values are learned, a target after."""
    features, target = [Scale() for _ in X[0]], Scale()
    found: list[tuple[Any, ...]] = []
    for i, (row, number) in enumerate(zip(X.tolist(), y.tolist(), strict=True)):
        z = [scale.scaled(v, True, len(row)) for scale, v in zip(features, row, strict=True)]
        spread = 1.0 if target.count == 0 else 1 / target.inverse if target.inverse > 0 else 0.0
        centre = target.centre
        for scale, v in zip(features, row, strict=True):
            scale.observe(v, i + 1, len(row))
        target.observe(number, i + 1)
        standing = np.clip((number - target.centre) * target.inverse, -FARTHEST, FARTHEST)
        found.append((z, standing, centre, spread))
    return Scaled(*(np.array(part) for part in zip(*found, strict=True)))


def stream(n: int, width: int = 3) -> tuple[Array, Array]:
    """Draw records with holes, and a number of another size; one of them is far from all others."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(n, width)) * [1, 40, 0.1][:width] + [0, 300, -7][:width]
    y = 1_000 + 50 * X[:, 0] + 2 * (X[:, 1] - 300) + 10 * rng.normal(size=n)
    y[n // 2] = 1e6
    X[rng.random(X.shape) < 0.05] = np.nan
    return X, y


@pytest.mark.parametrize("loss", ["huber", "squared", "epsilon_insensitive"])
@pytest.mark.parametrize("batch_size", [1, 5])
def test_pegasos_is_the_oracles_over_scaled_rows_and_targets(loss: str, batch_size: int) -> None:
    X, y = stream(400)
    model = PegasosRegressor(l2=0.05, t0=3, loss=loss, batch_size=batch_size)
    told = model.test_then_learn(X, y)
    of = scaled(X, y)
    _, scores, _ = pegasos(model, loss, of.z, of.y, np.ones(len(y)), model.epsilon)
    wanted = of.centre + of.spread * np.clip(scores, -FARTHEST, FARTHEST)
    np.testing.assert_allclose(told, wanted, rtol=1e-5, atol=0.02)
    assert np.abs(of.y).max() > 5, "one target lay far from the others"


@pytest.mark.parametrize("loss", ["huber", "squared"])
def test_llsvm_is_the_oracles_over_scaled_rows_and_targets(loss: str) -> None:
    X, y = stream(200)
    model = LLSVMRegressor(n_anchors=8, n_neighbors=3, loss=loss, epsilon=0.5)
    told, of = model.test_then_learn(X, y), scaled(X, y)
    oracle, wanted = NumbersOracle(model, 3), []
    for z, target, centre, spread in zip(*of, strict=True):
        wanted.append(centre + spread * np.clip(oracle.told(z)[0], -FARTHEST, FARTHEST))
        oracle.learn(z, float(target), 1.0)
    np.testing.assert_allclose(told, wanted, rtol=2e-3, atol=0.5)


@BOTH
def test_more_rows_than_a_chunk_are_learned_as_one_by_one(kind: Any) -> None:
    X, y = stream(700)
    one, many = small(kind), small(kind)
    told = []
    for row, target in zip(X.tolist(), y.tolist(), strict=True):
        record = dict(enumerate(row))
        told.append(one.predict_one(record))
        one.learn_one(record, target)
    assert many.test_then_learn(X, y).tolist() == told
    assert everything(one) == everything(many)
    assert 1 < many._state.plan[0, MODEL_ROW.chunk] < 700
    assert many.predict_many(X).tolist() == [
        one.predict_one(dict(enumerate(row))) for row in X.tolist()
    ]


@BOTH
@pytest.mark.parametrize("width", [3, 300])
def test_rows_without_a_target_are_answered_and_teach_nothing(kind: Any, width: int) -> None:
    """Between rows that are learned, dense or sparse; weights of 0 say so."""
    rng = np.random.default_rng(0)
    X = np.where(rng.random((300, width)) < 0.3, rng.normal(size=(300, width)), 0.0)
    y, w = X[:, 0] + 5, rng.integers(0, 2, 300).astype(float)
    for rows in (X, sparse.csr_matrix(X)):
        every, some = small(kind), small(kind)
        for model in (every, some):
            model._know(range(width))
        told = every.test_then_learn(rows, y, w)
        some.learn_many(rows[w > 0], y[w > 0])
        assert everything(every) == everything(some)
        assert every._state.views(0)["counters"][SEEN] == w.sum()
        assert np.isfinite(told).all() and (told[w == 0] != 0).any()


@BOTH
def test_answers_end_at_eight_standard_deviations(kind: Any) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 20))
    y = 100 + 10 * X.sum(axis=1)
    model = small(kind, loss="squared")
    model.learn_many(X, y)
    target = model._state.numbers["target"][0]
    answer = model.predict_one(dict.fromkeys(range(20), 1e9))
    assert answer <= target[3] + FARTHEST * model._state.spread * (1 + 1e-9)
    assert answer > 100 + 3 * y.std()


def test_numbers_that_are_not_scaled_end_where_the_kind_says() -> None:
    """Pegasos learns prices of millions as they are; what the anchors say ends at a million."""
    a = 1.0 + np.arange(40_000) % 2
    options: dict[str, Any] = {"standardize": False, "loss": "squared"}
    plane = PegasosRegressor(l2=1e-6, projection=False, **options)
    anchors = small(LLSVMRegressor, **options)
    for model in (plane, anchors):
        model.learn_many(a[:, None], 2e7 * a)
    assert plane.predict_one({0: 2.0}) > 5e6
    assert 5e5 < anchors.predict_one({0: 2.0}) <= 1e6


def test_one_expert_is_the_whole_answer_and_several_share_it() -> None:
    X, y = stream(100)
    one, several = small(PegasosRegressor), small(LLSVMRegressor)
    for model in (one, several):
        model.learn_many(X, y)
        shares = model._state.numbers["blend"]
        assert shares.sum() == pytest.approx(1)
        losses = model._state.numbers["losses"]
        assert (losses > 0).all() and len(losses) == len(shares)
    assert len(one._state.numbers["blend"]) == 1 < len(several._state.numbers["blend"])
