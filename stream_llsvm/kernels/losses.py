"""How far each score is pushed by a label: the negative derivative of the loss.

With one column (two classes) the label is -1 or +1, and the hinge is max(0, 1 - y f), SAPL(4). With
more, "ovr" asks each class's score for its own margin, SAPL(21); "crammer_singer" asks the true
class to beat the runner-up (Crammer & Singer), or is the softmax's cross-entropy for the logistic
loss. The squared hinge is Huber's: quadratic up to a margin violation of one, linear beyond, so
that no record can push without bound.
"""

from __future__ import annotations

import math

import numpy as np

from stream_llsvm.kernels.compile import Array, Real, kernel
from stream_llsvm.kernels.linear import greatest
from stream_llsvm.kernels.vectors import exponentials

HINGE, SQUARED_HINGE, LOGISTIC = range(3)
LOSSES = {"hinge": HINGE, "squared_hinge": SQUARED_HINGE, "logistic": LOGISTIC}
OVR, CRAMMER_SINGER = range(2)
MULTICLASS = {"ovr": OVR, "crammer_singer": CRAMMER_SINGER}


@kernel
def push_of(loss: int, margin: Real) -> Real:
    """-d loss / d margin, where margin = y * score."""
    one = np.float32(1)
    if loss == HINGE:
        return one if margin < one else np.float32(0)
    if loss == SQUARED_HINGE:
        return min(max(one - margin, np.float32(0)), one)
    push = one / (one + math.exp(min(margin, np.float32(30))))
    return push if push >= np.float32(0.01) else np.float32(0)


@kernel
def pushes(loss: int, multiclass: int, scores: Array, label: int, out: Array) -> bool:
    """Fill out[c] with -d loss / d scores[c]; true when any is not zero."""
    columns = scores.size
    if columns > 1 and multiclass == CRAMMER_SINGER:
        return _joint(loss, scores, label, out)
    any_push = False
    for c in range(columns):
        positive = label == c if columns > 1 else label == 1
        y = np.float32(1) if positive else np.float32(-1)
        out[c] = y * push_of(loss, y * scores[c])
        any_push |= out[c] != 0
    return any_push


@kernel
def _joint(loss: int, scores: Array, label: int, out: Array) -> bool:
    columns = scores.size
    if loss == LOGISTIC:
        exponentials(out, scores, greatest(scores))
        total = np.float32(0)
        for c in range(columns):
            total += out[c]
        for c in range(columns):
            out[c] = -out[c] / total
        out[label] += np.float32(1)
        any_push = False
        for c in range(columns):
            if abs(out[c]) < np.float32(0.01):
                out[c] = np.float32(0)
            else:
                any_push = True
        return any_push
    rival = -1
    for c in range(columns):
        out[c] = np.float32(0)
        if c != label and (rival < 0 or scores[c] > scores[rival]):
            rival = c
    push = push_of(loss, scores[label] - scores[rival])
    out[label] = push
    out[rival] = -push
    return push != 0
