"""Members' kernels are called by address, and addresses are of one process."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stream_llsvm import CommitteeClassifier, load_model
from stream_llsvm.kernels.dispatch import SIGNATURE, address_of, number_of
from stream_llsvm.kernels.scaling import MANY
from stream_llsvm.members.registry import KINDS, kernels_of

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 3))
Y = (X[:, 0] > 0).astype(int)


@pytest.mark.parametrize("kind", KINDS)
def test_each_kernel_has_a_place_of_its_own(kind: str) -> None:
    everywhere = [address_of(one) for other in KINDS for one in kernels_of(other)]
    for kernel in kernels_of(kind):
        address = address_of(kernel)
        assert (address > 0) == (kernel is not None)
        assert kernel is None or everywhere.count(address) == 1
        assert kernel is None or kernel.signatures == [SIGNATURE.args]


def test_each_kind_has_a_number() -> None:
    numbers = [number_of(kernels_of(kind)) for kind in KINDS]
    assert len(set(numbers)) == len(KINDS)
    assert numbers == [number_of(kernels_of(kind)) for kind in KINDS]


def test_addresses_are_not_saved(tmp_path: Path) -> None:
    model = CommitteeClassifier()
    model.learn_many(X, Y)
    fresh = pickle.loads(pickle.dumps(model))
    assert not fresh._state.views(0)["addresses"].any()
    model.save(tmp_path / "model")
    read: Any = load_model(tmp_path / "model")
    for other in (fresh, read):
        other.learn_many(X, Y)
        addresses = other._state.views(0)["addresses"]
        assert addresses[0].all()
        assert not addresses[1].any()  # so few features are never answered together
    model.learn_many(X, Y)
    assert model._state is not None
    assert fresh._state.state.tobytes() == model._state.state.tobytes()


def test_what_answers_many_rows_together_is_compiled_for_many_features_only() -> None:
    model = CommitteeClassifier()
    model.learn_many(RNG.normal(size=(80, MANY)), Y)
    assert model._state is not None
    addresses = model._state.views(0)["addresses"]
    assert (addresses[1] != 0).tolist() == [m.answers_together for m in model._state.members]
    assert addresses[1].any()
