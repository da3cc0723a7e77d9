"""The landmarks member beside the oracle, and its clusters, landmarks and directions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from stream_llsvm.kernels.cells import STEPS
from stream_llsvm.kernels.losses import CRAMMER_SINGER, HINGE, HUBERIZED_HINGE, LOGISTIC, OVR
from stream_llsvm.members.anchors.state import ZOOM
from stream_llsvm.members.family.landmarks import kernel
from stream_llsvm.members.family.landmarks.member import Landmarks
from stream_llsvm.members.family.landmarks.projection import LINEAR, PRINCIPAL, RANDOM, RBF
from stream_llsvm.model.state import columns_of
from tests.oracle_compare import Kernels, stream
from tests.oracle_landmarks import LandmarksOracle

WIDTH = 5
ANY: dict[str, dict[str, Any]] = {
    "axes": {},
    "random": {"choice": RANDOM},
    "few random": {"choice": RANDOM, "n_landmarks": 3},
    "rbf": {"choice": RANDOM, "projection": RBF, "n_landmarks": 8, "bell": 0.7},
    "components": {"n_landmarks": 3},
    "one step": {"steps": (2.0,), "averaged": False},
    "hinge, one against the rest": {"loss": HINGE, "multiclass": OVR},
    "Huberized hinge, random": {"loss": HUBERIZED_HINGE, "choice": RANDOM},
    "one cluster": {"n_clusters": 1},
    "shrinking": {"l2": 3e-2},
}


def landmarks(**options: Any) -> Landmarks:
    settings: dict[str, Any] = {
        "n_clusters": 4,
        "loss": LOGISTIC,
        "multiclass": CRAMMER_SINGER,
        "averaged": True,
        "seed": 3,
    }
    return Landmarks(**(settings | options))


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("options", ANY.values(), ids=ANY)
def test_the_member_is_the_oracle(options: dict[str, Any], classes: int) -> None:
    of = landmarks(**options)
    kernels = Kernels(of, WIDTH, classes)
    oracle = LandmarksOracle(of, WIDTH, columns_of(classes))
    x, labels = stream(3, 250, WIDTH, classes)
    weights = np.random.default_rng(0).choice([0.5, 1.0, 2.0], len(x))
    moved = 0
    for row, label, w in zip(x, labels, weights, strict=True):
        kernels.predict(row)
        own, z = kernels.own, kernels.memory.views(0)["z"][0, 0, :WIDTH].astype(float)
        oracle.take(own)
        np.testing.assert_allclose(kernels.scores, oracle.scores(z), rtol=1e-3, atol=1e-3)
        before = own["landmarks"].copy()
        kernels.learn(row, int(label), float(w))
        changed = np.flatnonzero((own["landmarks"] != before).any(axis=1))
        moved += len(changed)
        oracle.learn(z, int(label), float(w), int(changed[0]) if len(changed) else -1)
        held = int(own["running"][kernel.HELD])
        assert (oracle.born, len(oracle.landmarks)) == (own["running"][kernel.BORN], held)
        centres = own["facts"][ZOOM, : oracle.born, None] * own["positions"][: oracle.born]
        for told, expected in (
            (centres, oracle.centres),
            (own["landmarks"][:held], oracle.landmarks),
            (own["components"][: len(oracle.components)], oracle.components),
            (own["bias"], oracle.bias),
            (own["weights"], oracle.weights),
            (own["running"][kernel.SPREAD], oracle.spread),
        ):
            np.testing.assert_allclose(told, expected, rtol=1e-3, atol=2e-3)
    assert moved > 5 or (of.choice == PRINCIPAL and of.directions(WIDTH) == 0)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("basis", ["axes", "turned"])
def test_one_cluster_over_an_orthonormal_basis_is_a_linear_svm(basis: str, classes: int) -> None:
    """L3 section 2.1: for K = 1 and an orthonormal basis, fully equivalent; whichever it is."""
    of = landmarks(n_clusters=1, loss=HINGE, multiclass=OVR, steps=(1.0,), averaged=False)
    kernels = Kernels(of, WIDTH, classes, standardize=False)
    x, labels = stream(0, 400, WIDTH, classes)
    x = (x - x.mean(axis=0)) / x.std(axis=0)
    own = kernels.own
    if basis == "turned":
        own["landmarks"][:] = np.linalg.qr(np.random.default_rng(0).normal(size=(WIDTH, WIDTH)))[0]
    own["running"][kernel.OFFERED] = kernel.YOUNG
    kernels.learn(x[0], 0)
    own["bias"][:] = 0
    columns = columns_of(classes)
    w, b = np.zeros((columns, WIDTH)), np.zeros(columns)
    signs = np.where(np.arange(classes) == labels[:, None], 1.0, -1.0)[:, -columns:]
    for row, label, y in zip(x[1:], labels[1:], signs[1:], strict=True):
        kernels.learn(row, int(label))
        scores = w @ row + b
        np.testing.assert_allclose(kernels.scores[0], scores, rtol=1e-3, atol=1e-3)
        step = np.where(y * scores < 1, y, 0.0) * own["settings"][STEPS] / (1 + row @ row)
        # The very scores decide who is pushed: near the margin rounding would.
        step = np.where(np.abs(y * scores - 1) < 1e-3, _told(own, b), step)
        w, b = w + step[:, None] * row, b + step
    assert np.abs(w).max() > 0.1


def _told(own: Any, b: Any) -> Any:
    return own["bias"][0, 0].astype(float) - b


def test_directions_are_the_principal_ones_and_orthonormal() -> None:
    rng = np.random.default_rng(1)
    turned = np.linalg.qr(rng.normal(size=(12, 12)))[0]
    x = (rng.normal(size=(6_000, 12)) * np.array([5, 3, 2] + [0.3] * 9)) @ turned.T
    kernels = Kernels(landmarks(n_landmarks=3), 12, 2, standardize=False)
    kernels.rows(x, (x @ turned[:, 0] > 0).astype(np.int64))
    found = kernels.own["landmarks"].astype(float)
    np.testing.assert_allclose(found @ found.T, np.eye(3), atol=1e-5)
    assert (np.abs(np.diag(found @ turned[:, :3])) > 0.99).all()


def test_when_the_landmarks_turn_no_answer_changes() -> None:
    """As far as both bases span it: here records that have only so many directions."""
    rng = np.random.default_rng(2)
    plane = np.linalg.qr(rng.normal(size=(8, 3)))[0]
    x = rng.normal(size=(400, 3)) @ plane.T
    labels = (x[:, 0] * x[:, 1] > 0).astype(np.int64)
    kernels = Kernels(landmarks(n_landmarks=3), 8, 2, standardize=False)
    kernels.rows(x, labels)
    turned = 0
    for row, label in zip(x, labels, strict=True):
        before = kernels.own["landmarks"].copy()
        due = kernels.own["running"][kernel.NEXT]
        if kernels.own["running"][kernel.OFFERED] + 1 >= due:
            state = kernels.own["weights"].copy()
            kernels.learn(row, int(label), 1e-9)  # a step of nothing: only the basis moves
            assert (kernels.own["landmarks"] != before).any()
            w = [
                np.einsum("kp...,pi->k...i", of.astype(float), basis.astype(float))
                for of, basis in (
                    (state, before),
                    (kernels.own["weights"], kernels.own["landmarks"]),
                )
            ]
            np.testing.assert_allclose(w[0], w[1], atol=1e-3 * np.abs(w[0]).max())
            turned += 1
        else:
            kernels.learn(row, int(label))
    assert turned >= 1


def test_the_reservoir_is_a_fair_sample() -> None:
    n, size, kept = 300, 20, np.zeros(300)
    x = np.random.default_rng(0).normal(size=(n, 20))
    labels = (x[:, 0] > 0).astype(np.int64)
    for seed in range(100):
        kernels = Kernels(landmarks(choice=RANDOM, seed=seed), 20, 2, standardize=False)
        kernels.rows(x, labels)
        for landmark in kernels.own["landmarks"]:
            kept[np.abs(x - landmark).sum(axis=1).argmin()] += 1
    by_part = kept[kernel.YOUNG :].reshape(4, -1).sum(axis=1)
    assert kept[: kernel.YOUNG - 1].sum() == 0, "those before the scales were known are forgotten"
    expected = 100 * size / 4
    assert np.abs(by_part - expected).max() < 6 * np.sqrt(expected)


@pytest.mark.parametrize("options", ANY.values(), ids=ANY)
def test_growing_changes_no_answer(options: dict[str, Any]) -> None:
    kernels = Kernels(landmarks(**options), 3, 3)
    x, labels = stream(1, 150, 3, 3)
    kernels.rows(x, labels)
    before = []
    for row in x[:40]:
        kernels.predict(row)
        before.append(kernels.scores)
    kernels.grow(6, 3)
    wide = np.concatenate([x, np.full((150, 3), -np.inf)], axis=1)
    for row, score in zip(wide[:40], before, strict=True):
        kernels.predict(row)
        np.testing.assert_allclose(kernels.scores, score, atol=1e-4)
    kernels.grow(6, 5)
    for row, score in zip(wide[:40], before, strict=True):
        kernels.predict(row)
        np.testing.assert_allclose(kernels.scores[:, :3], score, atol=1e-4)


def test_more_features_than_landmarks_axes_become_directions() -> None:
    kernels = Kernels(landmarks(n_landmarks=4), 4, 2)
    x, labels = stream(1, 200, 4, 2)
    kernels.rows(x, labels)
    kernels.predict(x[0])
    before = kernels.scores
    kernels.grow(9, 2)
    wide = np.concatenate([x, np.full((200, 5), -np.inf)], axis=1)
    kernels.predict(wide[0])
    np.testing.assert_allclose(kernels.scores, before, atol=1e-4)
    kernels.rows(np.random.default_rng(0).normal(size=(300, 9)), np.resize([0, 1], 300))
    assert kernels.own["running"][kernel.HELD] == 4 and kernels.memory.sound()


def test_linear_landmarks_are_never_more_than_features() -> None:
    assert landmarks(n_landmarks=50).landmarks(7) == 7
    assert landmarks().landmarks(7) == 7
    assert landmarks().landmarks(784) == 100
    assert landmarks(projection=RBF, choice=RANDOM).landmarks(7) == 100
    assert landmarks(projection=LINEAR).landmarks(10**7) >= 1
