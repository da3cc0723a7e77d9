"""Banks that learned different keys side by side become one: what all keys share, and whose order.

Each key was learned by one of them, so that rows are only brought into one order of features and
classes. What keys share is what it was when they parted and what each has added: tallies add up,
scales are those of all records, and how far keys are believed is the mean of the changes, each bank
counted by how many answers it gave to keys of that age.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.kernels.bank import ANSWERS
from stream_llsvm.kernels.scaling import STATISTICS
from stream_llsvm.model.bank import Bank
from stream_llsvm.model.pool_scales import pooled


class Order(NamedTuple):
    """Which features a bank's rows know, and which classes, in their order."""

    features: tuple[Hashable, ...]
    labels: tuple[Hashable, ...]


def reordered(matrix: NDArray[np.float32], before: Order, after: Order) -> NDArray[np.float32]:
    """Return the rows of keys in another order, which names no less.

    Examples
    --------
    >>> rows = np.array([[[[1, 2], [3, 4]]]], dtype="f4")  # one key: bias and a's weight
    >>> swapped = reordered(rows, Order(("a",), ("no", "yes")), Order(("b", "a"), ("yes", "no")))
    >>> swapped.tolist()
    [[[[-1.0, 0.0, -2.0], [3.0, 0.0, 4.0]]]]

    """
    if before == after:
        return matrix
    n, machines = len(matrix), machines_of(after)
    new = np.zeros((n, machines, 2, len(after.features) + 1), dtype=np.float32)
    known = [after.features.index(name) for name in before.features if name in after.features]
    own = [i for i, name in enumerate(before.features) if name in after.features]
    to, of = np.array([0, *(1 + i for i in known)]), np.array([0, *(1 + i for i in own)])
    classes = [after.labels.index(label) for label in before.labels]
    if machines_of(before) > 1:
        for c, place in enumerate(classes):
            new[:, place, :, to] = matrix[:, c][:, :, of].transpose(2, 0, 1)
        return new
    weights, learned = matrix[:, 0, 0][:, of], matrix[:, 0, 1][:, of]
    if machines == 1:
        turned = classes[:2] == [1, 0] or (len(classes) == 1 and classes[0] == 1)
        new[:, 0, 0, to] = -weights if turned else weights
        new[:, 0, 1, to] = learned
        return new
    for place, part in zip(classes, (-weights / 2, weights / 2), strict=False):
        new[:, place, 0, to], new[:, place, 1, to] = part, learned
    return new


def machines_of(order: Order) -> int:
    """Return how many machines a key has: one for two classes, else one a class."""
    return len(order.labels) if len(order.labels) > 2 else 1


def shared(base: Bank, before: Order, banks: Sequence[Bank], orders: Sequence[Order],
           after: Order) -> Bank:  # fmt: skip
    """Return a bank without keys that has what all keys share, of banks that parted from a base.

    Parameters
    ----------
    base, before
        What they were, and its order.
    banks, orders
        What each has become, and its order.
    after
        The order of the bank that is returned.

    """
    new = Bank(base.max_keys, base.most_features)
    new.grow(len(after.features), len(after.labels))
    answers = np.stack([bank.tallies[ANSWERS] - base.tallies[ANSWERS] for bank in banks])
    given = answers.sum(axis=0)
    shares = answers / np.maximum(given, 1)
    new.trust[:] = base.trust + sum(
        share * (bank.trust - base.trust) for share, bank in zip(shares, banks, strict=True)
    )
    new.tallies[:] = base.tallies + sum(bank.tallies - base.tallies for bank in banks)
    new.forgotten = base.forgotten + sum(bank.forgotten - base.forgotten for bank in banks)
    tables = [
        _in_order(bank.statistics, order, after)
        for bank, order in zip((base, *banks), (before, *orders), strict=True)
    ]
    taught = [float(bank.taught) for bank in (base, *banks)]
    new.statistics[:] = pooled(tables, taught, np.zeros(len(tables)), since=True)
    return new


def _in_order(statistics: NDArray[np.float64], before: Order, after: Order) -> NDArray[np.float64]:
    """Return the scales of features in another order."""
    new = np.zeros((len(after.features), STATISTICS))
    for i, name in enumerate(before.features):
        if name in after.features:
            new[after.features.index(name)] = statistics[i]
    return new
