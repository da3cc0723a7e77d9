"""The whole kernel beside the oracle, and what it promises about blocks, rows and sparse records.

Long streams are compared step by step with the oracle brought to the kernel's state before each
record: float32's rounding would otherwise grow until a tie (which anchor is nearest, whether a
hinge is violated) falls the other way. Short streams run freely.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from stream_llsvm.kernels.losses import CRAMMER_SINGER, LOSSES, MULTICLASS, OVR
from stream_llsvm.kernels.plan import MODEL_ROW
from stream_llsvm.kernels.scaling import ABSENT
from stream_llsvm.members.anchors.codes import CODINGS, RECONSTRUCTION
from stream_llsvm.members.anchors.state import REACH
from tests.oracle import Oracle
from tests.oracle_anchors import AnchorsOracle
from tests.oracle_compare import ALL, MEMBERS, Kernels, both_learn, member, stream, synced


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("name", MEMBERS)
def test_every_step_of_a_long_stream_is_the_oracles(name: str, classes: int) -> None:
    x, labels = stream(3, 150, 5, classes, missing=0.05)
    w = np.random.default_rng(4).choice([0.3, 1.0, 2.5], size=len(x))
    kernels, oracle = Kernels(MEMBERS[name], 5, classes), Oracle(MEMBERS[name], 5, classes)
    for row, label, weight in zip(x, labels, w, strict=True):
        synced(oracle, kernels)
        both_learn(kernels, oracle, row, int(label), weight, tolerance=1e-3)


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("name", MEMBERS)
def test_every_step_of_a_pass_over_history_is_the_oracles(name: str, classes: int) -> None:
    x, labels = stream(3, 150, 5, classes)
    w = np.random.default_rng(4).choice([0.3, 1.0, 2.5], size=len(x))
    kernels, oracle = Kernels(MEMBERS[name], 5, classes), Oracle(MEMBERS[name], 5, classes)
    (own,) = oracle.members
    assert isinstance(own, AnchorsOracle)
    for i, (row, label, weight) in enumerate(zip(x, labels, w, strict=True)):
        if i >= 50:
            own.left = 1 - i / 150
            MEMBERS[name].slow_down(kernels.own, own.left)
            kernels.own["running"][REACH] = 5.0  # some anchors lie farther out, others do not
        synced(oracle, kernels)
        both_learn(kernels, oracle, row, int(label), weight, tolerance=1e-3)


@st.composite
def options(draw: st.DrawFn) -> dict[str, Any]:
    auto = draw(st.booleans())
    flat = draw(st.booleans())
    n_anchors = draw(st.integers(1, 8))
    return {
        "n_anchors": n_anchors,
        "n_neighbors": draw(st.integers(1, n_anchors)),
        "coding": draw(st.sampled_from(sorted(CODINGS.values()))),
        "loss": draw(st.sampled_from(sorted(LOSSES.values()))),
        "multiclass": draw(st.sampled_from(sorted(MULTICLASS.values()))),
        # No round steps: they land on the hinge's margin, where rounding decides what happens.
        "steps": (0.537, 5.173) if auto else (draw(st.sampled_from([0.137, 1.093, 2.713])),),
        "averaged": auto,
        "supervised": draw(st.booleans()),
        "flat": flat,
        "common_share": 0.0 if flat or draw(st.booleans()) else 0.2,
        # The penalty of a machine without weights has a test of its own below.
        "l2": 0.0 if flat else draw(st.sampled_from([0.0, 1e-3])),
    }


@settings(max_examples=60)
@given(
    chosen=options(),
    classes=st.integers(1, 5),
    width=st.integers(1, 6),
    seed=st.integers(0, 10_000),
    standardize=st.booleans(),
)
def test_any_options_learn_as_the_oracle_does(
    chosen: dict[str, Any], classes: int, width: int, seed: int, standardize: bool
) -> None:
    # More neighbours than features reconstruct a record in many ways: rounding picks one.
    assume(chosen["coding"] != RECONSTRUCTION or chosen["n_neighbors"] <= width)
    x, labels = stream(seed, 12, width, classes, missing=0.1)
    kernels = Kernels(member(**chosen), width, classes, standardize=standardize)
    oracle = Oracle(member(**chosen), width, classes, standardize=standardize)
    for row, label in zip(x, labels, strict=True):
        synced(oracle, kernels)
        if _is_on_an_anchor(oracle, row):
            continue
        both_learn(kernels, oracle, row, int(label), tolerance=2e-3)


def _is_on_an_anchor(oracle: Oracle, row: NDArray[np.float64]) -> bool:
    """Whether a record is so near to an anchor that rounding decides how near, and so its code."""
    z = oracle.look(row).z
    (anchors,) = oracle.members
    assert isinstance(anchors, AnchorsOracle)
    positions = [anchor.position for anchor in anchors.anchors]
    return any(0 < ((z - p) ** 2).sum() < 1e-3 * (z @ z + p @ p) for p in positions)


@pytest.mark.parametrize("name", [n for n in MEMBERS if "joint" not in n and n != "shrinking"])
@pytest.mark.parametrize("classes", [2, 4])
def test_a_short_stream_runs_freely_beside_the_oracle(name: str, classes: int) -> None:
    """Nothing is copied from the kernel here, so this also sees what no step would show."""
    x, labels = stream(11, 25, 5, classes, missing=0.05)
    kernels, oracle = Kernels(MEMBERS[name], 5, classes), Oracle(MEMBERS[name], 5, classes)
    for row, label in zip(x, labels, strict=True):
        both_learn(kernels, oracle, row, int(label), tolerance=1e-2)


def test_the_penalty_shrinks_lccs_biases_in_every_schedule() -> None:
    """Biases are all the weights that LCC has, SAPL 3.3; the option l2 must mean something."""
    lcc = member(flat=True, common_share=0.0, l2=0.05)
    kernels, oracle = Kernels(lcc, 3, 2), Oracle(lcc, 3, 2)
    for row, label in zip(*stream(5, 60, 3, 2), strict=True):
        synced(oracle, kernels)
        both_learn(kernels, oracle, row, int(label), tolerance=1e-3)


# ---- blocks


SOME = ["sapl", "lcc", "paper sapl", "shrinking"]
SOME += [name for name in ALL if name not in MEMBERS]


@pytest.mark.parametrize("name", SOME)
def test_a_block_is_row_by_row_to_the_bit(name: str) -> None:
    x, labels = stream(0, 1_400, 4, 3, missing=0.05)  # some ferns are drawn anew
    labels[::7] = -1  # rows without a label are only predicted
    w = np.random.default_rng(1).uniform(0.1, 3, size=len(x))
    block, single = Kernels(ALL[name], 4, 3), Kernels(ALL[name], 4, 3)
    assert len(x) > 2 * block.memory.plan[0, MODEL_ROW.chunk]
    proba, likeliest = block.rows(x, labels, w)
    rows = [single.rows(x[i], labels[i : i + 1], w[i : i + 1]) for i in range(len(x))]
    assert np.array_equal(proba, np.concatenate([p for p, _ in rows]))
    assert np.array_equal(likeliest, np.concatenate([c for _, c in rows]))
    assert np.array_equal(block.words(), single.words())


@pytest.mark.parametrize("chunks", [1, 2])
@pytest.mark.parametrize("name", ["sapl", "committee: all", "committee: memory and ferns"])
def test_a_chunks_end_is_no_special_place(name: str, chunks: int) -> None:
    whole, parts = Kernels(ALL[name], 3, 2), Kernels(ALL[name], 3, 2)
    chunk = int(whole.memory.plan[0, MODEL_ROW.chunk])
    for extra in (-1, 0, 1):
        x, labels = stream(extra + 9, chunks * chunk + extra, 3, 2)
        whole.rows(x, labels)
        for i in range(0, len(x), 50):
            parts.rows(x[i : i + 50], labels[i : i + 50])
        assert np.array_equal(whole.words(), parts.words())


@pytest.mark.parametrize("name", ["sapl", "committee: all"])
def test_wide_records_make_short_chunks_and_the_same_model(name: str) -> None:
    x, labels = stream(2, 240, 1_400, 2)
    block, single = Kernels(ALL[name], 1_400, 2), Kernels(ALL[name], 1_400, 2)
    assert block.memory.plan[0, MODEL_ROW.chunk] < len(x) / 2
    block.rows(x, labels)
    for row, label in zip(x, labels, strict=True):
        single.learn(row, int(label))
    assert np.array_equal(block.words(), single.words())


@pytest.mark.parametrize("name", ["sapl", *SOME[4:]])
def test_predicting_first_changes_nothing_to_the_bit(name: str) -> None:
    """The learning call reuses the distances and scores of the prediction, if they are its own."""
    x, labels = stream(1, 150, 4, 3, missing=0.05)
    others, _ = stream(2, 150, 4, 3, missing=0.05)
    plain, curious = Kernels(ALL[name], 4, 3), Kernels(ALL[name], 4, 3)
    for i, (row, label) in enumerate(zip(x, labels, strict=True)):
        curious.predict(row)
        if i % 3 == 0:
            curious.predict(others[i])  # another record: nothing to reuse
        if i % 5 == 0:
            curious.rows(others[:7], np.full(7, -1))
        predicted = curious.learn(row, int(label))
        assert np.array_equal(predicted, plain.learn(row, int(label)))
        assert np.array_equal(curious.words(), plain.words())


@pytest.mark.parametrize("name", ["sapl", "committee: all"])
def test_learning_a_record_twice_scores_it_twice(name: str) -> None:
    x, labels = stream(1, 40, 4, 2)
    once, twice = Kernels(ALL[name], 4, 2), Kernels(ALL[name], 4, 2)
    for row, label in zip(x, labels, strict=True):
        for _ in range(2):
            once.learn(row, int(label))
        twice.rows(np.array([row, row]), np.array([label, label]))
    assert np.array_equal(once.words(), twice.words())


@pytest.mark.parametrize("name", ["sapl", "committee: all"])
def test_rows_without_a_label_leave_the_state_alone(name: str) -> None:
    x, labels = stream(1, 80, 4, 3)
    kernels = Kernels(ALL[name], 4, 3)
    kernels.rows(x, labels)
    before = kernels.words()
    kernels.rows(x, np.full(len(x), -1))
    kernels.predict(x[3])
    kernels.sparse(np.array([ABSENT, 1.0, ABSENT, 2.0]), -1)
    assert np.array_equal(kernels.words(), before)


def test_multiclass_choices_are_told_apart() -> None:
    """Guards the comparison above: the options must change what is learned."""
    x, labels = stream(0, 50, 3, 3)
    one, other = (Kernels(member(multiclass=m), 3, 3) for m in (OVR, CRAMMER_SINGER))
    assert not np.array_equal(one.rows(x, labels)[0], other.rows(x, labels)[0])
