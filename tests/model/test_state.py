"""The block of memory: its layout, and models that grow in the middle of a stream."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from stream_llsvm.kernels import plan as at
from stream_llsvm.kernels.dispatch import number_of
from stream_llsvm.kernels.losses import CRAMMER_SINGER, HUBERIZED_HINGE, OVR
from stream_llsvm.kernels.mixer import ALONE, ON_TOP_SIZE, TRUST
from stream_llsvm.kernels.run import SEEN
from stream_llsvm.kernels.scaling import ABSENT, BORN
from stream_llsvm.kernels.sections import sections_of
from stream_llsvm.members.additive.member import Additive
from stream_llsvm.members.anchors import state as kernel
from stream_llsvm.members.anchors.member import LADDER, Anchors
from stream_llsvm.members.contexts.member import Contexts
from stream_llsvm.members.ferns.member import Ferns
from stream_llsvm.members.prior.member import Prior
from stream_llsvm.model.state import ModelState, columns_of
from tests.oracle import Oracle
from tests.oracle_compare import (
    ADDITIVE,
    ALL,
    FERNS,
    MEMORIES,
    Kernels,
    both_learn,
    member,
    stream,
    synced,
)
from tests.oracle_state import close

KINDS = {
    "sapl": member(),
    # Not the hinge: a new class stands exactly at its margin, where rounding decides what happens.
    "ovr": member(loss=HUBERIZED_HINGE, multiclass=OVR),
    "lcc": member(flat=True, common_share=0.0),
    "one step": member(steps=(1.093,), averaged=False, common_share=0.0),
}


STEPPING: dict[str, Anchors | Additive | Ferns] = {**KINDS, **ADDITIVE, **FERNS}


# ---- layout


@pytest.mark.parametrize("shape", [(5, 3), (1, 1), (300, 2), (0, 2)])
@pytest.mark.parametrize("kind", ALL)
def test_sections_do_not_overlap_and_lie_on_cache_lines(kind: str, shape: tuple[int, int]) -> None:
    memory = Kernels(ALL[kind], *shape).memory
    for block in (memory.state, memory.scratch):
        block[:] = 0
    for row in range(1 + len(memory.members)):
        for view in memory.views(row).values():
            assert (view == 0).all(), "another section has written here"
            view[...] = 1
            if view.size == 0:
                continue  # LCC has no weights, and a model of no features has none either
            assert _start(view) % 64 == 0


def test_copies_lie_on_cache_lines_too() -> None:
    memory = Kernels(KINDS["sapl"], 5, 3).memory
    for again in (pickle.loads(pickle.dumps(memory)), copy.deepcopy(memory)):
        assert _start(again.state) % 64 == _start(again.scratch) % 64 == 0
        assert np.array_equal(again.state, memory.state)


@pytest.mark.parametrize("kind", ALL)
def test_the_plan_has_room_for_every_section_and_says_whose_each_expert_is(kind: str) -> None:
    memory = Kernels(ALL[kind], 5, 3).memory
    next_expert = 0
    for i, of in enumerate(memory.members):
        assert len(sections_of(of.state)) <= at.PLAN_WIDTH - at.FIRST_SECTION
        assert memory.plan[1 + i, at.MEMBER_ROW.first_expert] == next_expert
        assert memory.plan[1 + i, at.MEMBER_ROW.kind] == number_of(of.kernels)
        next_expert += of.experts(*memory.shape)
    assert (
        memory.plan[0, at.MODEL_ROW.all_experts] == next_expert == memory.views(0)["mixer"].shape[1]
    )


def _start(block: NDArray[Any]) -> int:
    return int(block.__array_interface__["data"][0])


def test_two_classes_share_a_column() -> None:
    assert [columns_of(n) for n in (1, 2, 3, 26)] == [1, 1, 3, 26]


@pytest.mark.parametrize("twin", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_a_copied_memory_holds_the_same_model_and_its_own(
    twin: Callable[[ModelState], ModelState],
) -> None:
    x, labels = stream(0, 60, 4, 3)
    kernels = Kernels(member(), 4, 3)
    kernels.rows(x, labels)
    other = Kernels(member(), 4, 3)
    other.memory = twin(kernels.memory)
    before = kernels.words()
    assert np.array_equal(kernels.predict(x[0]), other.predict(x[0]))
    other.rows(x, labels)
    assert np.array_equal(kernels.words(), before)
    kernels.rows(x, labels)
    assert np.array_equal(kernels.words(), other.words())


def test_each_expert_is_first_trusted_as_its_member_says() -> None:
    members = [member(), Prior(), Contexts(n_cells=1_024)]
    memory = ModelState(members, 4, 3, standardize=True)
    memory.begin()
    trust, alone = memory.views(0)["mixer"][[TRUST, ALONE]]
    anchors, prior, contexts = (memory.experts_of(i) for i in range(3))
    counted = contexts.start
    assert np.allclose(trust[anchors], 4 / counted)
    assert np.allclose(trust[prior], 2 / counted), "it knows nothing of the record"
    assert np.allclose(alone[anchors].sum(), 4)
    assert np.allclose(alone[prior].sum(), 2)
    assert np.allclose(trust[contexts], min(1, 4 / counted) * ON_TOP_SIZE)


def test_a_snapshot_is_one_block() -> None:
    x, labels = stream(0, 60, 4, 3)
    kernels = Kernels(member(), 4, 3)
    kernels.rows(x, labels)
    other = ModelState(kernels.memory.members, 4, 3, standardize=True)
    assert other.n_words == kernels.memory.state.size
    other.allocate(kernels.memory.state.copy())
    reader = Kernels(member(), 4, 3)
    reader.memory = other
    assert np.array_equal(reader.predict(x[5]), kernels.predict(x[5]))


# ---- sound


def test_a_model_that_has_learned_is_sound() -> None:
    kernels = Kernels(member(l2=1e-3), 4, 3)
    assert kernels.memory.sound()
    kernels.rows(*stream(0, 100, 4, 3))
    assert kernels.memory.sound()


@pytest.mark.parametrize(
    ("section", "place", "value"),
    [
        ("weights", (0, 0, 0, 0, 0), np.nan),
        ("biases", (0, 0, 0, 0), np.inf),
        ("running", kernel.N_ANCHORS, 11),
        ("running", kernel.N_ANCHORS, -1),
        ("running", kernel.N_ANCHORS, 1.5),
        ("raw_scale", 0, 0.0),
        ("gain", 0, 0.0),
        ("facts", (kernel.ZOOM, 0), 0.0),
    ],
)
def test_impossible_values_are_found(section: str, place: Any, value: float) -> None:
    kernels = Kernels(member(), 4, 3)
    kernels.rows(*stream(0, 50, 4, 3))
    kernels.own[section][place] = value
    assert not kernels.memory.sound()


# ---- growing


def voted(kind: str) -> bool:
    """Whether remembered records have a part in the score."""
    return kind in MEMORIES or kind.startswith("committee")


def _grown(of: Anchors, before: tuple[int, int], after: tuple[int, int], n: int = 60) -> Kernels:
    """Return a model that learned n records and then grew."""
    kernels = Kernels(of, *before)
    kernels.rows(*stream(1, n, *before))
    kernels.grow(*after)
    return kernels


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("kind", ALL)
def test_new_features_change_no_prediction(kind: str, classes: int) -> None:
    of = ALL[kind]
    x, labels = stream(1, 80, 3, classes)
    kernels = Kernels(of, 3, classes)
    kernels.rows(x, labels)
    before = np.array([kernels.predict(row) for row in x])
    kernels.grow(7, classes)
    wide = np.full((len(x), 7), ABSENT)
    wide[:, :3] = x
    for missing in (ABSENT, np.nan):
        wide[:, 3:] = missing
        after = np.array([kernels.predict(row) for row in wide])
        # A vote by 1 / distance shows the rounding of a distance that is nearly 0.
        np.testing.assert_allclose(
            after, before, atol=2e-4 if kind in MEMORIES or "committee" in kind else 1e-5
        )
    born = kernels.memory.views(0)["statistics"][:, BORN]
    assert born.tolist() == [0, 0, 0, 80, 80, 80, 80]


@pytest.mark.parametrize("kind", STEPPING)
def test_a_second_class_changes_no_score(kind: str) -> None:
    x, _ = stream(1, 40, 3, 2)
    kernels = Kernels(STEPPING[kind], 3, 1)
    kernels.rows(x, np.zeros(40, dtype=np.int64))
    kernels.predict(x[0])
    before = kernels.scores
    kernels.grow(3, 2)
    assert kernels.predict(x[0]).argmax() == 0
    assert np.array_equal(kernels.scores, before)


@pytest.mark.parametrize("kind", STEPPING)
def test_a_third_class_splits_the_column_and_stands_at_the_margin(kind: str) -> None:
    of = STEPPING[kind]
    x, labels = stream(1, 60, 3, 2)
    kernels = Kernels(of, 3, 2)
    kernels.rows(x, labels)
    share = 0.5 if of.multiclass == CRAMMER_SINGER else 1.0
    old = []
    for row in x:
        kernels.predict(row)
        old.append(kernels.scores[:, 0])
    kernels.grow(3, 4)
    for row, score in zip(x, old, strict=True):
        kernels.predict(row)
        expected = np.stack([-share * score, share * score, -1 + 0 * score, -1 + 0 * score], axis=1)
        np.testing.assert_allclose(kernels.scores, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", STEPPING)
def test_a_late_class_leaves_the_others_scores_alone(kind: str) -> None:
    x, labels = stream(1, 60, 3, 3)
    kernels = Kernels(STEPPING[kind], 3, 3)
    kernels.rows(x, labels)
    kernels.predict(x[0])
    before = kernels.scores
    kernels.grow(3, 5)
    kernels.predict(x[0])
    np.testing.assert_allclose(kernels.scores[:, :3], before, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(kernels.scores[:, 3:], -1, rtol=1e-5)


@pytest.mark.parametrize("after", [(3, 3), (3, 6), (6, 2), (6, 3), (9, 5)])
@pytest.mark.parametrize("kind", KINDS)
def test_a_grown_model_learns_on_as_the_oracle_does(kind: str, after: tuple[int, int]) -> None:
    of = KINDS[kind]
    kernels, oracle = Kernels(of, 3, 2), Oracle(of, 3, 2)
    for row, label in zip(*stream(2, 20, 3, 2), strict=True):
        synced(oracle, kernels)
        both_learn(kernels, oracle, row, int(label), tolerance=2e-3)
    kernels.grow(*after)
    oracle.grow(*after)
    for i, (row, label) in enumerate(zip(*stream(3, 25, *after), strict=True)):
        if i > 0:  # the first one checks the growth itself
            synced(oracle, kernels)
        both_learn(kernels, oracle, row, int(label), tolerance=2e-3)


@pytest.mark.parametrize("kind", ALL)
def test_a_model_may_grow_before_it_has_learned(kind: str) -> None:
    kernels = Kernels(ALL[kind], 2, 1)
    kernels.grow(4, 3)
    fresh = Kernels(ALL[kind], 4, 3)
    assert np.array_equal(kernels.memory.plan, fresh.memory.plan)
    for row in range(1 + len(fresh.memory.members)):
        for name, view in fresh.memory.views(row).items():
            assert np.array_equal(kernels.memory.views(row)[name], view), name


def test_counters_go_along() -> None:
    kernels = _grown(member(), (3, 2), (5, 4))
    assert kernels.memory.views(0)["counters"][SEEN] == 60
    assert kernels.own["running"][kernel.SEEN] == 60


# ---- the budget


def _wide() -> tuple[Anchors, int]:
    """Return a member, and the largest width at which it keeps all its rungs for two classes."""
    of = member(n_anchors=60, n_neighbors=60)
    return of, of.budget // ((of.n_neighbors + 1) * len(LADDER) * 2)


def test_rungs_are_dropped_when_they_no_longer_fit_the_budget() -> None:
    of, width = _wide()
    assert of.rungs(width, 1) == LADDER
    assert of.rungs(width + 1, 1) == (LADDER[1],)
    assert of.experts(width + 1, 1) == 2
    assert member(steps=(1.0,)).rungs(10**6, 100) == (1.0,)


@pytest.mark.parametrize("classes", [2, 3])
def test_the_rung_that_stays_goes_on_as_it_was(classes: int) -> None:
    of, width = _wide()
    columns = columns_of(classes)
    width //= columns
    kernels = Kernels(of, width, classes)
    x, labels = stream(4, 40, width, classes)
    kernels.rows(x, labels)
    oracle = Oracle(of, width, classes)
    synced(oracle, kernels)
    kernels.predict(x[0])
    before, trust = kernels.scores, kernels.memory.views(0)["mixer"][0].copy()
    kernels.grow(width + 1, classes)
    oracle.grow(width + 1, classes)
    wide = np.concatenate([x, np.zeros((len(x), 1))], axis=1)
    kernels.predict(wide[0])
    kept = [1, 1 + len(LADDER)]  # the middle rung's raw and averaged weights
    close(kernels.scores, before[kept], 1e-5, "scores")
    assert np.array_equal(kernels.memory.views(0)["mixer"][0], trust[kept])
    for row, label in zip(wide[:5], labels, strict=False):
        both_learn(kernels, oracle, row, int(label), tolerance=2e-3)
        synced(oracle, kernels)
