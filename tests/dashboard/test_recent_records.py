"""Many records at once are placed as each of them alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from stream_llsvm import SAPLClassifier
from stream_llsvm.dashboard.recent_records import _table, filled, row_of, rows_of

NAN, INF = float("nan"), float("inf")
RECORDS: dict[str, list[dict[Any, Any]]] = {
    "plain": [{"a": 1.0, "b": 2.0, "c": 3.0}, {"a": -4.0, "b": 0.0, "c": 1e9}],
    "in another order, one more": [{"c": 3.0, "d": 9.0, "a": 1.0}, {"c": 0.5, "d": 1.0, "a": 2.0}],
    "missing": [{"a": NAN, "b": 2.0, "c": 3.0}, {"a": 1.0, "b": NAN, "c": NAN}],
    "none alike": [{"a": 1.0}, {"b": 2.0, "a": 3.0}, {}],
    "of other types": [{"a": 1, "b": True, "c": None}, {"a": 1.0, "b": 0.5, "c": 2.0}],
    "of no use": [{"a": 1.0, "b": 2.0}, {"a": INF, "b": 2.0}, {"a": "x", "b": 1.0}],
    "nothing": [],
}  # fmt: skip


@pytest.mark.parametrize("records", RECORDS.values(), ids=RECORDS.keys())
def test_records_together_are_as_each_alone(records: list[dict[Any, Any]]) -> None:
    model = SAPLClassifier()
    model.learn_one({"a": 1.0, "b": 2.0, "c": 3.0}, "yes")
    for columns in (np.array([0, 1, 2]), np.array([0, 2])):
        otherwise = np.array([7.0, 8.0, 9.0])[columns]
        together = rows_of(model, records, columns, otherwise)
        assert len(together) == len(records)
        for row, x in zip(together, records, strict=True):
            alone = row_of(model, x)
            if alone is None:
                assert row is None
            else:
                assert row is not None
                assert row.tolist() == filled(alone, columns, otherwise).tolist()


def test_only_records_of_one_shape_are_a_table() -> None:
    tables = {name: _table(records) is not None for name, records in RECORDS.items()}
    assert [name for name, is_one in tables.items() if is_one] == list(RECORDS)[:3]
