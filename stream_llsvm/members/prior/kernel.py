"""The prior: how often each class has come of late, whatever the record says.

    H_c      = share_c                                     two classes: the difference of both
    share_c += ([c is the label] - share_c) / reach        at first 0

Two reaches, two experts. Where labels come in runs, what came last tells of what comes next; and
since the mixer may trust an expert less than not at all, it can also take away what the other
members have made of that. The prior knows only labels that have come: where these are late, the
mixer learns from the shares as they were when the record was predicted.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from stream_llsvm.kernels.chunk import Chunk
from stream_llsvm.kernels.compile import Array, member_kernel
from stream_llsvm.kernels.sections import state, views

EXPERTS = 2


class PriorState(NamedTuple):
    """What a prior member keeps, by name."""

    classes: int
    first_expert: int
    reaches: Annotated[Array, state("f8", EXPERTS)]
    shares: Annotated[Array, state("f4", EXPERTS, "classes")]


@member_kernel
def run(state: Array, scratch: Array, plan: Array, member: int, chunk: Chunk) -> None:
    """Score each row, then learn from it if it has a label."""
    m = views(PriorState, state, scratch, plan, member)
    for q in range(chunk.labels.size):
        label = chunk.labels[q]
        for e in range(EXPERTS):
            own, out = m.shares[e], chunk.scores[q, m.first_expert + e]
            if not chunk.scored:
                for c in range(out.size):
                    out[c] = own[c]
                if out.size == 1:
                    out[0] = (own[1] if m.classes > 1 else np.float32(0)) - own[0]
            if label >= 0:
                pace = np.float32(min(1.0, chunk.importance[q] / m.reaches[e]))
                for c in range(m.classes):
                    own[c] -= pace * own[c]
                own[label] += pace
