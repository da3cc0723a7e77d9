"""Sections of a model's own that come from a file, and cannot be what a model has learned."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stream_llsvm import CommitteeClassifier, load_model
from stream_llsvm.kernels.mixer import JUDGED, SINCE, WORTH, WORTH_SQUARED
from stream_llsvm.kernels.sleep import FOLLOWED, LATELY, USUALLY
from stream_llsvm.model import file as model_file
from stream_llsvm.model.file import ModelFileError


def learned() -> CommitteeClassifier:
    model = CommitteeClassifier(members=("anchors:1", "prior"))
    X = np.random.default_rng(0).normal(size=(200, 2))
    model.learn_many(X, X[:, 0] > 0)
    return model


def test_what_a_model_has_learned_is_read(tmp_path: Path) -> None:
    model = learned()
    assert model._state is not None
    facts, errors = (model._state.views(0)[name] for name in ("members", "errors"))
    assert facts[WORTH].any() and errors[FOLLOWED] > 0
    model.save(tmp_path / "m.llsvm")
    assert isinstance(load_model(tmp_path / "m.llsvm"), CommitteeClassifier)


@pytest.mark.parametrize(
    ("section", "place", "value"),
    [
        ("errors", LATELY, 1.5), ("errors", USUALLY, -0.1), ("errors", USUALLY, 1e300),
        ("errors", FOLLOWED, -1.0), ("errors", FOLLOWED, 2.0**53),
        ("members", (WORTH, 0), -30.0), ("members", (WORTH, 1), 1e200),
        ("members", (WORTH_SQUARED, 0), -1e-9), ("members", (WORTH_SQUARED, 0), 1e4),
        ("members", (JUDGED, 0), 2.0**53), ("members", (SINCE, 1), 1e18),
    ],
)  # fmt: skip
def test_a_file_with_impossible_judgements_is_refused(
    section: str, place: Any, value: float, tmp_path: Path
) -> None:
    path, model = tmp_path / "m.llsvm", learned()
    assert model._state is not None
    model._state.views(0)[section][place] = value
    model_file.write(path, dict(model._payload()))
    with pytest.raises(ModelFileError, match="impossible values"):
        load_model(path)
