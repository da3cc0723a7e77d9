"""Linear machines by Pegasos, one a class against the rest, or one for a number.

``steps.py`` has the equations.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

from stream_llsvm.kernels.chunk import Chunk, row_of
from stream_llsvm.kernels.compile import Array, member_kernel
from stream_llsvm.kernels.sections import scratch, state, views
from stream_llsvm.kernels.surprise import STEP_CLOCKS
from stream_llsvm.members.family.pegasos.steps import HEAD, SEEN, learn, score_row

#: No score is greater: it would not fit into what the mixer takes.
GREATEST = 10**15


class PegasosState(NamedTuple):
    """What a Pegasos member keeps, by name."""

    columns: int
    first_expert: int
    loss: int
    batch_size: int
    projection: int
    forgets: int
    #: Running figures and settings, see ``steps.py``.
    head: Annotated[Array, state("f8", HEAD)]
    #: How far its losses surprise it, and how many steps are forgotten: ``kernels/surprise.py``.
    clock: Annotated[Array, state("f8", STEP_CLOCKS)]
    #: Each machine's scale and |w|^2; never negative, so no ``columns``, which two classes share.
    scale: Annotated[Array, state("f8", "machines")]
    norm: Annotated[Array, state("f8", "machines")]
    bias: Annotated[Array, state("f8", "columns")]
    weights: Annotated[Array, state("f8", "columns", "width")]
    #: What the batch that is held will add.
    slope_bias: Annotated[Array, state("f8", "columns")]
    slope: Annotated[Array, state("f8", "columns", "width")]
    score: Annotated[Array, scratch("f8", "columns")]


@member_kernel
def run(state: Array, scratch: Array, plan: Array, member: int, chunk: Chunk) -> None:
    """Score each row, then learn from it if it has a label, or a number."""
    m = views(PegasosState, state, scratch, plan, member)
    for q in range(chunk.labels.size):
        x, at = row_of(chunk, q)
        score_row(m, x, at, m.score)
        out = chunk.scores[q, m.first_expert]
        for c in range(out.size):
            out[c] = min(max(m.score[c], -GREATEST), GREATEST)
        if chunk.labels[q] >= 0:
            m.head[SEEN] += 1
            y = chunk.targets[q] if chunk.targets.size > 0 else float(chunk.labels[q])
            learn(m, x, at, m.score, y, chunk.importance[q])
