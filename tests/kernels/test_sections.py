"""State by name: what a tuple declares is what kernels see, and what the block has room for."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import numpy as np
import pytest
from numba import njit

from stream_llsvm.kernels.compile import Array
from stream_llsvm.kernels.plan import FIRST_SECTION, MEMBER_ROW, MODEL_ROW, OWN, PLAN_WIDTH
from stream_llsvm.kernels.sections import own_sizes, scratch, sections_of, state, views

MANY = tuple(f"size_{i}" for i in range(FIRST_SECTION))


class Large(NamedTuple):
    """A member of too many sizes."""

    weights: Annotated[Array, state("f4", *MANY)]


class Shelf(NamedTuple):
    """A made-up member."""

    width: int
    shelves: int
    weights: Annotated[Array, state("f4", "shelves", ("copies", "width"))]
    counts: Annotated[Array, state("i8", 3)]
    dense: Annotated[Array, scratch("f8", "width")]


def laid_out() -> tuple[Any, Any, Any]:
    plan = np.zeros((2, PLAN_WIDTH), dtype=np.int64)
    plan[0, MODEL_ROW.width], plan[1, MEMBER_ROW.width] = 9, 5  # it is capped
    columns = own_sizes(Shelf)
    plan[1, columns["shelves"]], plan[1, columns["copies"]] = 4, 2
    plan[1, FIRST_SECTION : FIRST_SECTION + 3] = 8, 40, 16
    rng = np.random.default_rng(0)
    return rng.normal(size=64), rng.normal(size=32), plan


def test_sizes_and_sections_are_listed_in_their_order() -> None:
    assert list(own_sizes(Shelf)) == ["shelves", "copies"]
    assert min(own_sizes(Shelf).values()) == OWN
    assert [section.name for section in sections_of(Shelf)] == ["weights", "counts", "dense"]
    assert sections_of(Shelf)[0].flat_dimensions == ("shelves", "copies", "width")
    assert [section.where for section in sections_of(Shelf)] == ["state", "state", "scratch"]


def test_a_kernel_sees_what_python_sees() -> None:
    def seen(state: Array, scratch: Array, plan: Array) -> Shelf:
        shelf: Shelf = views(Shelf, state, scratch, plan, 1)
        shelf.counts[1] = 7
        return shelf

    blocks = laid_out()
    compile_it: Any = njit
    compiled = compile_it(seen)(*blocks)
    plain = views(Shelf, *blocks, 1)
    assert (plain.width, plain.shelves) == (compiled.width, compiled.shelves) == (5, 4)
    assert plain.weights.shape == (4, 10)
    assert plain.counts[1] == 7
    for name in ("weights", "counts", "dense"):
        ours, theirs = getattr(plain, name), getattr(compiled, name)
        assert ours.dtype == theirs.dtype
        assert np.shares_memory(ours, blocks[0]) or np.shares_memory(ours, blocks[1])
        assert ours.tobytes() == theirs.tobytes()


def test_a_kind_with_more_sizes_than_the_plan_is_refused() -> None:
    with pytest.raises(AssertionError, match="Large has more sizes than the plan"):
        own_sizes(Large)
