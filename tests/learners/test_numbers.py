"""What is asked of every regressor, however it learns."""

from __future__ import annotations

import copy
import pickle
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from river import checks, datasets, evaluate, metrics
from river.datasets import synth
from scipy import sparse

from stream_llsvm import LLSVMRegressor, ModelFileError, PegasosRegressor, load_model
from stream_llsvm.kernels.losses import LOSSES_OF_NUMBERS
from stream_llsvm.kernels.run_numbers import run_numbers
from stream_llsvm.learners.load import from_payload
from stream_llsvm.model import file as model_file
from stream_llsvm.model import number_state
from stream_llsvm.model import state as model_state
from tests.learners.memory import held
from tests.learners.number_support import BOTH, KINDS, everything, small, taught
from tests.learners.support import records


def all_checks() -> Iterator[Any]:
    for kind in KINDS:
        for i, check in enumerate(checks.yield_checks(kind())):
            name = getattr(check, "__name__", str(check))
            assert name not in kind()._unit_test_skips()
            yield pytest.param(kind, check, id=f"{kind.__name__}-{name}-{i}")


@pytest.mark.parametrize(("kind", "check"), list(all_checks()))
def test_river_checks(kind: Any, check: Callable[[Any], None]) -> None:
    check(kind())


@BOTH
def test_blocks_are_row_by_row(kind: Any) -> None:
    one, many = small(kind), small(kind)
    rng = np.random.default_rng(0)
    for names in ("ba", "abc", "dbac", "c", "cabdef"):
        X = pd.DataFrame({name: rng.normal(3, 2, 40) for name in names})
        X[rng.random(X.shape) < 0.1] = np.nan
        y = pd.Series(rng.normal(50, 10, 40))
        w = rng.integers(0, 3, 40).astype(float)
        w[0] = 1
        told = []
        for row, target, c in zip(X.to_dict("records"), y.tolist(), w.tolist(), strict=True):
            told.append(one.predict_one(row))
            one.learn_one(row, target, w=c)
        block = many.test_then_learn(X, y, w=w).tolist()
        # The first record brings the new names: sums over more columns round in another order.
        assert block[0] == pytest.approx(told[0], rel=1e-6) and block[1:] == told[1:]
        assert everything(many) == everything(one)
        told = [one.predict_one(row) for row in X.to_dict("records")]
        assert list(many.predict_many(X)) == told
        assert many.test_then_learn(X, y, w=0.0).tolist() == told
        assert everything(many) == everything(one)


@BOTH
def test_a_sparse_matrix_is_its_records(kind: Any) -> None:
    X = sparse.random_array((80, 300), density=0.03, format="csr", rng=0)
    y = np.arange(80) % 3
    one, many = small(kind), small(kind)
    one._know(np.unique(X.indices).tolist())
    many._know(np.unique(X.indices).tolist())
    for i in range(80):
        row = X[[i]]
        one.learn_one(dict(zip(row.indices.tolist(), row.data.tolist(), strict=True)), int(y[i]))
    many.learn_many(X, y)
    assert everything(one) == everything(many)


@BOTH
def test_a_saved_model_goes_on_to_the_bit(kind: Any, tmp_path: Path) -> None:
    stream = records(300)
    model = taught(small(kind), stream[:155])
    model.save(tmp_path / "model")
    others = [
        load_model(tmp_path / "model"),
        copy.deepcopy(model),
        pickle.loads(pickle.dumps(model)),
    ]
    for other in others:
        assert type(other) is kind and everything(other) == everything(model)
    for either in (model, *others):
        taught(either, stream[155:])
        taught(either, [({"late": 1.0}, 3)])
    for other in others:
        assert everything(other) == everything(model)
    empty = kind()
    empty.save(tmp_path / "model")
    assert everything(load_model(tmp_path / "model")) == everything(empty)


@BOTH
def test_bad_files_are_refused(kind: Any, tmp_path: Path) -> None:
    model = taught(small(kind), records(50))
    payload = dict(model._payload())
    state: Any = payload["state"]
    nan = state.copy()
    nan.view(np.float64)[20:] = np.nan
    changes: list[dict[str, Any]] = [
        {"state": state[:-8]},
        {"state": nan},
        {"width": 10**9},
        {"features": ("f0", "f0", "f1")},
        {"labels": ("a", "b")},
        {"params": {"epsilon": -1.0}},
        {"params": {"nonsense": 1}},
    ]
    for change in changes:
        model_file.write(tmp_path / "model", payload | change)
        with pytest.raises(ModelFileError):
            load_model(tmp_path / "model")
    assert type(from_payload(payload)) is kind


