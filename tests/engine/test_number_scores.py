"""The scores of numbers, beside scikit-learn's and beside the obvious loop."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn import metrics

from stream_llsvm.engine.number_scores import NumberScores, shares_of
from stream_llsvm.engine.scores import FADE
from stream_llsvm.model.file import ModelFileError, dumps, loads

Floats = NDArray[np.float64]


def stream(seed: int, n: int, offset: float = 0.0) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(seed)
    truth = offset + rng.normal(size=n).cumsum()
    return truth, truth + rng.normal(size=n)


def scored(blocks: list[int], truth: Floats, told: Floats, window: int = 50) -> NumberScores:
    """Feed the stream in blocks of these sizes, then the rest."""
    scores, begin = NumberScores(window), 0
    for size in [*blocks, len(truth)]:
        scores.update(truth[begin : begin + size], told[begin : begin + size])
        begin += size
    return scores


def expected(truth: Floats, told: Floats) -> dict[str, float]:
    return {
        "mae": metrics.mean_absolute_error(truth, told),
        "rmse": metrics.root_mean_squared_error(truth, told),
        "r2": metrics.r2_score(truth, told),
    }


@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_the_scores_are_scikit_learns(offset: float) -> None:
    truth, told = stream(0, 400, offset)
    found = scored([3, 250], truth, told).report()
    for view, part in (("cumulative", slice(None)), ("windowed", slice(-50, None))):
        for name, value in expected(truth[part], told[part]).items():
            assert found[view][name] == pytest.approx(value, rel=1e-6), (view, name)


def test_fading_scores_weigh_each_record_by_its_age() -> None:
    truth, told = stream(1, 300)
    found = scored([7], truth, told).report()["fading"]
    weights = FADE ** np.arange(299, -1, -1)
    assert found["mae"] == pytest.approx(np.average(np.abs(truth - told), weights=weights))
    assert found["r2"] == pytest.approx(metrics.r2_score(truth, told, sample_weight=weights))


def test_the_baselines_know_only_what_came_before() -> None:
    truth, told = stream(2, 200)
    told[:3] = np.nan  # nothing was told yet: no score, but the labels are known
    found = scored([50], truth, told, window=1_000).report()
    by_mean = [abs(truth[i] - truth[:i].mean()) for i in range(3, 200)]
    by_last = np.abs(np.diff(truth))[2:]
    for view in ("windowed", "cumulative"):
        assert found[view]["mean_label"] == pytest.approx(np.mean(by_mean))
        assert found[view]["last_label"] == pytest.approx(by_last.mean())


@given(st.lists(st.integers(0, 60), max_size=8))
def test_blocks_do_not_matter(blocks: list[int]) -> None:
    truth, told = stream(3, 150)
    told[[0, 40]] = np.nan
    whole, cut = scored([], truth, told), scored(blocks, truth, told)
    assert dumps(cut.payload()) == dumps(whole.payload())
    assert (whole.n, whole.seen) == (148, 150)


def test_errors_are_shares_of_the_labels_spread() -> None:
    truth = np.tile([-1.0, 1.0], 200)
    errors = shares_of(np.full(400, 0.25), NumberScores().update(truth, truth + 0.25))
    assert errors[0] == 1.0  # nothing is known of the spread yet
    assert errors[100:] == pytest.approx(0.25, abs=0.01)
    far = shares_of(np.full(400, 5.0), NumberScores().update(truth, truth + 5.0))
    assert far[100:].tolist() == [1.0] * 300


def test_what_goes_on_is_the_same_as_what_never_stopped() -> None:
    truth, told = stream(4, 200)
    half, whole = scored([], truth[:80], told[:80]), scored([], truth, told)
    kept = NumberScores.restored(loads(dumps({"s": half.payload()}))["s"])  # type: ignore[arg-type]
    kept.update(truth[80:], told[80:])
    assert kept.report() == whole.report()
    assert dumps(kept.payload()) == dumps(whole.payload())


def test_numbers_of_any_size_leave_finite_scores() -> None:
    far = np.array([1.7e308, -1.7e308, 0.0, 5e-324, 1.7e308])
    scores = scored([2], far, -far)
    found = scores.report()
    assert all(np.isfinite(value) for view in found.values() for value in view.values())
    NumberScores.restored(scores.payload())
    same = scored([], np.ones(5), np.ones(5)).report()["windowed"]
    assert (same["mae"], same["r2"]) == (0.0, 0.0)
    assert NumberScores().report() == {}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("n", 201), ("n", -1), ("n", 1.5), ("window", 10), ("window", 10**12),
        ("moments", np.zeros(3)), ("moments", np.full(9, np.nan)), ("moments", np.zeros(9)),
        ("recent", np.full((5, 50), -1.0)), ("recent", np.zeros((5, 50), dtype=np.int64)),
        ("sums", np.full(4, -1.0)), ("fading", np.full(4, np.inf)), ("sums", None),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(name: str, value: Any) -> None:
    payload = scored([], *stream(5, 200)).payload()
    NumberScores.restored(payload)
    with pytest.raises(ModelFileError, match="does not fit"):
        NumberScores.restored(payload | {name: value})
