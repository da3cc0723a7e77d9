"""What the anchors member does for its user: it never jumps, never overflows, and learns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from stream_llsvm.kernels.losses import CRAMMER_SINGER, HINGE, LOSSES, OVR
from stream_llsvm.kernels.scaling import ABSENT
from stream_llsvm.members.anchors import state as kernel
from stream_llsvm.members.anchors.member import Anchors
from tests.oracle_compare import Kernels, member, paper, stream
from tests.oracle_parts import Array
from tests.oracle_state import close

PAPERS = {"ll-svm": kernel.PAPER_LLSVM, "llc-sapl": kernel.PAPER_SAPL}


def placed(of: Anchors, anchors: Array, classes: int = 2) -> Kernels:
    """Make a model whose anchors are given, as after a warm start; nothing is scaled."""
    model = Kernels(of, anchors.shape[1], classes, standardize=False)
    of.place(model.own, lambda: anchors.astype(np.float32), np.random.default_rng(0))
    model.own["settings"][kernel.CLUSTERING] = 0
    return model


def test_the_two_papers_shrink_at_different_times() -> None:
    """After one record SAPL's t mod skip is 0 at once; LL's count has only begun."""
    scales = {}
    for name, schedule in PAPERS.items():
        model = placed(paper(schedule, n_anchors=2, n_neighbors=1), np.eye(2))
        seen = []
        for x in np.random.default_rng(0).normal(size=(15, 2)):
            model.learn(x, 1)
            seen.append(float(model.own["raw_scale"][0]))
        scales[name] = np.flatnonzero(np.diff(seen, prepend=1.0)).tolist()
    assert scales == {"ll-svm": [6, 13], "llc-sapl": [0, 7, 14]}


@pytest.mark.parametrize("l2", [1e-5, 1e-12])
@pytest.mark.parametrize("w", [1.0, 1e6])
@pytest.mark.parametrize("flat", [False, True])
def test_the_papers_steps_stay_finite_however_small_the_penalty(
    flat: bool, w: float, l2: float
) -> None:
    """1 / l2 is the length of the first steps; no number may leave float32 for it."""
    model = Kernels(paper(kernel.PAPER_SAPL, l2=l2, t0=1_000, flat=flat), 4, 3)
    x, labels = stream(0, 2_000, 4, 3)
    proba, _ = model.rows(x, labels, np.full(len(x), w))
    assert np.isfinite(proba).all()
    assert model.memory.sound()


def test_a_new_anchors_machine_is_the_blend_of_its_neighbours() -> None:
    """So the surface does not jump where it is born."""
    model = Kernels(member(n_anchors=5, n_neighbors=2, steps=(1.0,), averaged=False), 2, 3)
    model.own["settings"][[kernel.ANCHOR_STEP, kernel.CLUSTERING]] = 0
    x, labels = stream(1, 5, 2, 3)
    model.rows(x[:4], labels[:4])
    model.own["settings"][kernel.STEPS :] = 0  # only the birth, no step
    model.learn(x[4], int(labels[4]))
    assert len(model.positions) == 5
    weights, biases = model.machines
    near, code = model.own["near"][:2], model.own["shares"][2, :2]
    blend = np.einsum("j,j...->...", code, weights[near])
    close(weights[4], blend, 1e-4, "weights")
    close(biases[4], np.einsum("j,j...->...", code, biases[near]), 1e-4, "biases")


def test_a_supervised_move_lowers_the_loss_of_its_record() -> None:
    """SAPL(16) is a step down the hinge loss; with the weights held, the margin grows."""
    gained = 0.0
    for seed in range(30):
        of = member(n_anchors=4, n_neighbors=3, loss=HINGE, steps=(1.0,), averaged=False,
                    common_share=0.0, multiclass=OVR)  # fmt: skip
        rng = np.random.default_rng(seed)
        model = placed(of, rng.normal(size=(4, 2)))
        x, labels = stream(seed, 41, 2, 2)
        model.rows(x[:40], labels[:40])
        model.own["settings"][kernel.STEPS :] = 0
        y = 2 * int(labels[40]) - 1
        model.predict(x[40])
        before = y * model.scores[0, 0]
        if before >= 1:
            continue
        # Too short a step to overshoot, and spread held still (it is a figure of the past).
        model.own["settings"][kernel.ANCHOR_STEP] = 0.02
        near, old = model.own["near"].copy(), model.positions
        spread = model.own["running"][kernel.SPREAD]
        model.learn(x[40], int(labels[40]))
        for j in set(range(4)) - set(near.tolist()):
            assert np.array_equal(model.positions[j], old[j])  # only the k nearest move
        model.own["running"][kernel.SPREAD] = spread
        model.predict(x[40])
        gained += y * model.scores[0, 0] - before
    assert gained > 0


def test_anchors_that_have_answered_much_move_less() -> None:
    shifts = []
    for mass in (0.0, 1_000.0):
        of = member(n_anchors=2, n_neighbors=2, common_share=0.0)
        model = placed(of, np.array([[0.0, 0.0], [3.0, 1.0]]))
        model.own["biases"][0], model.own["biases"][1] = 0.1, -0.1
        model.own["facts"][kernel.MASS] = mass
        before = model.positions
        model.learn(np.array([1.4, 0.6]), 1)
        shifts.append(np.abs(model.positions - before).max())
    assert shifts[1] < shifts[0] / 20


def test_a_record_that_names_nothing_is_learned_by_the_biases() -> None:
    model = Kernels(member(), 3, 3)
    model.rows(*stream(0, 60, 3, 3))
    weights, biases = model.machines
    blank = np.full(3, ABSENT)
    for _ in range(40):
        model.learn(blank, 2)
    after: tuple[Any, Any] = model.machines
    assert np.array_equal(after[0][:, 0], weights[:, 0])
    assert not np.array_equal(after[1], biases)
    assert model.predict(blank).argmax() == 2


@pytest.mark.parametrize("loss", sorted(LOSSES.values()))
@pytest.mark.parametrize("multiclass", [OVR, CRAMMER_SINGER])
def test_it_learns_regions_that_no_line_separates(loss: int, multiclass: int) -> None:
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, size=(3_000, 2))
    labels = (x[:, 0] > 0).astype(np.int64) ^ (x[:, 1] > 0).astype(np.int64)
    labels = labels + 2 * (np.hypot(*x.T) < 0.3)  # four classes: exclusive or, and a disc
    model = Kernels(member(n_anchors=20, loss=loss, multiclass=multiclass), 2, 4)
    _, likeliest = model.rows(x, labels)
    assert (likeliest == labels)[-1_000:].mean() > 0.85
