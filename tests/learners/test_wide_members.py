"""Wide models: windows and knots shrink as features appear, and what was learned stays."""

from __future__ import annotations

import numpy as np
import pytest

from stream_llsvm import (
    AdditiveSVMClassifier,
    CommitteeClassifier,
    FernsClassifier,
    MemoryClassifier,
)
from stream_llsvm.kernels.plan import MODEL_ROW
from stream_llsvm.learners.base import LocalClassifier
from stream_llsvm.members.additive.member import Additive
from stream_llsvm.members.neighbours import kernel
from stream_llsvm.members.neighbours.member import FLOATS, Remembered
from tests.learners.support import NEW_LEARNERS, everything, records, sound, taught
from tests.oracle_compare import JOINT

#: So many features that a window would be too short to be worth asking.
NO_ROOM = next(w for w in range(100, 10**6, 100) if Remembered().length(w) == 0)


def _widened(model: LocalClassifier, width: int) -> None:
    """Let a record name so many features, all but three of them for the first time."""
    x = {f"f{i}": 0.5 for i in range(3)} | {f"w{i}": 1.0 for i in range(width - 3)}
    model.learn_one(x, 0)
    assert model._state is not None and model._state.width >= width


@pytest.mark.parametrize("kind", NEW_LEARNERS)
def test_it_goes_on_after_it_has_become_wide(kind: type[LocalClassifier]) -> None:
    """And again row by row is the same as many rows at once, to the bit."""
    one, many = kind(), kind()
    for model in (one, many):
        taught(model, records(300))
        for width in (300, 1_500):
            _widened(model, width)
            assert sound(model)
    stream = records(60, seed=1)
    names = ["f0", "f1", "f2"]
    before = [model.predict_proba_one(stream[0][0]) for model in (one, many)]
    assert before[0] == before[1]
    import pandas as pd

    frame = pd.DataFrame([x for x, _ in stream])[names]
    many.learn_many(frame, [y for _, y in stream])
    taught(one, stream)
    assert everything(one) == everything(many)
    assert sound(one)


def test_a_shrinking_window_keeps_the_latest_records(monkeypatch: pytest.MonkeyPatch) -> None:
    # Alone it would take a million features; in a committee this is what it has.
    monkeypatch.setattr("stream_llsvm.learners.neighbours._FLOATS", FLOATS)
    model = MemoryClassifier(window=500, metric=None, standardize=False)
    for i in range(700):
        model.learn_one({"a": float(i), "b": 0.0, "c": 0.0}, i % 3)
    width = FLOATS // 100
    model.learn_one({"a": 700.0} | {f"w{i}": 0.0 for i in range(width - 3)}, 0)
    assert model._state is not None
    own = model._state.views(1)
    window = len(own["norms"])
    assert window < 500
    assert own["running"][kernel.HELD] == window
    assert sorted(own["store"][0].tolist()) == [float(i) for i in range(701 - window, 701)]
    voters = model.explain_one({"a": 690.2, "b": 0.0, "c": 0.0}).voters
    assert [v.age for v in voters[:3]] == [10, 9, 11]


