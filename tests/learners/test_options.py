"""Options are checked when a model is made, and the message says what is allowed."""

from __future__ import annotations

import inspect
import math
from typing import Any

import numpy as np
import pytest

from stream_llsvm import LCCClassifier, LLSVMClassifier, SAPLClassifier
from stream_llsvm.learners.anchored import AnchorClassifier
from tests.learners.support import LEARNERS

NO_NUMBER: list[Any] = ["1", None, [1], math.nan, math.inf, -math.inf, True, 1j]
NO_WHOLE: list[Any] = [*NO_NUMBER, 1.5]
NO_CHOICE: list[Any] = ["", "Softmax", None, 0, ["softmax"], True]
NO_FLAG: list[Any] = [0, 1, None, "yes", np.True_]

# Not every learner has these: see below, and test_feature_map.py.
SOME = ("bias_step", "feature_map", "code_in")

REFUSED: dict[str, tuple[list[Any], str]] = {
    "n_anchors": (
        [*NO_WHOLE, 0, -1, 100_001],
        "n_anchors must be a whole number from 1 to 100,000",
    ),
    "n_neighbors": ([*NO_WHOLE, 0, 1_001], "n_neighbors must be a whole number from 1 to 1,000"),
    "coding": (NO_CHOICE, "coding must be one of 'softmax', 'inverse_distance', 'reconstruction'"),
    "step_size": (
        [*NO_NUMBER[1:], 0, -1.0, 1e-7, 1001, "", "Auto", "1"],
        r"step_size( must be a number from 1e-06 to 1000| .* must be one of 'auto', 'paper')",
    ),
    "l2": ([*NO_NUMBER, -1e-9, 1.1], "l2 must be a number from 0 to 1"),
    "t0": ([*NO_WHOLE, 0, 10**13], "t0 must be a whole number from 1 to 1,000,000,000,000"),
    "skip": ([*NO_WHOLE, 0, 10**7], "skip must be a whole number from 1 to 1,000,000"),
    "standardize": (NO_FLAG, "standardize must be True or False"),
    "loss": (NO_CHOICE, "loss must be one of 'hinge', 'huberized_hinge', 'logistic'"),
    "multiclass": (NO_CHOICE, "multiclass must be one of 'ovr', 'crammer_singer'"),
    "max_mb": ([*NO_WHOLE, 0, 10**7], "max_mb must be a whole number from 1 to 1,000,000"),
    "seed": ([*NO_WHOLE, -1, 2**32], "seed must be a whole number from 0 to 4,294,967,295"),
}
ALLOWED: dict[str, list[Any]] = {
    "n_anchors": [1, 100_000],
    "n_neighbors": [1, 1_000],
    "coding": ["softmax", "inverse_distance"],
    "step_size": ["auto", 1e-6, 1, 0.5, 1_000, np.float64(2.0)],
    "l2": [0, 0.0, 1e-9, 1],
    "t0": [1, 10**12],
    "skip": [1, 10**6],
    "standardize": [True, False],
    "loss": ["hinge", "huberized_hinge", "logistic"],
    "multiclass": ["ovr", "crammer_singer"],
    "max_mb": [1, 10**6],
    "seed": [0, 2**32 - 1],
}


@pytest.mark.parametrize("kind", LEARNERS)
@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(kind: type[AnchorClassifier], name: str) -> None:
    values, message = REFUSED[name]
    for value in values:
        with pytest.raises(ValueError, match=message) as told:
            kind(**{name: value})
        assert repr(value) in str(told.value), "the message shows what was given"


@pytest.mark.parametrize("kind", LEARNERS)
@pytest.mark.parametrize("name", ALLOWED)
def test_what_is_allowed(kind: type[AnchorClassifier], name: str) -> None:
    for value in ALLOWED[name]:
        model = kind(**{name: value})
        assert getattr(model, name) == value
        assert model.clone()._get_params() == model._get_params()


@pytest.mark.parametrize("kind", LEARNERS)
def test_every_option_is_looked_at(kind: type[AnchorClassifier]) -> None:
    assert set(REFUSED) == set(ALLOWED)
    assert set(kind()._get_params()) - {"supervised", *SOME} == set(REFUSED)


@pytest.mark.parametrize("supervised", NO_FLAG)
def test_supervised(supervised: Any) -> None:
    with pytest.raises(ValueError, match="supervised must be True or False; got"):
        LCCClassifier(supervised=supervised)


@pytest.mark.parametrize("kind", LEARNERS)
def test_an_option_that_does_not_exist(kind: type[AnchorClassifier]) -> None:
    options: dict[str, Any] = {"n_anchor": 5}
    with pytest.raises(TypeError, match="n_anchor"):
        kind(**options)


@pytest.mark.parametrize("kind", LEARNERS)
def test_the_papers_schedule_needs_l2_and_room(kind: type[AnchorClassifier]) -> None:
    with pytest.raises(
        ValueError, match=r'step_size="paper" begins with steps of 1 / \(l2 t0\).*l2=1e-4'
    ):
        kind(step_size="paper")
    with pytest.raises(ValueError, match=r"skip must be below t0; got skip=100, t0=100"):
        kind(step_size="paper", l2=1e-4, t0=100)
    assert kind(step_size="paper", l2=1e-4, t0=101)._get_params()["t0"] == 101


@pytest.mark.parametrize("kind", LEARNERS)
def test_the_options_are_documented(kind: type[AnchorClassifier]) -> None:
    text = inspect.cleandoc(kind.__doc__ or "")
    assert "{parameters}" not in text
    for name in kind()._get_params():
        assert f"\n{name}\n    " in text


@pytest.mark.parametrize("kind", [LLSVMClassifier, SAPLClassifier])
@pytest.mark.parametrize("bias_step", [*NO_NUMBER, 0, 1e-4, 1001])
def test_bias_step(kind: type[AnchorClassifier], bias_step: Any) -> None:
    with pytest.raises(ValueError, match=r"bias_step must be a number from 0\.001 to 1000; got"):
        kind(bias_step=bias_step)
