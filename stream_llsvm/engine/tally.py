"""Counting which predictions were right: the compiled loop behind the scores."""

from __future__ import annotations

from collections.abc import Callable
from math import log
from pathlib import Path
from typing import Any

from numba import njit
from numpy.typing import NDArray

from stream_llsvm.kernels.cache import kept

#: What is counted of a record: whether the model was right, whether the majority class and the last
#: label would have been, and the log loss. Here, beside the loop that has them compiled into it.
MODEL, MAJORITY, LAST, LOSS, KINDS = 0, 1, 2, 3, 4

_FLOOR = 1e-15


def _compiled(function: Callable[..., Any]) -> Any:
    return kept(njit(nogil=True, error_model="numpy")(function), Path(__file__))


@_compiled
def tally(
    block: tuple[NDArray[Any], NDArray[Any], NDArray[Any]],
    begun: int,
    last: int,
    fade: float,
    classes: tuple[NDArray[Any], NDArray[Any]],
    totals: tuple[NDArray[Any], NDArray[Any]],
    rings: tuple[NDArray[Any], NDArray[Any]],
) -> int:
    """Count a block of records, by a compiled loop; return how many of them were scored.

    One without an answer is not: all that counts then is that its class came once more.

    Parameters
    ----------
    block
        Each record's class, the predicted one (-1: none), and the probability of the truth.
    begun, last
        How many records were scored before, and the class of the last one.
    fade
        What a record still counts when another has come.
    classes
        How many of each class there were, and of each pair of class and answer; updated.
    totals
        Sums of each kind, over all records and fading; updated.
    rings
        Of the last records: class and answer, and each kind; updated.

    """
    truth, predicted, p_truth = block
    (counts, confusion), (sums, fading), (recent, recent_hits) = classes, totals, rings
    window = recent.shape[1]
    majority = counts.argmax() if last >= 0 else -1
    scored = 0
    for i in range(len(truth)):
        is_, told = truth[i], predicted[i]
        if told >= 0:
            at = (begun + scored) % window
            recent[0, at], recent[1, at] = is_, told
            recent_hits[MODEL, at] = is_ == told
            recent_hits[MAJORITY, at] = is_ == majority
            recent_hits[LAST, at] = is_ == last
            recent_hits[LOSS, at] = -log(max(p_truth[i], _FLOOR))
            for kind in range(KINDS):
                sums[kind] += recent_hits[kind, at]
                fading[kind] = fade * fading[kind] + recent_hits[kind, at]
            confusion[is_, told] += 1
            scored += 1
        counts[is_] += 1
        # Of classes that are equally frequent, the first counts as the majority.
        ahead = -1 if majority < 0 else counts[is_] - counts[majority]
        if majority < 0 or ahead > 0 or (ahead == 0 and is_ < majority):
            majority = is_
        last = is_
    return scored
