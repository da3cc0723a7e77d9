"""Rows with names and times in them: told apart, and left out of what is made for numbers."""

from __future__ import annotations

import numpy as np
import pytest

from stream_llsvm.kernels import run
from stream_llsvm.kernels.scaling import ABSENT
from stream_llsvm.members.contexts.member import Contexts
from stream_llsvm.members.words.member import Words
from stream_llsvm.records.boxes import boxed_name, boxed_time
from tests.kernels.alone import alone
from tests.oracle_compare import COMMITTEES, Kernels, stream

NO, YES = boxed_name("no"), boxed_name("yes")


def made(width: int = 3, classes: int = 2) -> Kernels:
    """Return a committee, of members that know no names, which has learned some numbers."""
    members = [one for one in COMMITTEES["all"] if not isinstance(one, Contexts | Words)]
    kernels = Kernels(members, width, classes)
    kernels.rows(*stream(0, 120, width, classes))
    return kernels


def sparse(kernels: Kernels, columns: list[int], values: list[float], label: int = -1) -> bytes:
    """Feed one sparse row; returns the probabilities, to the bit."""
    starts, at = np.array([0, len(values)]), np.array(columns, dtype=np.int64)
    proba, _ = kernels.raw(np.array(values), at, starts, np.array([label]))
    return proba.tobytes()


def test_a_name_is_a_missing_value_to_members_of_numbers() -> None:
    kernels = made()
    plain = kernels.predict(np.array([0.5, np.nan, 1.0])).tobytes()
    for box in (NO, YES, boxed_time(3, 1)):
        assert kernels.predict(np.array([0.5, box, 1.0])).tobytes() == plain


@pytest.mark.parametrize("label", [-1, 1])
def test_a_row_with_more_words_than_columns_is_the_row_without_them(label: int) -> None:
    one, other = made(), made()
    words = [boxed_name(f"word {i}") for i in range(5_000)]
    told = sparse(one, [0, *[1] * len(words), 2], [0.5, *words, 1.0], label)
    assert told == sparse(other, [0, 2], [0.5, 1.0], label)
    # Beside it in one call: where each row begins is another place then.
    values = np.array([0.5, *words, 1.0, 0.25, NO, 0.75])
    columns = np.array([0, *[1] * len(words), 2, 0, 1, 2])
    starts = np.array([0, len(words) + 2, len(words) + 5])
    both, _ = one.raw(values, columns, starts, np.array([label, label]))
    rows = np.array([[0.5, ABSENT, 1.0], [0.25, ABSENT, 0.75]])
    assert both.tobytes() == other.rows(rows, np.array([label, label]))[0].tobytes()


def test_scores_of_another_name_are_not_taken_over() -> None:
    """Learning takes over the scores of a prediction only if the row is that row, to the box."""
    same = alone(run.remembered)
    memo, none = np.array([1, 2, 0, 0]), np.zeros(0, dtype=np.int64)

    def is_same(last: float, value: float) -> bool:
        return bool(same(memo, np.array([1.0, last]), none, np.array([1.0, value]), none))

    boxes = (NO, YES, boxed_time(0, 0), boxed_time(0, 1), np.nan, 1.0)
    for i, one in enumerate(boxes):
        for j, other in enumerate(boxes):
            assert is_same(one, other) is (i == j)
    assert is_same(np.nan, -np.nan) and is_same(0.0, -0.0) and not is_same(1.0, ABSENT)


def test_a_name_or_a_time_is_another_record_for_late_labels() -> None:
    kernels = made()
    model = kernels.memory.views(0)
    kernels.predict(np.array([0.5, NO, 1.0]))
    digests = []
    for box in (NO, YES, np.nan, boxed_time(0, 0), boxed_time(0, 1)):
        kernels.predict(np.array([0.5, box, 1.0]))
        digests.append({int(d) for d in model["foretold"][:, 0]})
    assert len(digests[-1] - {0}) == 5
