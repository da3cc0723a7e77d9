"""Rows that are answered together get the answers that they get alone, to the bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from stream_llsvm.kernels.plan import MODEL_ROW
from stream_llsvm.kernels.run import FEWEST
from stream_llsvm.kernels.scaling import MANY
from stream_llsvm.members.anchors import together
from tests.kernels.alone import alone
from tests.oracle_compare import MEMBERS, Kernels, member, stream

sort_by_machine = alone(together.sort_by_machine)


def _pictures(n: int, width: int, classes: int) -> tuple[NDArray[Any], NDArray[np.int64]]:
    x, labels = stream(8, n, width, classes)
    rng = np.random.default_rng(9)
    pieces = -(-width // 16)
    for row in x:
        row[np.repeat(rng.random(pieces) < 0.4, 16)[:width]] = 0
    x[-1] = 0
    x[-2] = np.nan
    return x, labels


def _unknown(n: int) -> NDArray[np.int64]:
    return np.full(n, -1, dtype=np.int64)


def _answers(kernels: Kernels, x: NDArray[Any]) -> list[Any]:
    proba, likeliest = kernels.rows(x, _unknown(len(x)))
    return [*proba.tolist(), likeliest.tolist()]


@pytest.mark.parametrize("width", [MANY, MANY + 3, 300])
@pytest.mark.parametrize("classes", [2, 11])
@pytest.mark.parametrize("name", MEMBERS)
def test_each_row_gets_the_answer_it_gets_alone(name: str, classes: int, width: int) -> None:
    kernels = Kernels(MEMBERS[name], width, classes)
    x, labels = _pictures(80, width, classes)
    learned = 0
    for end in (0, 3, 40):  # no anchor, some and all of them
        kernels.rows(x[learned:end], labels[learned:end])
        learned = end
        alone_rows = [kernels.rows(row, _unknown(1)) for row in x]
        expected = [*(p[0].tolist() for p, _ in alone_rows), [int(c[0]) for _, c in alone_rows]]
        kernels.own["all_near"][:] = -1
        assert _answers(kernels, x) == expected
        used = bool((kernels.own["all_near"] >= 0).any())
        assert learned == 0 or used == MEMBERS[name].answers_together


def test_what_is_learned_or_small_or_narrow_goes_row_by_row() -> None:
    def goes_together(kernels: Kernels, x: NDArray[Any], labels: NDArray[np.int64]) -> bool:
        kernels.own["all_near"][:] = -1
        kernels.rows(x, labels)
        return bool((kernels.own["all_near"] >= 0).any())

    x, labels = _pictures(60, MANY, 3)
    kernels = Kernels(member(), MANY, 3)
    assert not goes_together(kernels, x[:20], labels[:20])
    assert goes_together(kernels, x[:FEWEST], _unknown(FEWEST))
    assert not goes_together(kernels, x[: FEWEST - 1], _unknown(FEWEST - 1))
    one_label = _unknown(20)
    one_label[7] = 1
    assert not goes_together(kernels, x[:20], one_label)
    narrow = Kernels(member(), MANY - 1, 3)
    narrow.rows(x[:20, 1:], labels[:20])
    assert not goes_together(narrow, x[:, 1:], _unknown(60))


def test_a_batch_may_be_longer_than_a_chunk() -> None:
    width = 1_000
    x, labels = _pictures(300, width, 2)
    kernels = Kernels(member(steps=(1.0,)), width, 2)
    kernels.rows(x, labels)
    assert len(x) > 2 * kernels.memory.plan[0, MODEL_ROW.chunk]
    at_once = _answers(kernels, x)
    assert at_once == _answers(kernels, x)
    rows = [kernels.rows(row, _unknown(1))[0][0].tolist() for row in x]
    assert at_once[:-1] == rows


def test_rows_may_be_narrower_than_the_room_for_them() -> None:
    x, labels = _pictures(60, MANY - 10, 3)
    kernels = Kernels(member(), MANY, 3)
    kernels.rows(x[:30], labels[:30])
    rows = [kernels.rows(row, _unknown(1))[0][0].tolist() for row in x]
    assert _answers(kernels, x)[:-1] == rows


def test_pairs_are_sorted_by_machine() -> None:
    near = np.array([[3, 0], [0, 4], [3, 4]])
    by_machine, ends = np.zeros((2, 6), dtype=np.int64), np.full(5, 7)
    sort_by_machine(near, 3, 2, by_machine, ends)
    assert ends.tolist() == [2, 2, 2, 4, 6]
    assert by_machine.T.tolist() == [[0, 1], [1, 0], [0, 0], [2, 0], [1, 1], [2, 1]]


def test_anchors_have_such_a_kernel() -> None:
    assert member().kernels.together is together.run
