"""Anchors: the papers' algorithms step by step, SAPL's gradient, births, and where anchors go.

Everything here is computed from the equations on the spot; the comparison of all options with the
oracle is in ``tests/kernels/test_run.py``.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from stream_llsvm.kernels.losses import LOSSES, MULTICLASS
from stream_llsvm.kernels.scaling import ABSENT
from stream_llsvm.members.anchors import state as kernel
from stream_llsvm.members.anchors.codes import CODINGS
from stream_llsvm.members.anchors.member import Anchors
from tests.oracle_compare import Kernels, member, paper, stream
from tests.oracle_parts import FAINT, Array, codes_at, total_loss

Codes = NDArray[np.int64]


def _still(of: Anchors, width: int, classes: int) -> Kernels:
    """Make a model without the online k-means step, as in the passes of a warm start."""
    kernels = Kernels(of, width, classes, standardize=False)
    kernels.own["settings"][kernel.CLUSTERING] = 0
    return kernels


def _coded(kernels: Kernels, of: Anchors, x: Array) -> tuple[Codes, Array, Array]:
    """Return which anchors are near, their codes and their pulls, SAPL(2)."""
    squared = ((kernels.positions - x) ** 2).sum(axis=1)
    near = np.argsort(squared)[: of.n_neighbors]
    spread = float(kernels.own["running"][kernel.SPREAD])
    codes, pull = codes_at(of.coding, squared[near], of.sharpness, spread)
    return near, codes, pull


def _born(of: Anchors, classes: int, seed: int, n: int) -> tuple[Kernels, Array, Codes]:
    """Return a model whose anchors are all born, and records that it has not seen."""
    x, labels = stream(seed, n + of.n_anchors, 4, classes)
    x = (x - x.mean(axis=0)) / x.std(axis=0)
    kernels = _still(of, 4, classes)
    kernels.rows(x[: of.n_anchors], labels[: of.n_anchors])
    assert len(kernels.positions) == of.n_anchors
    return kernels, x[of.n_anchors :], labels[of.n_anchors :]


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("schedule", [kernel.PAPER_LLSVM, kernel.PAPER_SAPL])
@pytest.mark.parametrize("flat", [False, True], ids=["linear", "lcc"])
def test_the_papers_algorithms_step_by_step(schedule: int, classes: int, flat: bool) -> None:
    """LL Algorithm 1 with (11), (12), (13), or SAPL Algorithm 1 with (16) to (19) and (21)."""
    lam, t0, skip = 2e-3, 150, 7
    of = paper(schedule, l2=lam, t0=t0, skip=skip, flat=flat)
    kernels, records, labels = _born(of, classes, seed=1, n=60)
    t = of.n_anchors
    count = skip - t % skip  # LL's counter, which began at skip
    shrunk_at = []
    for x, label in zip(records, labels, strict=True):
        v, (weights, biases) = kernels.positions, kernels.machines
        w, b = np.zeros((len(v), biases.shape[-1], 4)), biases[:, 0, 0]
        w = w if flat else weights[:, 0, 0]
        near, gamma, pull = _coded(kernels, of, x)
        y = np.array([1 if label == 1 else -1])
        if classes > 2:
            y = np.where(np.arange(classes) == label, 1, -1)
        heights = w[near] @ x + b[near]
        blend = gamma @ heights  # H(x), one value a class
        y = np.where(1 - y * blend > 0, y, 0)  # classes whose margin holds are silent
        eta = 1 / (lam * (t + t0))
        if schedule == kernel.PAPER_SAPL:
            slope = (heights - blend) @ y
            v[near] += eta * (pull * slope)[:, None] * (x - v[near])  # (16), (21)
        w[near] += eta * gamma[:, None, None] * y[None, :, None] * x  # (11), (17)
        b[near] += eta * gamma[:, None] * y  # (12), (18)
        count -= 1
        if schedule == kernel.PAPER_LLSVM:
            due, count = count <= 0, (skip if count <= 0 else count)
        else:
            due = t % skip == 0
        if due:
            shrunk_at.append(t)
            w *= 1 - skip / (t + t0)  # (13), (19)
            if flat:
                b *= 1 - skip / (t + t0)
        t += 1

        kernels.learn(x, int(label))
        np.testing.assert_allclose(kernels.positions, v, atol=1e-4 * np.abs(v).max())
        weights, biases = kernels.machines
        np.testing.assert_allclose(biases[:, 0, 0], b, atol=1e-5 * np.abs(b).max())
        if not flat:
            np.testing.assert_allclose(weights[:, 0, 0], w, atol=1e-5 * np.abs(w).max())
    # LL counts down from skip, so it shrinks at 6, 13, 20, ...; SAPL at 7, 14, 21, ...
    first = 13 if schedule == kernel.PAPER_LLSVM else 14
    assert shrunk_at == list(range(first, t, skip))


def test_llsvms_anchors_do_not_follow_the_labels() -> None:
    kernels, records, labels = _born(paper(kernel.PAPER_LLSVM), 2, seed=0, n=30)
    before = kernels.positions
    kernels.rows(records, labels)
    assert np.array_equal(kernels.positions, before)


@pytest.mark.parametrize("coding", ["softmax", "inverse_distance"])
@pytest.mark.parametrize("multiclass", sorted(MULTICLASS.values()))
@pytest.mark.parametrize("loss", sorted(LOSSES.values()))
@pytest.mark.parametrize("classes", [2, 4])
def test_anchors_descend_the_loss(coding: str, multiclass: int, loss: int, classes: int) -> None:
    """SAPL(16), (21): the move is -eta times the loss's gradient, by finite differences."""
    lam, t0 = 5e-2, 200
    of = paper(
        kernel.PAPER_SAPL,
        coding=CODINGS[coding],
        multiclass=multiclass,
        loss=loss,
        l2=lam,
        t0=t0,
        skip=100,
    )
    kernels, records, labels = _born(of, classes, seed=2, n=40)
    compared = 0
    for x, label in zip(records, labels, strict=True):
        v, (weights, biases) = kernels.positions, kernels.machines
        near, gamma, pull = _coded(kernels, of, x)
        heights = weights[near, 0, 0] @ x + biases[near, 0, 0]
        spread = float(kernels.own["running"][kernel.SPREAD])
        eta = 1 / (lam * (kernels.own["running"][kernel.SEEN] + t0))

        def loss_at(anchors: Array, x: Array = x, h: Array = heights, s: float = spread,
                    label: int = int(label)) -> float:  # fmt: skip
            squared = ((anchors - x) ** 2).sum(axis=1)
            codes, _ = codes_at(of.coding, squared, of.sharpness, s)
            return total_loss(of.loss, of.multiclass, codes @ h, label)

        gradient = np.zeros((len(near), 4))
        for place in np.ndindex(*gradient.shape):
            step = np.zeros(gradient.shape)
            step[place] = 1e-6
            gradient[place] = (loss_at(v[near] + step) - loss_at(v[near] - step)) / 2e-6
        kernels.learn(x, int(label))
        moved = (kernels.positions[near] - v[near]) / -eta
        allowed = np.full(gradient.shape, 0.01 * np.abs(gradient).max())
        if loss == LOSSES["logistic"]:  # its faint pushes are dropped on purpose
            differences = np.abs(heights - gamma @ heights).sum(axis=1)
            allowed += FAINT * (pull * differences)[:, None] * np.abs(x - v[near])
        if np.abs(gradient).max() > 0.005:
            compared += 1
            assert (np.abs(moved - gradient) <= allowed).all()
    assert compared >= 5


