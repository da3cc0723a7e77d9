"""The local member beside the oracle, and its window, cache and map."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from stream_llsvm.members.family.local_svm import kernel
from stream_llsvm.members.family.local_svm import window as seen_as
from stream_llsvm.members.family.local_svm.member import LocalMachines
from stream_llsvm.members.family.local_svm.smo import LINEAR, RBF
from stream_llsvm.members.family.local_svm.window import (
    DIAGONAL,
    FULL,
    LABEL,
    PLAIN,
    RESERVOIR,
    STAMP,
)
from tests.oracle_compare import Kernels, stream
from tests.oracle_local import LocalOracle

ANY: dict[str, dict[str, Any]] = {
    "plain, rbf": {"metric": PLAIN},
    "plain, linear": {"metric": PLAIN, "kernel_kind": LINEAR},
    "megm, rbf": {"metric": FULL},
    "megm, linear": {"metric": FULL, "kernel_kind": LINEAR},
    "a sigma of its own": {"metric": FULL, "sigma": 0.8},
    "few neighbours": {"metric": PLAIN, "k": 0.5},
    "cheap mistakes": {"metric": PLAIN, "penalty": 0.3},
}


def local(**options: Any) -> LocalMachines:
    """Make a member that solves to the end."""
    settings: dict[str, Any] = {"window": 60, "k": 2.0, "kernel_kind": RBF, "tolerance": 1e-9}
    return LocalMachines(**(settings | options))


def solved(kernels: Kernels) -> int:
    """Return how many neighbourhoods have been solved so far."""
    return int(kernels.own["memo"][kernel.SOLVED])


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("options", ANY.values(), ids=ANY)
def test_the_member_is_the_oracle(options: dict[str, Any], classes: int) -> None:
    """Neighbours, machines' values, and the map after each record, through a whole window."""
    width, n = 3, 170
    kernels = Kernels(local(**options), width, classes)
    oracle = LocalOracle(local(**options), width, classes)
    x, labels = stream(3, n, width, classes)
    weights = np.random.default_rng(0).choice([0.5, 1.0, 2.0], n)
    machines = 0
    for row, label, w in zip(x, labels, weights, strict=True):
        kernels.predict(row)
        z = kernels.memory.views(0)["z"][0, 0, :width].astype(float)
        own, held = kernels.own, len(oracle.records)
        k = int(own["memo"][kernel.FOUND])
        near, squared = oracle.neighbours(z)
        assert k == len(near)
        np.testing.assert_allclose(own["nearest"][:k], squared, rtol=1e-3, atol=1e-4)
        # Between equal distances rounding decides: the kernel's choice is as good.
        stamps = own["facts"][STAMP, own["near"][:k]]
        order = (stamps - (oracle.seen - held + 1)).astype(np.int64)
        if len(set(order.tolist()) ^ set(near.tolist())) > 0:
            z_all = np.array([r.z for r in oracle.records])
            told = (((z_all[order] - z) @ oracle.published.T) ** 2).sum(axis=1)
            np.testing.assert_allclose(told, squared, rtol=1e-3, atol=1e-4)
        machines += own["memo"][kernel.HIT] >= 0
        np.testing.assert_allclose(kernels.scores[0], oracle.scores(z, order), rtol=2e-3, atol=2e-3)
        oracle.learn(z, int(label), float(w), order, own["nearest"][:k].astype(float))
        kernels.learn(row, int(label), float(w))
        if oracle.of.metric == FULL:
            np.testing.assert_allclose(own["matrix"], oracle.map, rtol=1e-3, atol=1e-4)
            oracle.map = own["matrix"].astype(float)
            oracle.effort = float(own["effort"][0])
            if oracle.seen % 64 == 0 or oracle.seen < 64:
                oracle.published = oracle.map.copy()
    assert machines > n / 3
    assert len(oracle.records) == kernels.own["running"][kernel.HELD] == 60


