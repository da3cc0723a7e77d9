"""States that a file may hold but no stream can make: refused, or at least harmless."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from stream_llsvm import ModelFileError, SAPLClassifier
from stream_llsvm.kernels.members.anchors import MASS, SEEN, SHARPNESS, STEPS, VISITS
from stream_llsvm.kernels.mixer import EFFORT, POWER
from stream_llsvm.kernels.scaling import COUNT, INVERSE, VARIANCE
from stream_llsvm.learners.anchored import AnchorClassifier
from stream_llsvm.learners.base import LocalClassifier
from stream_llsvm.learners.saving import from_payload
from tests.learners.support import LEARNERS, everything, records, small, taught


def changed(model: LocalClassifier, row: int, section: str, where: Any, value: float) -> Any:
    """Return what the model would save if a number of its state were another."""
    assert model._memory is not None
    kept = model._memory.state.copy()
    model._memory.views(row)[section][where] = value
    payload = dict(model._payload())
    payload["state"] = model._memory.state.view(np.uint8).copy()
    model._memory.state[:] = kept
    return payload


IMPOSSIBLE: dict[str, tuple[int, str, Any, float]] = {
    "a count below 0": (0, "statistics", (0, COUNT), -1.0),
    "a variance below 0": (0, "statistics", (0, VARIANCE), -1.0),
    "a scale below 0": (0, "statistics", (0, INVERSE), -1.0),
    "records seen below 0": (0, "counters", 0, -1.0),
    "a mean square below 0": (0, "mixer", (POWER, 0), -1.0),
    "a sum of squares below 0": (0, "mixer", (EFFORT, 0), -1e30),
    "records learned below 0": (1, "running", SEEN, -1.0),
    "visits below 0": (1, "facts", (VISITS, 0), -1.0),
    "a mass below 0": (1, "facts", (MASS, 0), -1.0),
    "a common scale above 1": (1, "raw_scale", 0, 1e30),
}


@pytest.mark.parametrize("change", IMPOSSIBLE.values(), ids=IMPOSSIBLE)
def test_what_is_impossible_is_refused(change: tuple[int, str, Any, float]) -> None:
    """Each of these would become NaN, or a step without measure, with the next records."""
    model = taught(small(SAPLClassifier), records(100))
    with pytest.raises(ModelFileError):
        from_payload(changed(model, *change))


@pytest.mark.parametrize("setting", [SHARPNESS, STEPS])
def test_settings_are_those_of_the_options_whatever_the_file_says(setting: int) -> None:
    model = taught(small(SAPLClassifier), records(100))
    loaded = from_payload(changed(model, 1, "settings", setting, 1e30))
    assert everything(loaded) == everything(model)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("kind", LEARNERS)
def test_no_number_in_a_file_can_crash_the_process(
    kind: type[AnchorClassifier], classes: int
) -> None:
    """Whatever is accepted can be asked, taught, taken apart and grown: no index comes from it."""
    model = taught(small(kind, n_anchors=6, n_neighbors=3), records(60, classes=classes))
    memory = model._memory
    assert memory is not None
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(10, 3)), rng.integers(0, classes, 10)
    for row in range(2):
        for section, (_, count, kept_as, _, where) in memory._places[row].items():
            for place in {0, count // 2, count - 1} if where == "state" and count else ():
                for value in (-1.0, 0.0, 0.5, 1e30, -1e30, 1e300):
                    if kept_as == "f4" and value > 1e38:
                        continue
                    at = np.unravel_index(place, memory.views(row)[section].shape)
                    try:
                        loaded = from_payload(changed(model, row, section, at, value))
                    except ModelFileError:
                        continue
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        loaded.learn_many(X, y)
                        assert set(loaded.predict_many(X).tolist()) <= set(loaded.classes)
                        loaded.explain_one({"f0": 1.0})
                        assert len(loaded.anchors) <= 6
                    loaded.learn_one({"f0": 1.0, "new": 1.0}, "new")
                    assert loaded.predict_one({"new": 1.0}) in loaded.classes
