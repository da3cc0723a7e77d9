"""What a model learns, and labels that are read as numbers."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from river import linear_model, preprocessing

from stream_llsvm import LLSVMRegressor, SAPLClassifier
from stream_llsvm.connectors.base import Batch, Place
from stream_llsvm.connectors.values import Values
from stream_llsvm.engine.task import task_of, with_numbers


def batch(labels: list[Any], *, matrix: bool = True) -> Batch:
    n = len(labels)
    places = [Place("wind.csv", None, i + 2) for i in range(n)]
    values = np.arange(2.0 * n).reshape(n, 2)
    if matrix:
        return Batch(labels, places, {}, ("a", "b"), values, keys=[*range(n)])
    return Batch(labels, places, {}, records=[{"a": float(i)} for i in range(n)])


@pytest.mark.parametrize(
    ("model", "task"),
    [
        (SAPLClassifier(), "classification"),
        (LLSVMRegressor(), "regression"),
        (linear_model.LinearRegression(), "regression"),
        (preprocessing.StandardScaler() | linear_model.LinearRegression(), "regression"),
        (preprocessing.StandardScaler() | linear_model.LogisticRegression(), "classification"),
    ],
)
def test_the_task_is_the_models(model: Any, task: str) -> None:
    assert task_of(model) == task


@pytest.mark.parametrize("model", ["sapl", LLSVMRegressor, None, preprocessing.StandardScaler()])
def test_what_is_no_model_is_told(model: Any) -> None:
    with pytest.raises(TypeError, match="a classifier or a regressor"):
        task_of(model)


@pytest.mark.parametrize("matrix", [True, False])
def test_records_whose_label_is_no_number_are_rejected_with_their_place(matrix: bool) -> None:
    labels = [1, "2.5", "storm", None, " 3e2 ", "NA", 10**400, "inf", float("inf"), [1], True]
    read = with_numbers(batch(labels, matrix=matrix), Values())
    assert read.labels == [1.0, 2.5, None, 300.0, None, 1.0]
    assert [type(label) for label in read.labels if label is not None] == [float] * 4
    kept = [0, 1, 3, 4, 5, 10]
    assert [place.number for place in read.places] == [i + 2 for i in kept]
    if matrix:
        assert read.values is not None
        assert (read.values[:, 0].tolist(), read.keys) == ([2.0 * i for i in kept], kept)
    else:
        assert read.records == [{"a": float(i)} for i in kept]
    rejected = [(one.place.number, one.reason) for one in read.rejected]
    assert rejected == [(i, "odd label") for i in (4, 8, 9, 10, 11)]
    assert read.rejected[0].detail == "'label': 'storm' is not a finite number"


def test_floats_are_passed_on_as_they_are() -> None:
    given = batch([1.5, -2.0])
    assert with_numbers(given, Values()) is given
    others = batch([np.float32(0.5), np.int64(3), Decimal("0.25")])
    assert with_numbers(others, Values()).labels == [0.5, 3.0, 0.25]


def test_text_is_read_as_the_features_are() -> None:
    values = Values(decimal=",", missing=["none", "-999"])
    read = with_numbers(batch(["1,5", "none", "-999", -999, "1.5"]), values)
    assert (read.labels, len(read.rejected)) == ([1.5, None, None, None], 1)
