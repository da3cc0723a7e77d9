"""States of regressors that a file may hold but no stream can make: refused, or harmless."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from stream_llsvm import LLSVMRegressor, ModelFileError, PegasosRegressor
from stream_llsvm.kernels.run import SEEN
from stream_llsvm.kernels.scaling import COUNT, INVERSE, VARIANCE
from stream_llsvm.learners.load import from_payload
from stream_llsvm.members.anchors.state import N_ANCHORS
from stream_llsvm.members.family.pegasos import steps
from tests.learners.number_support import BOTH, everything, numbers, small, taught


def changed(model: Any, row: int, section: str, where: Any, value: float) -> Any:
    """Return what the model would save if a number of its state were another."""
    kept = model._state.state.copy()
    model._state.views(row)[section][where] = value
    payload = dict(model._payload())
    payload["state"] = model._state.state.view(np.uint8).copy()
    model._state.state[:] = kept
    return payload


#: The rows of the plan: the model, its member, and what is known of the target and the experts.
MODEL, MEMBER, NUMBERS = range(3)
IMPOSSIBLE: list[tuple[Any, int, str, Any, float]] = [
    (PegasosRegressor, MODEL, "counters", SEEN, -1.0),
    (PegasosRegressor, MODEL, "statistics", (0, VARIANCE), -1.0),
    (PegasosRegressor, MEMBER, "head", steps.STEPS, -1.0),
    (PegasosRegressor, MEMBER, "head", steps.STEPS, 2.5),
    (PegasosRegressor, MEMBER, "head", steps.HELD, 3.0),
    (PegasosRegressor, MEMBER, "scale", 0, 0.0),
    (PegasosRegressor, MEMBER, "norm", 0, -1.0),
    (PegasosRegressor, MEMBER, "weights", (0, 1), np.nan),
    (PegasosRegressor, MEMBER, "weights", (0, 1), 1e200),
    (PegasosRegressor, NUMBERS, "target", (0, COUNT), -1.0),
    (PegasosRegressor, NUMBERS, "target", (0, INVERSE), np.inf),
    (LLSVMRegressor, MEMBER, "running", N_ANCHORS, 13.0),
    (LLSVMRegressor, NUMBERS, "target", (0, VARIANCE), -1.0),
    (LLSVMRegressor, NUMBERS, "losses", 0, -1.0),
    (LLSVMRegressor, NUMBERS, "losses", 0, np.inf),
]


@pytest.mark.parametrize("change", IMPOSSIBLE, ids=lambda change: "-".join(map(str, change[2:])))
def test_what_is_impossible_is_refused(change: Any) -> None:
    kind, *where = change
    model = taught(small(kind), numbers(50))
    assert everything(from_payload(model._payload())) == everything(model)
    with pytest.raises(ModelFileError, match="impossible"):
        from_payload(changed(model, *where))


@BOTH
def test_settings_are_those_of_the_options_whatever_the_file_says(kind: Any) -> None:
    model = taught(small(kind), numbers(100))
    assert everything(from_payload(changed(model, NUMBERS, "epsilon", 0, 1e30))) == everything(
        model
    )
    if kind is PegasosRegressor:
        for setting in (steps.L2, steps.EPSILON, steps.T0):
            loaded = from_payload(changed(model, MEMBER, "head", setting, 1e30))
            assert everything(loaded) == everything(model)


@BOTH
@pytest.mark.parametrize("standardize", [True, False])
def test_no_number_in_a_file_can_crash_the_process(kind: Any, standardize: bool) -> None:
    """Whatever is accepted can be asked, taught, taken apart and grown: no index comes from it."""
    model = taught(small(kind, standardize=standardize), numbers(90))
    block = model._state
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(10, 3)), rng.normal(size=10)
    accepted = 0
    for row in range(1 + len(block.members)):
        for section, (_, count, kept_as, _, where) in block._places[row].items():
            for place in {0, count // 2, count - 1} if where == "state" and count else ():
                for value in (-1.0, 0.0, 0.5, 1e30, -1e30, 1e300):
                    if kept_as == "f4" and abs(value) > 1e38:
                        continue
                    at = np.unravel_index(place, block.views(row)[section].shape)
                    try:
                        loaded = from_payload(changed(model, row, section, at, value))
                    except ModelFileError:
                        continue
                    accepted += 1
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        assert len(loaded.test_then_learn(X, y)) == 10
                        assert len(loaded.predict_many(X)) == 10
                        loaded.explain_one({"f0": 1.0})
                    loaded.learn_one({"f0": 1.0, "new": 1.0}, 2.0)
                    assert isinstance(loaded.predict_one({"new": 1.0}), float)
    assert accepted > 50
