"""A throw-away kind of member: one linear machine a class, by normalised least mean squares.

H_c  = w_c z + b_c                                   two classes: the difference of both
w_c += step ([c is the label] - H_c) z / (1 + z z)   b_c likewise, with 1 for z
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from stream_llsvm.kernels.chunk import Chunk, row_of
from stream_llsvm.kernels.compile import Array, Real, kernel, member_kernel
from stream_llsvm.kernels.linear import add_scaled, scores_of
from stream_llsvm.kernels.sections import scratch, state, views
from stream_llsvm.kernels.vectors import square_of


class ToyState(NamedTuple):
    """What a toy member keeps, by name."""

    first_expert: int
    weights: Annotated[Array, state("f4", "classes", "width")]
    biases: Annotated[Array, state("f4", "classes")]
    step: Annotated[Array, state("f8", 1)]
    heights: Annotated[Array, scratch("f4", "classes")]


@member_kernel
def run(state: Array, scratch: Array, plan: Array, member: int, chunk: Chunk) -> None:
    """Score each row, then learn from it if it has a label."""
    m = views(ToyState, state, scratch, plan, member)
    for q in range(chunk.labels.size):
        x, at = row_of(chunk, q)
        out, heights = chunk.scores[q, m.first_expert], m.heights
        if not chunk.scored or chunk.labels[q] >= 0:
            scores_of(m.weights, x, at, heights)
            for c in range(heights.size):
                heights[c] += m.biases[c]
        if not chunk.scored:
            for c in range(out.size):
                out[c] = heights[c]
            if out.size == 1:
                out[0] = (heights[1] if heights.size > 1 else np.float32(0)) - heights[0]
        if chunk.labels[q] >= 0:
            learn(m, x, at, chunk.labels[q], chunk.importance[q])


@kernel
def learn(m: ToyState, x: Array, at: Array, label: int, importance: Real) -> None:
    """Take one step towards 1 for the label and 0 for the others."""
    pace = min(1.0, m.step[0] * importance) / (1 + square_of(x))
    for c in range(m.biases.size):
        target = np.float32(1) if c == label else np.float32(0)
        push = np.float32(pace * (target - m.heights[c]))
        add_scaled(m.weights[c], x, at, push)
        m.biases[c] += push
