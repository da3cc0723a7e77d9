"""Members' kernels are called by address, and addresses are of one process."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stream_llsvm import CommitteeClassifier, load_model
from stream_llsvm.kernels.kinds import KERNELS, SIGNATURE, TOGETHER, address_of, address_together

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 3))
Y = (X[:, 0] > 0).astype(int)


@pytest.mark.parametrize("kind", KERNELS)
def test_each_kind_has_a_place_of_its_own(kind: int) -> None:
    address = address_of(kind)
    assert address > 0
    assert [other for other in KERNELS if address_of(other) == address] == [kind]
    assert KERNELS[kind].signatures == [SIGNATURE.args]


@pytest.mark.parametrize("kind", KERNELS)
def test_a_second_kernel_has_one_too(kind: int) -> None:
    address = address_together(kind)
    assert (address != 0) == (kind in TOGETHER)
    assert address not in [address_of(other) for other in KERNELS]


def test_addresses_are_not_saved(tmp_path: Path) -> None:
    model = CommitteeClassifier()
    model.learn_many(X, Y)
    fresh = pickle.loads(pickle.dumps(model))
    assert not fresh._memory.views(0)["addresses"].any()
    model.save(tmp_path / "model")
    read: Any = load_model(tmp_path / "model")
    for other in (fresh, read):
        other.learn_many(X, Y)
        addresses = other._memory.views(0)["addresses"]
        assert addresses[0].all()
        assert (addresses[1] != 0).tolist() == [m.answers_together for m in other._memory.members]
    model.learn_many(X, Y)
    assert model._memory is not None
    assert fresh._memory.state.tobytes() == model._memory.state.tobytes()
