"""A field's columns of names share the place of one feature."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stream_llsvm import CommitteeClassifier, SAPLClassifier, load_model
from stream_llsvm.kernels.plan import MODEL_ROW
from stream_llsvm.kernels.scaling import take_shares
from tests.kernels.alone import alone

NAMES = ("DE", "SE", "NO", "DK")


def records(n: int, seed: int = 0) -> list[tuple[dict[str, Any], bool]]:
    rng = np.random.default_rng(seed)
    made = []
    for _ in range(n):
        name, amount = NAMES[rng.integers(4)], float(rng.normal())
        made.append(({"amount": amount, "country": name}, (amount > 0) != (name == "SE")))
    return made


def taught(model: Any, n: int = 200) -> Any:
    for x, y in records(n):
        model.learn_one(x, y)
    return model


def test_a_row_takes_its_columns_shares() -> None:
    shares = np.array([1, 0.5, 0.25], dtype=np.float32)
    dense, sparse = np.ones(3, dtype=np.float32), np.ones(2, dtype=np.float32)
    alone(take_shares)(shares, np.zeros(0, dtype=np.int64), dense)
    alone(take_shares)(shares, np.array([0, 2]), sparse)
    assert dense.tolist() == [1, 0.5, 0.25]
    assert sparse.tolist() == [1, 0.25]


def test_four_names_have_half_the_height_each() -> None:
    model = taught(SAPLClassifier())
    model.predict_one({"amount": 0.3, "country": "DE"})
    shares = dict(zip(map(str, model._features.names), model._features.shares(), strict=True))
    assert shares == {"amount": 1, "country": 1, **{f"country={name}": 0.5 for name in NAMES}}
    statistics, z = model._state.views(0)["statistics"], model._state.views(0)["z"][0, 0, :6]
    where = [str(name) for name in model._features.names].index("country=DE")
    _, mean, variance = statistics[where, :3]
    assert z[where] == pytest.approx(0.5 * (1 - mean) / np.sqrt(variance), rel=0.05)


def test_numbers_only_are_not_touched() -> None:
    model = SAPLClassifier()
    for x, y in records(100):
        model.learn_one({"amount": x["amount"]}, y)
    assert model._state is not None
    assert model._state.plan[0, MODEL_ROW.shared_out] == 0


@pytest.mark.parametrize("kind", [SAPLClassifier, CommitteeClassifier])
def test_a_copy_and_a_file_know_them(kind: Any, tmp_path: Path) -> None:
    model = taught(kind())
    model.save(tmp_path / "model")
    others = [copy.deepcopy(model), load_model(tmp_path / "model"), model.merge([model])]
    for x, y in records(100, seed=1):
        told = [one.predict_proba_one(x) for one in (model, *others)]
        assert told[1:3] == told[:1] * 2
        assert told[3] == pytest.approx(told[0])
        for one in (model, *others):
            one.learn_one(x, y)


def test_a_number_that_comes_after_names_counts_in_full() -> None:
    model = taught(SAPLClassifier())
    for x, y in records(100, seed=1):
        model.learn_one(x | {"late": 2.0 * y - 1.0}, y)
    assert model._state.width > len(model._features.names)  # it came into room that was there
    model.predict_one({"amount": 0.3, "country": "DE", "late": 1.0})
    where = list(model._features.names).index("late")
    assert model._state.views(0)["z"][0, 0, where] == pytest.approx(1.0, abs=0.2)
