"""States that a file may hold but no stream can make: refused, or at least harmless."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from stream_llsvm import CommitteeClassifier, MemoryClassifier, ModelFileError, SAPLClassifier
from stream_llsvm.kernels.mixer import EFFORT, POWER
from stream_llsvm.kernels.run import MIXED, TAUGHT
from stream_llsvm.kernels.run import SEEN as RECORDS
from stream_llsvm.kernels.scaling import COUNT, INVERSE, VARIANCE
from stream_llsvm.learners.base import LocalClassifier
from stream_llsvm.learners.load import from_payload
from stream_llsvm.members.additive import kernel as additive
from stream_llsvm.members.anchors.state import MASS, SEEN, SHARPNESS, STEPS, VISITS
from stream_llsvm.members.contexts import state as contexts
from stream_llsvm.members.contexts.table import COUNT as CAME
from stream_llsvm.members.contexts.table import SHARES
from stream_llsvm.members.ferns import kernel as ferns
from stream_llsvm.members.neighbours import kernel as memory
from stream_llsvm.members.trees import state as trees
from stream_llsvm.members.waves import kernel as waves
from tests.learners.support import ALL_LEARNERS, everything, records, small, sound, taught


def changed(model: LocalClassifier, row: int, section: str, where: Any, value: float) -> Any:
    """Return what the model would save if a number of its state were another."""
    assert model._state is not None
    kept = model._state.state.copy()
    model._state.views(row)[section][where] = value
    payload = dict(model._payload())
    payload["state"], payload["pages"] = model._state.state.view(np.uint8).copy(), None
    model._state.state[:] = kept
    return payload


IMPOSSIBLE: dict[str, tuple[int, str, Any, float]] = {
    "a count below 0": (0, "statistics", (0, COUNT), -1.0),
    "a variance below 0": (0, "statistics", (0, VARIANCE), -1.0),
    "a scale below 0": (0, "statistics", (0, INVERSE), -1.0),
    "records seen below 0": (0, "counters", 0, -1.0),
    "a mean square below 0": (0, "mixer", (POWER, 0), -1.0),
    "a sum of squares below 0": (0, "mixer", (EFFORT, 0), -1e30),
    "a share below 0": (0, "joined", (0, 1), -1.0),
    "a share of many": (0, "joined", (0, 0), 5.0),
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


#: The rows of the plan of a small committee: anchors:1, anchors:8, additive:5, memory:70, prior:9,
#: waves:8, trees:4, ferns:8, words:1024, contexts:1024.
ADDITIVE, MEMORY, PRIOR, WAVES, TREES, FERNS, CONTEXTS = 3, 4, 5, 6, 7, 8, 10
IMPOSSIBLE_IN_MEMBERS: dict[str, tuple[int, str, Any, float]] = {
    "additive: records learned below 0": (ADDITIVE, "running", additive.SEEN, -1.0),
    "additive: a mass below 0": (ADDITIVE, "mass", (0, 0), -1.0),
    "additive: nan in a weight": (ADDITIVE, "weights", (0, 0, 0, 0, 0), np.nan),
    "memory: more records than there is room for": (MEMORY, "running", memory.HELD, 71.0),
    "memory: half a record": (MEMORY, "running", memory.HELD, 3.5),
    "memory: less than no records": (MEMORY, "running", memory.HELD, -1.0),
    "memory: a place beyond the window": (MEMORY, "running", memory.HEAD, 70.0),
    "memory: half a place": (MEMORY, "running", memory.HEAD, 0.5),
    "memory: a spread below 0": (MEMORY, "running", memory.SPREAD, -1.0),
    "memory: a class that there is not": (MEMORY, "facts", (memory.LABEL, 5), 3.0),
    "memory: a class of absurd number": (MEMORY, "facts", (memory.LABEL, 69), 1e300),
    "memory: half a class": (MEMORY, "facts", (memory.LABEL, 0), 0.5),
    "memory: a class below 0": (MEMORY, "facts", (memory.LABEL, 0), -1.0),
    "memory: a weight below 0": (MEMORY, "facts", (memory.WORTH, 0), -1.0),
    "memory: infinity in a record": (MEMORY, "store", (0, 0), np.inf),
    "memory: a metric below 0": (MEMORY, "scale", 0, -1.0),
    "memory: a metric of nothing": (MEMORY, "scale", 0, 0.0),
    "memory: an effort below 0": (MEMORY, "effort", 0, -1.0),
    "prior: a share below 0": (PRIOR, "shares", (0, 0), -0.1),
    "prior: more than all": (PRIOR, "shares", (1, 2), 3.0),
    "waves: records learned below 0": (WAVES, "running", waves.SEEN, -1.0),
    "waves: a variance below 0": (WAVES, "variance", (3, 3), -1.0),
    "waves: a variance beyond the first": (WAVES, "variance", (3, 4), 1e30),
    "waves: infinity in a frequency": (WAVES, "frequencies", (0, 1), np.inf),
    "ferns: a feature beyond the last": (FERNS, "features", (0, 0), 3),
    "ferns: a feature of absurd number": (FERNS, "features", (7, 7), 2**62),
    "ferns: a feature below 0": (FERNS, "features", (7, 0), -1),
    "ferns: records learned below 0": (FERNS, "running", ferns.SEEN, -1.0),
    "ferns: born below 0": (FERNS, "facts", (ferns.BORN, 0), -1.0),
    "ferns: a mass below 0": (FERNS, "mass", (0, 0), -1.0),
    "ferns: a label that there is not": (FERNS, "labels", 5, 3),
    "ferns: a label of absurd number": (FERNS, "labels", 199, 2**62),
    "ferns: a label below 0": (FERNS, "labels", 0, -1),
    "ferns: nan in a threshold": (FERNS, "thresholds", (0, 0), np.nan),
    "trees: records seen below 0": (TREES, "running", trees.SEEN, -1),
    "trees: more histograms free than there are": (TREES, "running", trees.FREE, 105),
    "trees: one free that has a leaf": (TREES, "running", trees.FREE, 104),
    "trees: less than none free": (TREES, "running", trees.FREE, -1),
    "trees: more columns than there are": (TREES, "running", trees.KNOWN, 9),
    "trees: no nodes": (TREES, "facts", (trees.SIZE, 0), 0),
    "trees: more nodes than there is room for": (TREES, "facts", (trees.SIZE, 0), 129),
    "trees: half a pair of nodes": (TREES, "facts", (trees.SIZE, 0), 2),
    "trees: born in the future": (TREES, "facts", (trees.BORN, 1), 10_000),
    "trees: a feature beyond the last": (TREES, "asks", (0, 0), 3),
    "trees: a feature below 0": (TREES, "asked", (0, 0), -1),
    "trees: a node below itself": (TREES, "below", (0, 0), 0),
    "trees: a node beyond the last": (TREES, "below", (0, 0), 126),
    "trees: a node below two": (TREES, "above", (0, 1), 1),
    "trees: a histogram of nobody": (TREES, "slots", (0, 0), 104),
    "trees: a histogram of two": (TREES, "free", 0, 103),
    "trees: a mass below 0": (TREES, "mass", (0, 0), -1.0),
    "trees: a variance below 0": (TREES, "sums", (0, 0, 0, 1), -1.0),
    "trees: a sum of millions": (TREES, "sums", (0, 0, 0, 0), 1e30),
    "trees: a look that is overdue": (TREES, "since", 0, 30.0),
    "trees: bins of no width": (TREES, "bins", (0, 0, trees.PACE), 0.0),
    "trees: a cut beyond all values": (TREES, "cuts", (0, 0), 1e30),
    "trees: nan in a value": (TREES, "values", (0, 0, 0, 0), np.nan),
    "contexts: more fields than columns": (CONTEXTS, "running", contexts.N_FIELDS, 4),
    "contexts: less than no fields": (CONTEXTS, "running", contexts.N_FIELDS, -1),
    "contexts: more sets than there is room for": (CONTEXTS, "running", contexts.N_SETS, 129),
    "contexts: fewer sets than fields": (CONTEXTS, "running", contexts.N_SETS, 2),
    "contexts: a table beyond its end": (CONTEXTS, "running", contexts.USED, 2_048),
    "contexts: a table of an odd size": (CONTEXTS, "running", contexts.USED, 1_000),
    "contexts: a table of nothing": (CONTEXTS, "running", contexts.USED, 0),
    "contexts: another number of cells": (CONTEXTS, "running", contexts.TAKEN, 1),
    "contexts: half awake": (CONTEXTS, "running", contexts.AWAKE, 3),
    "contexts: wider than wide": (CONTEXTS, "running", contexts.WIDE, 2),
    "contexts: less than no records": (CONTEXTS, "running", contexts.SEEN, -1),
    "contexts: a field beyond the last column": (CONTEXTS, "fields", 1, 3),
    "contexts: a field below 0": (CONTEXTS, "fields", 127, -1),
    "contexts: a place beyond the last field": (CONTEXTS, "slots", 0, 3),
    "contexts: a set of a field that there is not": (CONTEXTS, "sets", (6, 4), 127),
    "contexts: a set of a field below 0": (CONTEXTS, "sets", (0, 0), -1),
    "contexts: a count without a cell": (CONTEXTS, "table", (7, CAME), 1.0),
    "contexts: infinity in a cell": (CONTEXTS, "table", (7, SHARES), np.inf),
    "contexts: an energy below 0": (CONTEXTS, "weights", (1, 0), -1.0),
    "contexts: a weight that nobody learns": (CONTEXTS, "weights", (0, 0), 1e30),
    "contexts: nan in a weight": (CONTEXTS, "weights", (0, 1), np.nan),
    "contexts: trust below its least": (CONTEXTS, "trust", (0, 3), 0.0),
    "contexts: more usual than all": (CONTEXTS, "usual", 0, 1.5),
}


@pytest.mark.parametrize("change", IMPOSSIBLE_IN_MEMBERS.values(), ids=IMPOSSIBLE_IN_MEMBERS)
def test_what_is_impossible_in_a_member_is_refused(change: tuple[int, str, Any, float]) -> None:
    model = taught(small(CommitteeClassifier), records(100))
    from_payload(dict(model._payload()))
    with pytest.raises(ModelFileError):
        from_payload(changed(model, *change))


def test_a_memory_that_rests_in_a_file_is_at_work_when_it_is_read() -> None:
    model = taught(small(MemoryClassifier), records(100))
    loaded = from_payload(changed(model, 1, "running", memory.RESTING, 1.0))
    assert everything(loaded) == everything(model)


@pytest.mark.parametrize("setting", [SHARPNESS, STEPS])
def test_settings_are_those_of_the_options_whatever_the_file_says(setting: int) -> None:
    model = taught(small(SAPLClassifier), records(100))
    loaded = from_payload(changed(model, 1, "settings", setting, 1e30))
    assert everything(loaded) == everything(model)


@pytest.mark.parametrize("count", [2.0**53, 1e30])
def test_a_memory_that_has_seen_more_than_can_be_counted(count: float) -> None:
    """Refused, or harmless."""
    model = taught(small(MemoryClassifier), records(100))
    try:
        loaded = from_payload(changed(model, 1, "running", memory.SEEN, count))
    except ModelFileError:
        return
    loaded.learn_many(np.ones((10, 3)), [0] * 10)


@pytest.mark.parametrize("counter", [RECORDS, MIXED, TAUGHT])
@pytest.mark.parametrize("count", [2.0**53, 1e30])
def test_a_clock_beyond_what_can_be_counted_is_refused(count: float, counter: int) -> None:
    """It would be a multiple of the period with every record, and each leaves the metric anew."""
    model = taught(small(MemoryClassifier), records(100))
    with pytest.raises(ModelFileError):
        from_payload(changed(model, 0, "counters", counter, count))
    loaded = from_payload(changed(model, 0, "counters", counter, 2.0**52))
    taught(loaded, records(100, seed=1))
    assert sound(loaded)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("kind", ALL_LEARNERS)
def test_no_number_in_a_file_can_crash_the_process(
    kind: type[LocalClassifier], classes: int
) -> None:
    """Whatever is accepted can be asked, taught, taken apart and grown: no index comes from it."""
    model = taught(small(kind), records(90, classes=classes))
    block = model._state
    assert block is not None
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(10, 3)), rng.integers(0, classes, 10)
    for row in range(1 + len(block.members)):
        for section, (_, count, kept_as, _, where) in block._places[row].items():
            for place in {0, count // 2, count - 1} if where == "state" and count else ():
                for value in (-1.0, 0.0, 0.5, 1e30, -1e30, 1e300):
                    if kept_as == "f4" and abs(value) > 1e38:
                        continue
                    if kept_as in ("i4", "i8") and abs(value) > 2**62:
                        value = 2.0 ** (62 if kept_as == "i8" else 30)  # noqa: PLW2901
                    at = np.unravel_index(place, block.views(row)[section].shape)
                    try:
                        loaded = from_payload(changed(model, row, section, at, value))
                    except ModelFileError:
                        continue
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        loaded.learn_many(X, y)
                        assert set(loaded.predict_many(X).tolist()) <= set(loaded.classes)
                        loaded.explain_one({"f0": 1.0})
                        assert len(loaded.anchors) <= 12
                    loaded.learn_one({"f0": 1.0, "new": 1.0}, "new")
                    assert loaded.predict_one({"new": 1.0}) in loaded.classes
