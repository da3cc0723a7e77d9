"""Inner products of mapped records are the kernels they stand for."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from river import checks, datasets, evaluate, metrics, preprocessing
from sklearn.kernel_approximation import AdditiveChi2Sampler, Nystroem

from stream_llsvm import FourierFeatures, HomogeneousKernelMap, OnlineNystroem, PegasosClassifier

MAPS: list[Any] = [HomogeneousKernelMap, FourierFeatures, OnlineNystroem]


def inner(a: dict[Any, float], b: dict[Any, float]) -> float:
    return sum(a[name] * b[name] for name in a.keys() & b.keys())


EXACT: dict[str, Callable[[float, float], float]] = {
    "intersection": min,
    "chi2": lambda x, y: 2 * x * y / (x + y),
    "jensen_shannon": lambda x, y: x / 2 * np.log2((x + y) / x) + y / 2 * np.log2((x + y) / y),
}


@pytest.mark.parametrize(
    ("kernel", "order", "error"),
    [
        ("intersection", 2, 0.24),
        ("intersection", 10, 0.065),
        ("chi2", 1, 0.11),
        ("chi2", 3, 0.018),
        ("chi2", 5, 0.005),
        ("jensen_shannon", 1, 0.085),
        ("jensen_shannon", 3, 0.01),
        ("jensen_shannon", 5, 0.002),
    ],
)
def test_additive_kernels(kernel: str, order: int, error: float) -> None:
    """The largest error, relative to sqrt(x y), for amounts that differ by up to e^5.

    Smooth kernels are met fast; the intersection's kink at x = y is not.
    """
    mapped = HomogeneousKernelMap(kernel, order=order)
    rng = np.random.default_rng(0)
    worst = 0.0
    for _ in range(300):
        x = float(np.exp(rng.uniform(-4, 4)))
        y = float(x * np.exp(rng.uniform(-5, 5)))
        told = inner(mapped.transform_one({"a": x}), mapped.transform_one({"a": y}))
        worst = max(worst, abs(told - EXACT[kernel](x, y)) / np.sqrt(x * y))
    assert worst < error


@pytest.mark.parametrize(("steps", "interval"), [(1, 0.8), (2, 0.5), (3, 0.4)])
def test_chi2_is_scikit_learns(steps: int, interval: float) -> None:
    X = np.abs(np.random.default_rng(0).normal(size=(20, 3)))
    peer = AdditiveChi2Sampler(sample_steps=steps).fit(X).transform(X)
    mapped = HomogeneousKernelMap("chi2", order=steps - 1, step=interval)
    ours = [mapped.transform_one(dict(enumerate(row.tolist()))) for row in X]
    for i in range(20):
        # Theirs come by order, ours by feature.
        theirs = peer[i].reshape(2 * steps - 1, 3).T.reshape(-1)
        np.testing.assert_allclose(list(ours[i].values()), theirs, rtol=1e-9)


def test_amounts_below_zero_and_nothing() -> None:
    mapped = HomogeneousKernelMap("chi2")
    plus, minus = mapped.transform_one({"a": 2.0}), mapped.transform_one({"a": -2.0})
    assert plus == {name: -value for name, value in minus.items()}
    assert mapped.transform_one({"a": 0.0, "b": None, "c": float("nan")}) == {}


def test_fourier_features_are_the_rbf_kernel() -> None:
    mapped = FourierFeatures(n_components=20_000, gamma=0.3)
    rng = np.random.default_rng(0)
    for _ in range(20):
        x, y = rng.normal(size=(2, 4))
        told = inner(*(mapped.transform_one(dict(enumerate(v.tolist()))) for v in (x, y)))
        assert told == pytest.approx(np.exp(-0.3 * ((x - y) ** 2).sum()), abs=0.03)


def test_fourier_features_know_names_not_places() -> None:
    mapped, other = FourierFeatures(), FourierFeatures()
    other.transform_one({"z": 1.0, 7: 2.0})
    a = mapped.transform_one({"a": 1.0, "b": 2.0, "c": None})
    assert a == other.transform_one({"b": 2.0, "a": 1.0})
    assert a != FourierFeatures(seed=1).transform_one({"a": 1.0, "b": 2.0})
    assert mapped.transform_one({1: 1.0}) != mapped.transform_one({"1": 1.0})


def test_fourier_features_keep_a_bounded_number_of_names() -> None:
    mapped = FourierFeatures(n_components=2)
    for i in range(12_000):
        mapped.transform_one({i: 1.0})
    assert len(mapped._kept) == 10_000
    assert mapped.transform_one({11_999: 1.0}) == FourierFeatures(2).transform_one({11_999: 1.0})


def test_nystroem_is_scikit_learns_over_the_same_landmarks() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 3))
    mapped = OnlineNystroem(n_landmarks=30, gamma=0.5)
    for row in X.tolist():
        mapped.learn_one(dict(enumerate(row)))
    peer = Nystroem(kernel="rbf", gamma=0.5, n_components=30).fit(X)
    other = rng.normal(size=(20, 3))
    theirs = peer.transform(other)
    ours = np.array(
        [list(mapped.transform_one(dict(enumerate(v))).values()) for v in other.tolist()]
    )
    np.testing.assert_allclose(ours @ ours.T, theirs @ theirs.T, atol=1e-5)
    at = np.array([list(mapped.transform_one(dict(enumerate(v))).values()) for v in X.tolist()])
    exact = np.exp(-0.5 * ((X[:, None] - X) ** 2).sum(axis=2))
    np.testing.assert_allclose(at @ at.T, exact, atol=1e-5)


def test_the_reservoir_is_a_fair_sample_and_settles() -> None:
    kept = np.zeros(100)
    for seed in range(200):
        mapped = OnlineNystroem(n_landmarks=10, seed=seed, settled=100)
        for i in range(300):
            mapped.learn_one({"a": float(i)})
        assert mapped._landmarks.shape == (10, 1)
        kept[mapped._landmarks[:, 0].astype(int)] += 1
    assert kept.sum() == 2_000
    # Each of the first 100 is kept in one run of ten: 20 +- 4.2 of 200.
    assert kept.min() > 4 and kept.max() < 40


def test_features_that_appear_later_count_in_the_distance() -> None:
    mapped = OnlineNystroem(n_landmarks=2, gamma=1.0, settled=2)
    mapped.learn_one({"a": 0.0})
    mapped.learn_one({"a": 1.0})
    near, far = mapped.transform_one({"a": 0.0}), mapped.transform_one({"a": 0.0, "b": 2.0})
    assert far == pytest.approx({j: np.exp(-4) * v for j, v in near.items()})


def all_checks() -> Iterator[Any]:
    for kind in MAPS:
        for i, check in enumerate(checks.yield_checks(kind())):
            name = getattr(check, "__name__", str(check))
            assert name not in kind()._unit_test_skips()
            yield pytest.param(kind, check, id=f"{kind.__name__}-{name}-{i}")


@pytest.mark.parametrize(("kind", "check"), list(all_checks()))
def test_river_checks(kind: Any, check: Callable[[Any], None]) -> None:
    check(kind())


@pytest.mark.parametrize("kind", MAPS)
@pytest.mark.parametrize("copied", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_a_copy_goes_on_to_the_bit(kind: Any, copied: Callable[[Any], Any]) -> None:
    rng = np.random.default_rng(0)
    rows = [dict(enumerate(row)) for row in np.abs(rng.normal(size=(300, 3))).tolist()]
    mapped = kind()
    for x in rows[:150]:
        mapped.learn_one(x)
    other = copied(mapped)
    for x in rows[150:]:
        mapped.learn_one(x)
        other.learn_one(x)
        assert mapped.transform_one(x) == other.transform_one(x)


@pytest.mark.parametrize("kind", MAPS)
def test_extremes_stay_finite(kind: Any) -> None:
    mapped = kind()
    for value in (1e300, -1e300, 1e-300, 5e-324, 1e150, 0.0):
        mapped.learn_one({"a": value, "b": 1.0})
        for x in ({"a": value}, {"a": -value, "new": value}):
            assert np.isfinite(list(mapped.transform_one(x).values())).all()


@pytest.mark.parametrize("kind", MAPS)
@pytest.mark.parametrize("value", [b"red", float("inf"), 1j])
def test_bad_values_are_refused(kind: Any, value: Any) -> None:
    mapped = kind()
    mapped.learn_one({"a": 1.0})
    with pytest.raises(ValueError, match="feature 'a' has the value"):
        mapped.transform_one({"a": value})


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        (HomogeneousKernelMap, {"kernel": "rbf"}, "kernel must be one of"),
        (HomogeneousKernelMap, {"order": -1}, "order must be"),
        (HomogeneousKernelMap, {"step": 0}, "step must be"),
        (FourierFeatures, {"n_components": 0}, "n_components must be"),
        (FourierFeatures, {"gamma": -1}, "gamma must be"),
        (OnlineNystroem, {"n_landmarks": 0}, "n_landmarks must be"),
        (OnlineNystroem, {"settled": -1}, "settled must be"),
    ],
)
def test_bad_options_are_refused(kind: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        kind(**options)


@pytest.mark.parametrize("mapped", [OnlineNystroem(50, settled=500), FourierFeatures(200)])
def test_a_linear_machine_behind_it_follows_the_bananas(mapped: Any) -> None:
    """Alone, Pegasos has half of them right."""
    machine = PegasosClassifier(standardize=False, l2=1e-4)
    model = preprocessing.StandardScaler() | mapped.clone() | machine
    score = evaluate.progressive_val_score(datasets.Bananas(), model, metrics.Accuracy())
    assert score.get() > 0.8