def test_all_of_one_label_ends_early() -> None:
    kernels = Kernels(local(metric=PLAIN), 2, 3, standardize=False)
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 2)) + 8 * (np.arange(200) % 2)[:, None]
    kernels.rows(x, 2 * (np.arange(200) % 2))
    before = solved(kernels)
    kernels.predict(np.array([8.0, 8.0]))
    assert solved(kernels) == before and kernels.own["memo"][kernel.HIT] == -1
    assert kernels.scores[0].tolist() == [-1, -1, 1]


def test_a_machine_stands_while_its_neighbourhood_does() -> None:
    kernels = Kernels(local(metric=PLAIN, window=200), 2, 2, standardize=False)
    x, labels = stream(0, 150, 2, 2)
    kernels.rows(x, labels)
    asked = next(row for row in x if kernels.predict(row) is not None and hit(kernels))
    before = solved(kernels)
    told = kernels.predict(asked + 1e-9)
    kernels.predict(np.full(2, 50.0))
    again = kernels.predict(asked + 1e-9)
    assert hit(kernels) and solved(kernels) <= before + 1
    assert told.tolist() == again.tolist()
    kernels.learn(np.full(2, 1e3), 0)  # far from it: it still stands
    before = solved(kernels)
    kernels.predict(asked)
    assert solved(kernels) == before
    kernels.learn(asked, 1)  # a neighbour more
    kernels.predict(asked)
    assert solved(kernels) == before + 1


def hit(kernels: Kernels) -> bool:
    """Whether the last query needed machines."""
    return bool(kernels.own["memo"][kernel.HIT] >= 0)


def test_to_learn_what_was_predicted_solves_nothing_again() -> None:
    kernels = Kernels(local(metric=FULL), 3, 3)
    x, labels = stream(0, 300, 3, 3)
    once = 0
    for row, label in zip(x, labels, strict=True):
        kernels.predict(row)
        once += hit(kernels)
        kernels.learn(row, int(label))
    assert 0 < solved(kernels) <= once


def test_with_and_without_what_was_solved_before_the_answers_are_the_same() -> None:
    """To the bit: so nothing of it need be saved."""
    x, labels = stream(0, 300, 2, 3)
    x = np.round(x, 1)  # so that many records come again
    kept, never = Kernels(local(), 2, 3), Kernels(local(), 2, 3)
    for row, label in zip(x, labels, strict=True):
        for asked in (row, x[0], row):
            never.own["entries"][:] = 0
            never.own["memo"][kernel.FRESH] = 0
            assert kept.predict(asked).tolist() == never.predict(asked).tolist()
        assert kept.learn(row, int(label)).tolist() == never.learn(row, int(label)).tolist()
    assert solved(kept) < solved(never)
    assert np.array_equal(kept.words(), never.words())


@pytest.mark.parametrize("window", [1, 2, 19, 20, 21, 500])
def test_the_window_slides(window: int) -> None:
    kernels = Kernels(local(window=window), 2, 2)
    x, labels = stream(0, 130, 2, 2)
    kernels.rows(x, labels)
    own = kernels.own
    since = 130 - kernel.YOUNG + 1
    assert own["running"][kernel.HELD] == min(window, since)
    stamps = sorted(own["facts"][STAMP, : min(window, since)].tolist())
    assert stamps == list(range(131 - min(window, since), 131))


def test_a_reservoir_is_a_fair_sample() -> None:
    """Each record is left in it as often as any other."""
    n, window, kept = 400, 40, np.zeros(400)
    x, labels = stream(0, n, 2, 2)
    for seed in range(150):
        kernels = Kernels(local(window=window, way=RESERVOIR, seed=seed, metric=PLAIN), 2, 2)
        kernels.own["running"][kernel.SEEN] = kernel.YOUNG
        kernels.rows(x, labels)
        stamps = kernels.own["facts"][STAMP].astype(np.int64) - kernel.YOUNG - 1
        assert len(set(stamps.tolist())) == window
        kept[stamps] += 1
    by_quarter = kept.reshape(4, -1).sum(axis=1)
    expected = 150 * window / 4
    # Six standard deviations of a count like this.
    assert np.abs(by_quarter - expected).max() < 6 * np.sqrt(expected * 0.9)


