"""Whatever finite records come, no NaN gets into a model, and no answer is one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stream_llsvm.learners.base import LocalClassifier
from tests.learners.support import NEW_LEARNERS, Stream, records, small, sound, taught
from tests.learners.test_anchored import extremes

each = pytest.mark.parametrize("kind", NEW_LEARNERS)
VALUES = st.one_of(
    st.none(),
    st.floats(allow_infinity=False),
    st.sampled_from([0.0, 1.0, 7.0, 1e30, -1e30, 1.7e308, 5e-324]),
)


@settings(max_examples=80)
@given(
    kind=st.sampled_from(NEW_LEARNERS),
    rows=st.lists(
        st.tuples(st.dictionaries(st.sampled_from("abcde"), VALUES), st.integers(0, 4)),
        min_size=1,
        max_size=8,
    ),
    copies=st.integers(1, 30),
    w=st.sampled_from([1.0, 1e-6, 1e6]),
    standardize=st.booleans(),
)
def test_no_record_lets_a_nan_in(
    kind: type[LocalClassifier], rows: Stream, copies: int, w: float, standardize: bool
) -> None:
    """Duplicates, constants, one class or many, classes and features that are late, gaps."""
    model = small(kind, standardize=standardize)
    for x, y in rows * copies:
        model.learn_one(x, y, w=w)
    assert sound(model)
    for x, _ in rows:
        proba = list(model.predict_proba_one(x).values())
        assert np.isfinite(proba).all() and sum(proba) == pytest.approx(1)
        explained = model.explain_one(x)
        assert np.isfinite([explained.score, explained.bias, *explained.weights.values()]).all()


OPTIONS: list[dict[str, Any]] = [{}, {"standardize": False}]


@pytest.mark.parametrize("options", OPTIONS, ids=["scaled", "unscaled"])
@each
def test_absurd_records_among_sober_ones(
    kind: type[LocalClassifier], options: dict[str, Any]
) -> None:
    model = small(kind, **options)
    for i, (x, y) in enumerate(extremes(400, seed=0)):
        model.learn_one(x, y, w=1e6 if i >= 300 else 1.0)
        if i < 40 or i % 40 == 39:
            assert sound(model), f"after record {i}"
    for x, _ in extremes(20, seed=1):
        assert np.isfinite(list(model.predict_proba_one(x).values())).all()


@each
def test_records_of_nothing_but_gaps(kind: type[LocalClassifier]) -> None:
    blank: Stream = [(dict.fromkeys("abc"), i % 2) for i in range(200)]
    model = taught(small(kind), blank)
    assert sound(model)
    taught(model, records(100))
    assert sound(model)


@each
def test_records_without_any_feature(kind: type[LocalClassifier]) -> None:
    """Long enough for ferns to be drawn, though there is nothing that they could ask."""
    empty: Stream = [({}, i % 2) for i in range(1_300)]
    model = taught(small(kind), empty)
    assert sound(model)
    assert sum(model.predict_proba_one({}).values()) == pytest.approx(1)
    assert sum(model.explain_one({}).members.values()) == pytest.approx(model.explain_one({}).score)
    taught(model, records(100))
    assert sound(model)