@pytest.mark.parametrize("floats", [FLOATS, FLOATS // 4])
def test_the_window_is_what_the_floats_allow(floats: int) -> None:
    of = Remembered(window=2_000, floats=floats)
    assert of.length(1) == of.length(floats // 2_000) == 2_000
    assert of.length(floats // 100) == 100
    for width in (0, 1, 100, 1_000, 5_000):
        assert of.length(width) * width <= floats
    lengths = [of.length(width) for width in range(1, floats // 26, 37)]
    assert lengths == sorted(lengths, reverse=True)
    assert lengths[-1] == 0, "of very wide records there would be too few"


def test_a_committee_goes_on_without_its_memory() -> None:
    """Where records are too wide for a window, the others answer, with the trust they had."""
    members = ("anchors:1", "memory:100", "ferns:5")
    model = CommitteeClassifier(members=members)
    taught(model, records(200))
    assert model._state is not None
    mixer = model._state.views(0)["mixer"].copy()
    kept = model._state.members[0].experts(*model._state.shape)
    gone = model._state.members[1].experts(*model._state.shape)
    _widened(model, NO_ROOM)
    assert model._state.views(0)["mixer"].shape[1] < mixer.shape[1] - gone + 1
    assert kept > 0 and sound(model)
    taught(model, records(20, seed=1))
    assert sound(model)


def test_a_memory_without_room_has_no_part_in_an_explanation() -> None:
    model = CommitteeClassifier(members=("anchors:1", "memory:100", "ferns:5"))
    _widened(model, NO_ROOM)
    taught(model, records(30, classes=2))
    explained = model.explain_one({"f0": 1.0})
    assert explained.voters == [] and explained.memory == 0
    assert explained.members["memory:100"] == 0
    assert sum(explained.members.values()) == pytest.approx(explained.score)


def test_a_memory_alone_still_learns_where_a_committees_would_not() -> None:
    model = MemoryClassifier()
    model.learn_one({f"w{i}": 1.0 for i in range(NO_ROOM)}, "a")
    for i in range(60):
        model.learn_one({f"w{i % 2}": 1.0}, "ab"[i % 2])
    assert model._state is not None
    (alone,) = model._state.members
    assert isinstance(alone, Remembered)
    assert alone.length(NO_ROOM) == alone.window > Remembered().length(NO_ROOM) == 0
    assert alone.length(10**6) >= 64
    assert [model.predict_one({f"w{i}": 1.0}) for i in range(2)] == ["a", "b"]


def test_wide_records_have_fewer_knots_which_lie_where_some_lay() -> None:
    of = Additive(**JOINT)
    counts = {width: of.knots(width) for width in (1, 100, 10_000)}
    assert counts[1] == counts[100] == of.n_knots > counts[10_000]
    assert (of.n_knots - 1) % (counts[10_000] - 1) == 0
    for n_knots in (2, 3, 4, 5, 6, 30):
        assert 2 <= Additive(**JOINT, n_knots=n_knots).knots(10_000) <= n_knots


def test_a_curve_keeps_its_height_at_the_knots_that_stay() -> None:
    model = AdditiveSVMClassifier(standardize=False)
    rng = np.random.default_rng(0)
    for v in rng.uniform(-2, 2, 500):
        model.learn_one({"a": v}, bool(np.sin(3 * v) > 0))
    wide = Additive(**JOINT).knots(10_000)
    places = np.linspace(-2, 2, wide)
    assert model._state is not None
    before = model._state.views(1)["weights"].copy()
    model._make_room([f"w{i}" for i in range(1_000)], [])
    after = model._state.views(1)["weights"]
    assert after.shape[1] == wide < before.shape[1]
    every = (before.shape[1] - 1) // (wide - 1)
    rungs = after.shape[3]
    kept = slice(None) if rungs == before.shape[3] else slice(before.shape[3] // 2, None, 3)
    assert np.array_equal(after[0], before[0, ::every][..., kept, :][..., :rungs, :])
    assert {model.predict_one({"a": p}) for p in places} == {True, False}


def test_ferns_ask_for_features_that_came_late() -> None:
    """Once they are drawn anew; a stream in which only the late feature tells classes apart."""
    rng = np.random.default_rng(0)
    model = FernsClassifier(n_ferns=20, depth=3)
    for i in range(6_000):
        y = bool(rng.random() < 0.5)
        late = {} if i < 200 else {"late": float(rng.normal(2.0 * y))}
        model.learn_one({"noise": float(rng.normal())} | late, y)
    right = 0
    for _ in range(500):
        y = bool(rng.random() < 0.5)
        right += model.predict_one({"noise": 0.0, "late": float(rng.normal(2.0 * y))}) == y
    assert right / 500 > 0.78


@pytest.mark.parametrize(
    ("members", "width"),
    [
        (("memory",), NO_ROOM),
        (("anchors:1", "memory"), NO_ROOM),
        (("waves",), 300),
        (("prior", "waves"), 300),
    ],
)
def test_predictions_of_experts_that_are_gone_do_not_stop_the_stream(
    members: tuple[str, ...], width: int
) -> None:
    """The last members have no experts among so many features: those kept are the first ones."""
    model = CommitteeClassifier(members=members)
    taught(model, [(x, y == 0) for x, y in records(50)])
    waiting = {"f0": 0.25, "f1": -1.0, "f2": 0.5}
    model.predict_one(waiting)
    assert model._state is not None and len(model._state.foretold().entries) > 0
    before = model._state.plan[0, MODEL_ROW.all_experts]
    _widened(model, width)
    assert model._state.plan[0, MODEL_ROW.all_experts] < before
    assert len(model._state.foretold().entries) == 0
    assert all(len(one.experts) == len(one.weights) for one in model.mixture)
    model.learn_one(waiting, True)
    assert sound(model)