@BOTH
@pytest.mark.parametrize(
    ("x", "message"),
    [
        ({"f0": b"red"}, "has the value b'red'"),
        ({"f0": float("inf")}, "infinite"),
        ({float("nan"): 1.0}, "does not equal itself"),
    ],
)
def test_bad_records_change_nothing(kind: Any, x: Any, message: str) -> None:
    model = taught(small(kind), records(20))
    before = everything(model)
    with pytest.raises(ValueError, match=message):
        model.learn_one(x, 1)
    with pytest.raises(ValueError, match=message):
        model.predict_one(x)
    assert everything(model) == before


@BOTH
@pytest.mark.parametrize("y", [None, float("nan"), "7", float("inf")])
def test_bad_targets_are_refused(kind: Any, y: Any) -> None:
    model = kind()
    with pytest.raises(ValueError, match="the target"):
        model.learn_one({"a": 1.0}, y)
    with pytest.raises(ValueError, match="row 1"):
        model.learn_many(np.ones((2, 1)), [1.0, y])
    with pytest.raises(ValueError, match="2 targets for 3 rows"):
        model.learn_many(np.ones((3, 1)), [1.0, 2.0])
    with pytest.raises(ValueError, match="the weight w"):
        model.learn_one({"a": 1.0}, 1.0, w=-1)
    assert model.features == ()
    assert model.predict_one({"a": 1.0}) == 0.0


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("n_anchors", 0),
        ("n_neighbors", 1.5),
        ("coding", "reconstruction"),
        ("step_size", "paper"),
        ("step_size", 0),
        ("l2", -1),
        ("loss", "hinge"),
        ("epsilon", -0.1),
        ("standardize", 1),
        ("max_mb", 0),
    ],
)
def test_bad_options_are_refused(option: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"{option}.*must be.*got {value!r}"):
        LLSVMRegressor(**{option: value})


@BOTH
def test_too_much_is_refused(kind: Any) -> None:
    model = kind(max_mb=1)
    with pytest.raises(ValueError, match="more than max_mb=1"):
        model.learn_one({f"f{i}": 1.0 for i in range(100_000)}, 1)
    assert model.features == ()


@BOTH
@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize("size", [1e-200, 1e200, 1e300])
def test_extremes_stay_finite(kind: Any, size: float, standardize: bool) -> None:
    model = small(kind, standardize=standardize)
    for i in range(200):
        model.learn_one({"a": size * (i % 3 - 1), "b": 1.0}, size * (i % 2), w=[1.0, 1e6][i % 2])
    assert np.isfinite(model.predict_one({"a": size}))
    assert model._state.sound()


@BOTH
def test_one_outrageous_target_does_not_spoil_it(kind: Any) -> None:
    """Off by a million once in a thousand: what it learns of the rest hardly suffers."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4_000, 3))
    y = X @ [1.0, 2.0, -1.0] + 5
    spoilt = y.copy()
    spoilt[::1_000] += 1e6
    spoilt[0] = y[0]
    clean, other = kind(), kind()
    errors = [np.abs(m.test_then_learn(X, t) - y)[3_500:].mean() for m, t in
              ((clean, y), (other, spoilt))]  # fmt: skip
    assert errors[0] < 0.3
    assert errors[1] < 1.5


@BOTH
def test_memory_is_flat(kind: Any) -> None:
    model = taught(kind(), records(1_000))
    stream = records(3_000, seed=1)
    tracemalloc.start()
    taught(model, stream)
    model.predict_one(stream[0][0])
    assert held() < 20_000


@BOTH
@pytest.mark.parametrize("loss", LOSSES_OF_NUMBERS)
def test_it_learns_numbers(kind: Any, loss: str) -> None:
    """River's linear regression behind a scaler has 0.56 on this stream."""
    stream = datasets.TrumpApproval()
    score = evaluate.progressive_val_score(stream, kind(loss=loss), metrics.MAE())
    assert score.get() < 0.5


def test_it_follows_curves_that_a_plane_does_not() -> None:
    """Friedman's function: a plane has 2.1 here."""
    stream = list(synth.Friedman(seed=1).take(5_000))
    scores = {}
    for kind in KINDS:
        score = evaluate.progressive_val_score(iter(stream), kind(), metrics.MAE())
        scores[kind] = score.get()
    assert scores[LLSVMRegressor] < 1.65
    assert scores[PegasosRegressor] > 1.95


@BOTH
def test_however_rows_come_one_compilation_serves(kind: Any) -> None:
    X = np.random.default_rng(0).normal(size=(40, 4))
    frozen = X.copy()
    frozen.setflags(write=False)
    y = X @ [1.0, 2.0, 3.0, 4.0]
    entry: Any = run_numbers
    model = taught(small(kind), [({0: 1.0}, 1.0)])
    model.learn_many(X, y)
    before = len(entry.signatures)
    ways = (frozen, np.asfortranarray(X), X.astype(np.float32), X[:0], pd.DataFrame(X))
    for rows in (*ways, sparse.csr_matrix(X), sparse.csr_matrix(np.tile(X, 30))):
        targets = y[: rows.shape[0]]
        for told in (targets, targets.tolist(), targets.astype(np.float32), pd.Series(targets)):
            model.learn_many(rows, told, w=np.ones(rows.shape[0]))
        model.predict_many(rows)
    assert len(entry.signatures) == before == 1


