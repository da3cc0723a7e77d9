"""Where everything of a model lies: the plan, made of the sections that its members declare."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.kernels import plan as at
from stream_llsvm.kernels.dispatch import number_of
from stream_llsvm.kernels.metric import PERIOD
from stream_llsvm.kernels.piece_loops import PIECE
from stream_llsvm.kernels.pieces import most_pieces
from stream_llsvm.kernels.run import SharedState
from stream_llsvm.kernels.scaling import MANY
from stream_llsvm.kernels.sections import Section, own_sizes, sections_of
from stream_llsvm.members.base import Member, Shape

BYTES = {"f4": 4, "f8": 8, "i8": 8}
WORD = 8
CACHE_LINE = 8  # words
_CHUNK_FLOATS = 131_072  # scaled rows of one chunk: 512 kB, so that they stay in cache
_LONGEST_CHUNK = 256
# Predictions that may wait for their labels: so many, and at most twice what the model needs.
_MOST_FORETOLD, _FORETOLD_WORDS = 4_096, 2**18


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
    members: Sequence[Member], shape: Shape, n_classes: int, *, standardize: bool, budget: int
) -> Layout:
    """Lay out a model of these members, with room for so many features and columns of scores."""
    width, columns = shape
    chunk = min(_LONGEST_CHUNK, max(1, _CHUNK_FLOATS // max(1, width)))
    experts = [member.experts(*shape) for member in members]
    counted = sum(n for n, m in zip(experts, members, strict=True) if not m.comes_on_top)
    model = {
        "width": width,
        "classes": n_classes,
        "columns": columns,
        "all_experts": sum(experts),
        "counted_experts": counted,
        "all_members": len(members),
        "chunk": chunk,
        "chunk_ends": chunk + 1,
        "standardize": int(standardize),
        "learn_scales": 1,
        "learn_members": 1,
        "learn_mixer": 1,
        "redraws": chunk // PERIOD + 2,
        "budget": budget,
        "stage": at.ALL_STAGES,
        "keep": 1,
        "packed_rows": chunk if width >= MANY and any(m.reads_pieces for m in members) else 0,
        "most_pieces": most_pieces(width),
        "most_packed": most_pieces(width) * PIECE,
    }
    plan = np.zeros((1 + len(members), at.PLAN_WIDTH), dtype=np.int64)
    words = {"state": 0, "scratch": 0}
    places: list[dict[str, Place]] = [{} for _ in range(1 + len(members))]

    def put(row: int, j: int, section: Section, sizes: dict[str, int]) -> None:
        extent = tuple(n if isinstance(n, int) else sizes[n] for n in section.flat_dimensions)
        count, where = prod(extent), section.where
        plan[row, at.FIRST_SECTION + j] = words[where]
        places[row][section.name] = Place(words[where], count, section.type, extent, where)
        lines = -(-count * BYTES[section.type] // (WORD * CACHE_LINE))
        words[where] += lines * CACHE_LINE

    def waits(section: Section) -> bool:
        """Whether its size depends on how large the model is."""
        return "n_foretold" in section.flat_dimensions

    first = 0
    for row, section_kind in enumerate([SharedState, *(m.state for m in members)]):
        sizes = dict(model)
        if row > 0:
            member, own = members[row - 1], experts[row - 1]
            sizes |= member.sizes(*shape) | {
                "kind": number_of(member.kernels),
                "metric": member.metric,
                "first_expert": first,
                "experts": own,
                "cost": member.cost(*shape),
            }
            first += own
            named = at.MEMBER_COLUMNS | own_sizes(section_kind)
        else:
            named = at.MODEL_COLUMNS
        for name, column in named.items():
            plan[row, column] = sizes.get(name, 0)
        for j, section in enumerate(sections_of(section_kind)):
            if not waits(section):
                put(row, j, section, sizes)
    foretold = _waiting(2 * words["state"], sum(experts) * columns)
    plan[0, at.MODEL_ROW.n_foretold] = foretold
    for j, section in enumerate(sections_of(SharedState)):
        if waits(section):
            put(0, j, section, model | {"n_foretold": foretold})
    return Layout(plan, places, words)
