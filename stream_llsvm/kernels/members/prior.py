"""The prior: how often each class has come of late, whatever the record says.

    H_c      = share_c                                     two classes: the difference of both
    share_c += ([c is the label] - share_c) / reach        at first 0

Two reaches, two experts. Where labels come in runs, what came last tells of what comes next; and
since the mixer may trust an expert less than not at all, it can also take away what the other
members have made of that. The prior knows only labels that have come: where these are late, the
mixer learns from the shares as they were when the record was predicted.
"""

from __future__ import annotations

import numpy as np

from stream_llsvm.kernels.jit import Array, kernel
from stream_llsvm.kernels.state import CLASSES, FIRST_EXPERT, FIRST_SECTION
from stream_llsvm.kernels.views import doubles, floats

EXPERTS = 2

LAYOUT = (
    ("reaches", "f8", (EXPERTS,), "state"),
    ("shares", "f4", (EXPERTS, "classes"), "state"),
)


@kernel
def run(
    state: Array,
    plan: Array,
    member: int,
    labels: Array,
    importance: Array,
    scored: bool,
    scores: Array,
) -> None:
    """Score each row, then learn from it if it has a label."""
    row, classes = plan[member], plan[0, CLASSES]
    first = row[FIRST_EXPERT]
    o = row[FIRST_SECTION:]
    reaches = doubles(state, o[0], EXPERTS)
    shares = floats(state, o[1], (EXPERTS, classes))
    for q in range(labels.size):
        for e in range(EXPERTS):
            own, out = shares[e], scores[q, first + e]
            if not scored:
                for c in range(out.size):
                    out[c] = own[c]
                if out.size == 1:
                    out[0] = (own[1] if classes > 1 else np.float32(0)) - own[0]
            if labels[q] >= 0:
                pace = np.float32(min(1.0, importance[q] / reaches[e]))
                for c in range(classes):
                    own[c] -= pace * own[c]
                own[labels[q]] += pace