def test_the_scale_of_what_is_told_makes_no_difference() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 3))
    y = X @ [1.0, 2.0, -1.0]
    one, other = LLSVMRegressor(), LLSVMRegressor()
    one.learn_many(X, y)
    other.learn_many(4 * X + 8, 1024 * y - 512)
    told = 1024 * one.predict_many(X) - 512
    np.testing.assert_allclose(other.predict_many(4 * X + 8), told, rtol=1e-2, atol=5)


@BOTH
def test_a_regressor_has_no_classes(kind: Any) -> None:
    model = taught(kind(), records(5))
    assert not hasattr(model, "classes")


@BOTH
@pytest.mark.parametrize("where", ["compiling", "running"])
def test_an_interrupted_lesson_leaves_no_target_behind(
    kind: Any, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C while the first call compiles, or just before it runs."""
    model, untouched = taught(small(kind), records(50)), taught(small(kind), records(50))
    x, y = records(60)[-1]
    if where == "compiling":  # as in a new process, which compiles or loads
        model._state._ready, model._state._last_row = False, None

    def interrupted(*arguments: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        if where == "compiling":
            patched.setattr(model_state, "address_of", interrupted)
        else:
            patched.setattr(number_state, "run_numbers", interrupted)
        model.learn_one(x, y, w=2.0)
    model.predict_one(x)
    model.explain_one(x)
    assert everything(model) == everything(untouched)
    for one in (model, untouched):
        one.learn_one(x, y)
    assert everything(model) == everything(untouched)


@BOTH
def test_features_that_come_late_begin_where_they_were_always_missing(kind: Any) -> None:
    """A model that grew answers records without the new feature as before."""
    model = taught(small(kind), records(200))
    asked = [x for x, _ in records(50, seed=1)]
    before = [model.predict_one(x) for x in asked]
    held = model._state.width
    model._know([f"late{i}" for i in range(150)])
    assert model._state.width > held
    assert [model.predict_one(x) for x in asked] == pytest.approx(before, rel=1e-6, abs=1e-6)
    for i, (x, y) in enumerate(records(600, seed=2)):
        model.learn_one(x | {"late7": float(i % 2)}, y + 10 * (i % 2))
    apart = [model.predict_one(x | {"late7": 1.0}) - model.predict_one(x | {"late7": 0.0})
             for x in asked]  # fmt: skip
    assert np.mean(apart) > 5


def test_a_file_of_the_pegasos_regressor_that_was_is_refused_in_plain_words(
    tmp_path: Path,
) -> None:
    payload = dict(taught(PegasosRegressor(), records(20))._payload())
    block = np.zeros(8 * 100, dtype=np.uint8)
    model_file.write(tmp_path / "model", payload | {"labels": (), "state": block})
    with pytest.raises(ModelFileError, match=r"an earlier version.*learn the model anew"):
        load_model(tmp_path / "model")


@pytest.mark.parametrize("standardize", [True, False])
def test_reasons_are_slopes_and_add_up(standardize: bool) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1_500, 3)) * [1, 5, 0.2]  # scales of young features look at the record
    y = 100 + 10 * X[:, 0] + 2 * X[:, 1] * X[:, 0]
    model = LLSVMRegressor(n_anchors=1, standardize=standardize)
    with pytest.raises(ValueError, match="nothing has been learned"):
        model.explain_one({0: 1.0})
    model.learn_many(X, y)
    checked = 0
    for row in X[:40]:
        x = dict(enumerate(row.tolist()))
        told = model.explain_one(x)
        assert told.score == model.predict_one(x)
        assert told.bias + sum(told.contributions.values()) == pytest.approx(told.score)
        for i in range(3):
            step = 1e-2 * X[:, i].std()
            up, down = (model.predict_one(x | {i: x[i] + s * step}) for s in (1, -1))
            if told.weights[i] == 0:
                continue  # cut off: so far out it says no more
            slope = (up - down) / (2 * step)
            assert slope == pytest.approx(told.weights[i], rel=2e-2, abs=2e-2)
            checked += 1
        # The bias is what a record at the centre of all features is told.
        if standardize and max(abs(row / X.std(axis=0))) < 1.9:
            assert told.bias == pytest.approx(model.predict_one({0: None, 1: None, 2: None}))
    assert checked > 60