@pytest.mark.parametrize("metric", [PLAIN, DIAGONAL, FULL])
def test_growing_changes_no_answer(metric: int) -> None:
    """Features that nobody has named yet, and classes that nobody has seen."""
    kernels = Kernels(local(metric=metric), 3, 3)
    x, labels = stream(1, 120, 3, 3)
    kernels.rows(x, labels)
    before = [kernels.predict(row) for row in x[:40]]
    scores = [kernels.scores for row in x[:40] if kernels.predict(row) is not None]
    kernels.grow(6, 3)
    wide = np.concatenate([x, np.full((120, 3), -np.inf)], axis=1)
    for row, proba, score in zip(wide[:40], before, scores, strict=True):
        np.testing.assert_allclose(kernels.predict(row), proba, atol=1e-4)
        np.testing.assert_allclose(kernels.scores, score, atol=1e-3)
    kernels.grow(6, 5)
    for row, score in zip(wide[:40], scores, strict=True):
        kernels.predict(row)
        np.testing.assert_allclose(kernels.scores[0, :3], score[0], atol=1e-3)
        assert kernels.scores[0, 3:].tolist() in ([-1, -1], [0, 0])


def test_a_full_map_that_gets_too_wide_becomes_diagonal() -> None:
    of = local(metric=FULL, window=100)
    kernels = Kernels(of, 4, 2)
    x, labels = stream(2, 200, 4, 2)
    kernels.rows(x, labels)
    full = kernels.own["published"].astype(float)
    kernels.grow(200, 2)
    own = kernels.own
    assert of.map_kind(200) == DIAGONAL and own["published"].shape == (1, 200)
    np.testing.assert_allclose(own["published"][0, :4], np.sqrt((full**2).sum(axis=0)), rtol=1e-5)
    assert (own["published"][0, 4:] == 1).all()
    np.testing.assert_allclose(own["mapped"], own["published"][0][:, None] * own["store"])
    kernels.rows(np.pad(x, ((0, 0), (0, 196)), constant_values=-np.inf), labels)
    assert kernels.memory.sound()


@pytest.mark.parametrize("metric", [PLAIN, DIAGONAL, FULL])
def test_norms_and_mapped_records_stay_what_they_are(metric: int) -> None:
    kernels = Kernels(local(metric=metric), 5, 3)
    kernels.rows(*stream(2, 3_000, 5, 3))
    own = kernels.own
    mapped = own["store"] if metric == PLAIN else own["mapped"]
    if metric != PLAIN:
        published = own["published"].astype(float)
        matrix = np.diag(published[0]) if metric == DIAGONAL else published
        np.testing.assert_allclose(mapped, matrix @ own["store"], rtol=1e-3, atol=1e-4)
        assert not np.allclose(matrix, np.eye(5))
    norms = (mapped.astype(float) ** 2).sum(axis=0)
    np.testing.assert_allclose(own["facts"][seen_as.NORM], norms, rtol=1e-4)


def test_the_map_finds_a_plane_that_no_feature_shows() -> None:
    """The label hangs on two directions of ten; turned, no feature alone is of use."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(3_000, 10))
    labels = (x[:, 0] * x[:, 1] > 0).astype(np.int64)
    turned = x @ np.linalg.qr(rng.normal(size=(10, 10)))[0]
    right = {}
    for metric in (PLAIN, DIAGONAL, FULL):
        of = LocalMachines(window=1_000, metric=metric)
        _, likeliest = Kernels(of, 10, 2).rows(turned, labels)
        right[metric] = float((likeliest == labels)[-1_500:].mean())
    assert right[FULL] > right[DIAGONAL] + 0.05
    assert right[FULL] > right[PLAIN] + 0.08


def test_a_class_that_is_a_guess_is_one_of_the_window() -> None:
    kernels = Kernels(local(), 2, 4)
    x, labels = stream(4, 300, 2, 3)
    _, likeliest = kernels.rows(x, labels)
    assert set(likeliest[50:].tolist()) <= {0, 1, 2}
    assert set(kernels.own["facts"][LABEL].tolist()) <= {0, 1, 2}
