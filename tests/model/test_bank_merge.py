"""Banks that learned different keys become one."""

from __future__ import annotations

import numpy as np
import pytest

from stream_llsvm import KeyedClassifier, SAPLClassifier
from stream_llsvm.engine.key_shards import order_of
from stream_llsvm.kernels.levels import WATCHED
from stream_llsvm.kernels.surprise import CLOCKS
from stream_llsvm.model.bank import Bank
from stream_llsvm.model.bank_merge import Order, machines_of, reordered, shared

FEATURES, LABELS = ("a", "b", "c"), ("x", "y", "z")


def rows(order: Order, n: int = 4) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    shape = (n, machines_of(order), 2, len(order.features) + 1)
    return np.random.default_rng(0).random(shape).astype(np.float32)


def of_class(matrix: np.ndarray, order: Order, label: object) -> dict[object, list[float]]:
    """Return what rows say for a class: by feature, and the bias by None."""
    place = list(order.labels).index(label)
    if machines_of(order) > 1:
        weights = matrix[:, place, 0]
    else:
        weights = matrix[:, 0, 0] * (0.5 if place == 1 else -0.5)
    names = (None, *order.features)
    return {name: weights[:, i].tolist() for i, name in enumerate(names)}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (Order(FEATURES, LABELS), Order(("c", "a", "d", "b"), ("z", "w", "x", "y"))),
        (Order(FEATURES, LABELS[:2]), Order(("c", "b", "a"), LABELS[:2])),
        (Order(FEATURES, LABELS[:2]), Order(("c", "b", "a"), ("y", "x"))),
        (Order(FEATURES, LABELS[:2]), Order(FEATURES, ("z", "y", "x"))),
        (Order(("a",), ("x",)), Order(("a",), ("y", "x"))),
    ],
)
def test_rows_say_the_same_in_another_order(before: Order, after: Order) -> None:
    matrix = rows(before)
    new = reordered(matrix, before, after)
    assert new.shape[1:] == (machines_of(after), 2, len(after.features) + 1)
    if len(before.labels) < 2:
        return
    for label in before.labels:
        told, now = of_class(matrix, before, label), of_class(new, after, label)
        for name, values in told.items():
            assert now[name] == pytest.approx(values)
        assert all(not any(now[name]) for name in set(now) - set(told))
    learned = {f: i for i, f in enumerate((None, *after.features))}
    c = after.labels.index(before.labels[0]) if machines_of(after) > 1 else 0
    for i, name in enumerate((None, *before.features)):
        assert new[:, c, 1, learned[name]].tolist() == matrix[:, 0, 1, i].tolist()


def test_an_order_that_grows_as_a_bank_does() -> None:
    """One machine for two classes becomes one a class, as `Bank.grow` does it."""
    before, after = Order(FEATURES, LABELS[:2]), Order((*FEATURES, "d"), LABELS)
    bank = Bank(None, 64)
    bank.grow(3, 2)
    matrix = rows(before)
    clocks = np.zeros((4, CLOCKS), dtype=np.float32)
    bank.hold(list("jklm"), matrix.copy(), np.ones(4, dtype=np.int64), clocks)
    bank.grow(4, 3)
    assert np.array_equal(reordered(matrix, before, after), bank.matrix)


def taught(n: int, begin: int = 0) -> KeyedClassifier:
    model = KeyedClassifier(SAPLClassifier(), key="who")
    teach(model, begin, n)
    return model


def teach(model: KeyedClassifier, begin: int, end: int) -> None:
    for i in range(begin, end):
        model.learn_one({"who": i % 5, "a": i % 7, "b": i % 3}, i % 7 > 3)


def test_what_keys_share_is_that_of_all_records() -> None:
    base, one, two = taught(200), taught(200), taught(200)
    teach(one, 200, 300)
    teach(two, 300, 450)
    order = order_of(base)
    banks = [one._bank, two._bank]
    new = shared(base._bank, order, banks, [order, order], order)
    assert new.taught == 450
    assert len(new) == 0
    values = np.array([[i % 7, i % 3] for i in range(450)])
    assert new.statistics[:, 1] == pytest.approx(values.mean(axis=0))
    low, high = (f([bank.trust for bank in banks], axis=0) for f in (np.min, np.max))
    told = new.tallies[0] > base._bank.tallies[0]
    assert (low - 1e-12 <= new.trust)[:, told].all()
    assert (new.trust <= high + 1e-12)[:, told].all()


def test_one_that_learned_nothing_changes_nothing() -> None:
    base, one = taught(200), taught(200)
    teach(one, 200, 300)
    order = order_of(base)
    new = shared(base._bank, order, [one._bank, base._bank], [order, order], order)
    for name in ("trust", "tallies"):
        assert getattr(new, name) == pytest.approx(getattr(one._bank, name), abs=1e-9)
    # What features are watched for begins anew where models do not agree.
    scales = slice(None, -WATCHED)
    assert new.statistics[:, scales] == pytest.approx(one._bank.statistics[:, scales])
