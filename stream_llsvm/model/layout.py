"""Where everything of a model lies: the plan, made of the sections that its members declare."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.kernels import plan as at
from stream_llsvm.kernels.dispatch import number_of
from stream_llsvm.kernels.judge import JUDGE_ONE_IN
from stream_llsvm.kernels.metric import PERIOD
from stream_llsvm.kernels.piece_loops import PIECE
from stream_llsvm.kernels.pieces import most_pieces
from stream_llsvm.kernels.run import SharedState
from stream_llsvm.kernels.scaling import MANY
from stream_llsvm.kernels.sections import Section, flat_sections_of, own_sizes
from stream_llsvm.members.base import Member, Shape

BYTES = {"f4": 4, "f8": 8, "i4": 4, "i8": 8}
WORD = 8
CACHE_LINE = 8  # words
_CHUNK_FLOATS = 131_072  # scaled rows of one chunk: 512 kB, so that they stay in cache
_LONGEST_CHUNK = 256
_MOST_KEPT = 2**14
# Predictions that may wait for their labels: so many, and at most twice what the model needs.
_MOST_FORETOLD, _FORETOLD_WORDS = 4_096, 2**18
# A dimension that depends on how large all the rest is.
_WAITS = "n_foretold"


class Place(NamedTuple):
    """Where a section lies: its first word, how many values of what type, and in which block."""

    start: int
    size: int
    type: str
    extent: tuple[int, ...]
    where: str


class Layout(NamedTuple):
    """The plan for the kernels, the sections' places by row of it, and the blocks' lengths."""

    plan: NDArray[np.int64]
    places: list[dict[str, Place]]
    words: dict[str, int]


def zeros_on_lines(words: int) -> NDArray[np.float64]:
    """Return zeros that begin where a line of the processor's cache does, as sections do.

    Numpy's own begin anywhere: each vector would lie in two lines, and be read in twice the time.
    """
    zeros = np.zeros(words + CACHE_LINE)
    first = -zeros.ctypes.data // WORD % CACHE_LINE
    return zeros[first : first + words]


def _waiting(words: int, scores: int) -> int:
    """Return how many predictions of so many scores may wait: a power of two."""
    most = 2 * min(words, _FORETOLD_WORDS) // max(1, scores)
    return 1 << max(0, min(most, _MOST_FORETOLD).bit_length() - 1)


def laid_out(
    members: Sequence[Member],
    shapes: Sequence[Shape],
    n_classes: int,
    *,
    standardize: bool,
    budget: int,
) -> Layout:
    """Lay out a model of these members.

    With room for so many features and columns of scores: of the model, and of each of the members.
    A model that grows is laid out several times alike: whether it fits, and then to be made.
    """
    made = _laid_out(tuple(members), tuple(shapes), n_classes, standardize, budget)
    return made._replace(plan=made.plan.copy())  # its owner writes choices into it


@lru_cache(maxsize=16)
def _laid_out(
    members: tuple[Member, ...],
    shapes: tuple[Shape, ...],
    n_classes: int,
    standardize: bool,
    budget: int,
) -> Layout:
    width, columns = shapes[0]
    local = min(own for own, _ in shapes)
    dense = width if local == width else 0  # capped members see no dense rows
    chunk = min(_LONGEST_CHUNK, max(1, _CHUNK_FLOATS // max(1, width)))
    experts = [member.experts(*shape) for member, shape in zip(members, shapes[1:], strict=True)]
    counted = sum(n for n, m in zip(experts, members, strict=True) if not m.comes_on_top)
    often = sum(
        n
        for n, m in zip(experts, members, strict=True)
        if not m.comes_on_top and not m.seldom_speaks
    )
    model = {
        "width": width,
        "local_width": local,
        "dense_width": dense,
        "most_kept": min(width, _MOST_KEPT),
        "classes": n_classes,
        "columns": columns,
        "all_experts": sum(experts),
        "counted_experts": counted,
        "paced_experts": max(1, often or counted),
        "all_members": len(members),
        "chunk": chunk,
        "chunk_ends": chunk + 1,
        "judged_rows": chunk // JUDGE_ONE_IN + 1,
        "standardize": int(standardize),
        "learn_scales": 1,
        "learn_members": 1,
        "learn_mixer": 1,
        "redraws": chunk // PERIOD + 2,
        "budget": budget,
        "stage": at.ALL_STAGES,
        "keep": 1,
        "packed_rows": chunk if dense >= MANY and any(m.reads_pieces for m in members) else 0,
        "most_pieces": most_pieces(dense),
        "most_packed": most_pieces(dense) * PIECE,
    }
    plan = np.zeros((1 + len(members), at.PLAN_WIDTH), dtype=np.int64)
    words = {"state": 0, "scratch": 0}
    places: list[dict[str, Place]] = [{} for _ in range(1 + len(members))]

    def put(
        row: int, j: int, section: Section, flat: tuple[int | str, ...], sizes: dict[str, int]
    ) -> None:
        extent = tuple(n if isinstance(n, int) else sizes[n] for n in flat)
        count, where = prod(extent), section.where
        plan[row, at.FIRST_SECTION + j] = words[where]
        places[row][section.name] = Place(words[where], count, section.type, extent, where)
        lines = -(-count * BYTES[section.type] // (WORD * CACHE_LINE))
        words[where] += lines * CACHE_LINE

    first = 0
    for row, section_kind in enumerate([SharedState, *(m.state for m in members)]):
        sizes = dict(model)
        if row > 0:
            member, own, shape = members[row - 1], experts[row - 1], shapes[row]
            sizes |= member.sizes(*shape) | {
                "width": shape[0],
                "kind": number_of(member.kernels),
                "metric": member.metric,
                "first_expert": first,
                "experts": own,
                "cost": member.cost(*shape),
                "price": member.price(*shape) if own > 0 else 0,
            }
            first += own
            named = at.MEMBER_COLUMNS | own_sizes(section_kind)
        else:
            named = at.MODEL_COLUMNS
        for name, column in named.items():
            plan[row, column] = sizes.get(name, 0)
        for j, (section, flat) in enumerate(flat_sections_of(section_kind)):
            if _WAITS not in flat:
                put(row, j, section, flat, sizes)
    foretold = _waiting(2 * words["state"], sum(experts) * columns)
    plan[0, at.MODEL_ROW.n_foretold] = foretold
    for j, (section, flat) in enumerate(flat_sections_of(SharedState)):
        if _WAITS in flat:
            put(0, j, section, flat, model | {_WAITS: foretold})
    return Layout(plan, places, words)
