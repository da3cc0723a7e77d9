"""Every kind of member, and committees of them, step by step beside the oracle."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from stream_llsvm.kernels.metric import PERIOD
from stream_llsvm.kernels.scaling import ABSENT
from stream_llsvm.members.base import Member
from stream_llsvm.members.ferns import kernel
from stream_llsvm.members.waves import kernel as waves
from tests.oracle import Oracle
from tests.oracle_compare import (
    ADDITIVE,
    COMMITTEES,
    CONTEXTS,
    FERNS,
    MEMORIES,
    PRIORS,
    TREES,
    WAVES,
    Kernels,
    both_learn,
    ferns,
    remembered,
    stream,
    synced,
)
from tests.oracle_parts import Array

Members = Member | tuple[Member, ...]

NEW: dict[str, Members] = {
    **ADDITIVE,
    **MEMORIES,
    **FERNS,
    **PRIORS,
    **WAVES,
    **CONTEXTS,
    **TREES,
    **COMMITTEES,
}


def _step_by_step(
    of: Members, width: int, classes: int, rows: Array, labels: NDArray[np.int64]
) -> Kernels:
    """Let both learn the rows, the oracle brought to the kernel's state before each."""
    kernels, oracle = Kernels(of, width, classes), Oracle(of, width, classes)
    w = np.random.default_rng(4).choice([0.3, 1.0, 2.5], size=len(rows))
    for row, label, weight in zip(rows, labels, w, strict=True):
        synced(oracle, kernels)
        both_learn(kernels, oracle, row, int(label), weight, tolerance=1e-3)
    return kernels


@pytest.mark.parametrize("classes", [1, 2, 4])
@pytest.mark.parametrize("name", NEW)
def test_every_step_of_a_stream_is_the_oracles(name: str, classes: int) -> None:
    """Long enough for the window to be full, the metric renewed and the ferns drawn."""
    x, labels = stream(3, 150, 5, classes, missing=0.05)
    x[::9, 3] = ABSENT
    assert len(x) > max(2 * PERIOD, kernel.FIRST_DRAW)
    _step_by_step(NEW[name], 5, classes, x, labels)


@pytest.mark.parametrize("classes", [2, 4])
def test_waves_that_are_not_eager_any_more_are_the_oracles(classes: int) -> None:
    """From then on only what surprises is learned."""
    x, labels = stream(5, waves.EAGER + 60, 4, classes)
    kernels = _step_by_step(WAVES["waves"], 4, classes, x, labels)
    assert kernels.own["running"][waves.SEEN] > waves.EAGER


@pytest.mark.parametrize("name", NEW)
def test_a_short_stream_runs_freely_beside_the_oracle(name: str) -> None:
    """Nothing but ties is copied from the kernel here, so this sees what no step would show."""
    x, labels = stream(11, 60, 5, 3, missing=0.05)
    kernels, oracle = Kernels(NEW[name], 5, 3), Oracle(NEW[name], 5, 3)
    for row, label in zip(x, labels, strict=True):
        both_learn(kernels, oracle, row, int(label), tolerance=2e-2)


@settings(max_examples=40)
@given(
    name=st.sampled_from(sorted(NEW)),
    rows=st.lists(
        st.tuples(
            st.integers(0, 2),
            *[st.one_of(st.floats(-3, 3, width=16), st.sampled_from([np.nan, ABSENT]))] * 3,
        ),
        min_size=2,
        max_size=8,
    ),
    copies=st.integers(1, 12),
    classes=st.integers(2, 3),
)
@example(  # a constant until the value that was missing comes, and then a record on the centre
    name="all",
    rows=[
        (0, 0.0, np.nan, 0.0),
        (0, 0.0, np.nan, 0.0),
        (0, 0.0, ABSENT, 0.0),
        (0, 0.0, 1.0, 0.0),
        (0, 0.0, 0.0, 0.0),
    ],
    copies=1,
    classes=2,
)
def test_free_form_records_are_learned_as_the_oracle_does(
    name: str, rows: list[tuple[float, ...]], copies: int, classes: int
) -> None:
    """Repeated records, constants, ties and gaps."""
    table = np.array(rows * copies, dtype=np.float64)
    _step_by_step(NEW[name], 3, classes, table[:, 1:], table[:, 0].astype(int) % classes)


# ---- ferns that are drawn anew


@pytest.mark.parametrize("of", [ferns(), (remembered(), ferns())], ids=["alone", "with memory"])
def test_the_least_useful_fern_is_drawn_anew(of: Members) -> None:
    """Features by what the memory's metric says of them, if there is a memory."""
    n = kernel.GRACE + 2 * PERIOD
    x, labels = stream(5, n, 4, 3)
    kernels, oracle = Kernels(of, 4, 3), Oracle(of, 4, 3)
    begun = kernel.GRACE - 3
    kernels.rows(x[:begun], labels[:begun])
    for row, label in zip(x[begun:], labels[begun:], strict=True):
        synced(oracle, kernels)
        both_learn(kernels, oracle, row, int(label), tolerance=1e-3)
    row_of_ferns = len(kernels.memory.members)
    born = kernels.memory.views(row_of_ferns)["facts"][kernel.BORN]
    assert np.count_nonzero(born) >= 2


# ---- growing


@pytest.mark.parametrize("after", [(3, 3), (3, 6), (6, 2), (9, 5)])
@pytest.mark.parametrize("name", NEW)
def test_a_grown_model_learns_on_as_the_oracle_does(name: str, after: tuple[int, int]) -> None:
    kernels, oracle = Kernels(NEW[name], 3, 2), Oracle(NEW[name], 3, 2)
    before = kernel.FIRST_DRAW + 10
    kernels.rows(*stream(2, before, 3, 2))
    synced(oracle, kernels)
    kernels.grow(*after)
    oracle.grow(*after)
    for i, (row, label) in enumerate(zip(*stream(3, 15, *after), strict=True)):
        if i > 0:  # the first one checks the growth itself
            synced(oracle, kernels)
        both_learn(kernels, oracle, row, int(label), tolerance=2e-3)
