"""The background says what the model would say, as far as a byte can."""

from __future__ import annotations

import base64

import numpy as np

from stream_llsvm import SAPLClassifier
from stream_llsvm.dashboard.regions import CELLS, regions


def test_more_classes_than_a_byte_tells_are_not_drawn() -> None:
    model = SAPLClassifier(n_anchors=2)
    for i in range(257):
        model.learn_one({"a": float(i), "b": 1.0}, i)
        drawn = regions(model, np.array([0.0, 0.0]), np.array([300.0, 2.0]))
        assert (drawn is None) == (i == 256)


def test_rows_go_up_and_columns_to_the_right() -> None:
    model = SAPLClassifier(n_anchors=2)
    rng = np.random.default_rng(0)
    rows = rng.uniform(-1, 1, (3_000, 2))
    model.learn_many(rows, ["high" if y > 0.5 else "low" for _, y in rows.tolist()])
    drawn = regions(model, np.array([-1.0, -1.0]), np.array([1.0, 1.0]))
    assert drawn is not None
    codes = np.frombuffer(base64.b64decode(drawn["codes"]), dtype=np.uint8)
    table = codes.reshape(drawn["rows"], drawn["columns"])
    assert table.shape == (CELLS, CELLS)
    high = model.classes.index("high")
    assert (table[:30] != high).mean() > 0.95
    assert (table[-6:] == high).mean() > 0.95