# ---- births and k-means


def test_the_first_distinct_records_are_the_anchors() -> None:
    kernels = Kernels(member(n_anchors=5, n_neighbors=2), 2, 2, standardize=False)
    kernels.own["settings"][[kernel.CLUSTERING, kernel.ANCHOR_STEP]] = 0
    distinct = np.array([[0.0, 1.0], [2.0, 0.0], [-1.0, 3.0]])
    for i in (0, 0, 1, 0, 1, 2, 2, 1):
        kernels.learn(distinct[i], i % 2)
    # A value on the centre becomes next to nothing: 0 is kept for what says nothing.
    np.testing.assert_allclose(kernels.positions, distinct, atol=1e-20)


def test_an_anchor_is_born_where_the_missing_values_are_at_their_mean() -> None:
    kernels = Kernels(member(), 3, 2)
    kernels.learn(np.array([np.nan, ABSENT, 4.0]), 0)
    assert kernels.positions.tolist() == [[0, 0, 0]]


def test_without_labels_an_anchor_is_the_mean_of_its_records() -> None:
    of = member(n_anchors=1, n_neighbors=1, supervised=False)
    kernels = Kernels(of, 3, 2, standardize=False)
    x, labels = stream(3, 90, 3, 2)
    assert len(x) < 1 / of.cluster_floor
    kernels.rows(x, labels)
    np.testing.assert_allclose(kernels.positions[0], x.mean(axis=0), rtol=1e-4, atol=1e-5)


