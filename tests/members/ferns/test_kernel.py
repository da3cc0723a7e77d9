"""Ferns: questions number a cell, and the idle are replaced."""

from __future__ import annotations

import numpy as np
import pytest

from stream_llsvm import FernsClassifier
from stream_llsvm.kernels.metric import PERIOD
from stream_llsvm.members.ferns import kernel
from tests.kernels.alone import alone
from tests.oracle_compare import Kernels, ferns, stream

cells_of = alone(kernel.cells_of)
least_useful = alone(kernel.least_useful)


def test_answers_number_a_cell() -> None:
    features = np.array([[0, 1, 2], [2, 2, 0]])
    thresholds = np.array([[0.0, 1.0, 2.0], [-1.0, 5.0, 0.5]], dtype=np.float32)
    cells = np.zeros(2, dtype=np.int64)
    cells_of(np.array([1.0, 0.5, 3.0], dtype=np.float32), features, thresholds, cells)
    assert cells.tolist() == [0b101, 8 + 0b101]


def test_a_value_on_its_threshold_is_not_above_it() -> None:
    cells = np.zeros(1, dtype=np.int64)
    x = np.array([0.25], dtype=np.float32)
    cells_of(x, np.zeros((1, 1), dtype=np.int64), x.reshape(1, 1), cells)
    assert cells.tolist() == [0]


def test_the_least_useful_of_the_old_ferns_goes() -> None:
    facts = np.zeros((2, 4))
    facts[kernel.BORN] = [0, 10, 500, 900]
    facts[kernel.USE] = [0.5, 0.2, 0.3, -9.0]
    assert least_useful(facts, kernel.GRACE + 100.0) == 1
    assert least_useful(facts, kernel.GRACE + 2_000.0) == 3
    assert least_useful(facts, 500.0) == 1, "in a young stream half of its length is old"
    facts[kernel.BORN] = [260, 300, 400, 500]
    assert least_useful(facts, 500.0) == -1


def test_ferns_that_are_drawn_anew_are_few_and_begin_with_nothing() -> None:
    kernels = Kernels(ferns(), 4, 2)
    x, labels = stream(0, kernel.GRACE + 10 * PERIOD, 4, 2)
    kernels.rows(x[: PERIOD - 1], labels[: PERIOD - 1])
    assert (kernels.own["facts"][kernel.BORN] == 0).all()
    for i in range(PERIOD - 1, len(x)):
        before = {name: view.copy() for name, view in kernels.own.items()}
        kernels.learn(x[i], int(labels[i]))
        anew = np.flatnonzero(kernels.own["facts"][kernel.BORN] != before["facts"][kernel.BORN])
        grace = min(kernel.GRACE, (i + 1) / 2)
        old = i + 1 - before["facts"][kernel.BORN] >= grace
        assert len(anew) == (1 if (i + 1) % PERIOD == 0 and old.any() else 0)
        for fern in anew:
            assert (kernels.own["weights"][fern] == 0).all()
            assert (kernels.own["mass"][fern] == 0).all()


def test_before_the_first_draw_ferns_say_nothing() -> None:
    kernels = Kernels(ferns(), 3, 3)
    x, labels = stream(0, kernel.FIRST_DRAW + 1, 3, 3)
    kernels.rows(x[: kernel.FIRST_DRAW - 1], labels[: kernel.FIRST_DRAW - 1])
    assert (kernels.own["mass"] == 0).all()
    assert (kernels.own["features"] == 0).all()
    kernels.rows(x[kernel.FIRST_DRAW - 1 :], labels[kernel.FIRST_DRAW - 1 :])
    assert kernels.own["mass"].sum() > 0


@pytest.mark.parametrize("classes", [2, 4])
def test_it_learns_corners_that_no_line_cuts_off(classes: int) -> None:
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, size=(4_000, 2))
    labels = (x[:, 0] > 0).astype(np.int64) + 2 * (x[:, 1] > 0).astype(np.int64)
    if classes == 2:
        labels = np.isin(labels, [0, 3]).astype(np.int64)
    _, likeliest = Kernels(ferns(n_ferns=30, depth=6), 2, classes).rows(x, labels)
    assert (likeliest == labels)[-1_000:].mean() > 0.9


def test_kept_records_keep_their_labels_in_a_merged_model() -> None:
    """Classes stand in another order there."""
    x = np.random.default_rng(0).normal(size=(300, 3))
    first, second = FernsClassifier(n_ferns=3), FernsClassifier(n_ferns=3)
    first.learn_many(x[:100], ["a", "b"] * 50)
    second.learn_many(x[100:], ["c", "b", "a", "b"] * 50)
    whole = first.merge([second])
    assert whole._state is not None
    assert second._state is not None
    kept, own = whole._state.views(1)["labels"], second._state.views(1)["labels"]
    assert whole.classes != second.classes
    assert [whole.classes[c] for c in kept] == [second.classes[c] for c in own]


def test_each_seed_asks_other_questions() -> None:
    x, labels = stream(0, 60, 4, 2)
    asked = []
    for seed in (1, 1, 2):
        kernels = Kernels(ferns(seed=seed), 4, 2)
        kernels.rows(x, labels)
        asked.append(kernels.own["thresholds"].tolist())
    assert asked[0] == asked[1] != asked[2]