def test_an_old_anchor_still_follows_the_stream() -> None:
    kernels = Kernels(member(n_anchors=1, n_neighbors=1, supervised=False), 2, 2, standardize=False)
    kernels.rows(np.zeros((500, 2)), np.arange(500) % 2)
    kernels.rows(np.full((600, 2), 5.0), np.arange(600) % 2)
    np.testing.assert_allclose(kernels.positions[0], 5, rtol=0.01)


def test_an_anchors_norm_does_not_drift_in_a_long_stream() -> None:
    """It is kept up to date by each move, never computed afresh."""
    x, labels = stream(4, 30_000, 6, 3)
    kernels = Kernels(member(), 6, 3)
    kernels.rows(x, labels)
    assert kernels.own["running"][kernel.MOVES] > 30_000
    norms = (kernels.positions**2).sum(axis=1)
    kept = kernels.own["facts"][kernel.NORM, : len(norms)]
    np.testing.assert_allclose(kept, norms, atol=1e-3 * norms.max())


def test_a_move_is_cut_short_in_the_ladder() -> None:
    """No single record may throw an anchor about, whatever it weighs."""
    x, labels = stream(5, 300, 3, 2)
    kernels = _still(member(), 3, 2)
    for row, label in zip(x, labels, strict=True):
        before = kernels.positions
        kernels.learn(row, int(label), 1e3)
        moved = np.linalg.norm(kernels.positions[: len(before)] - before, axis=1)
        away = np.linalg.norm(row - before, axis=1)
        assert (moved <= float(kernel.LARGEST_MOVE) * away * 1.001 + 1e-5).all()


# ---- weights of records


def test_a_weight_of_two_is_a_step_twice_as_long() -> None:
    of = paper(kernel.PAPER_LLSVM, skip=50)
    one, two = (_born(of, 2, seed=6, n=10)[0] for _ in range(2))
    _, records, labels = _born(of, 2, seed=6, n=10)
    start = one.machines[0]
    one.learn(records[0], int(labels[0]), 1.0)
    two.learn(records[0], int(labels[0]), 2.0)
    step = one.machines[0] - start
    assert np.abs(step).max() > 0
    np.testing.assert_allclose(two.machines[0] - start, 2 * step, rtol=1e-3, atol=1e-5)


def test_every_answer_adds_to_the_mass_by_its_share() -> None:
    x, labels = stream(7, 100, 3, 2)
    w = np.random.default_rng(0).uniform(0.5, 2, size=100)
    kernels = Kernels(member(), 3, 2)
    kernels.rows(x, labels, w)
    mass = kernels.own["facts"][kernel.MASS]
    assert mass[:-1].sum() == pytest.approx(w[1:].sum(), rel=1e-4)  # the first record has no anchor
    assert mass[-1] == pytest.approx(w[1:].sum() * member().common_share, rel=1e-4)
