"""Counting which predictions were right: the compiled loop behind the scores."""

from __future__ import annotations

from collections.abc import Callable
from math import log
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from stream_llsvm.kernels.cache import kept

#: What is counted of a record: whether the model was right, whether the majority class and the last
#: label would have been, how likely the model held its answer, and the log loss. Here, beside the
#: loop that has them compiled into it.
MODEL, MAJORITY, LAST, SURE, LOSS, COUNTED = 0, 1, 2, 3, 4, 5
#: How sure answers are is counted in so many equal bins; of labelled ones how many there were, how
#: likely they were held together, and how many were right.
BINS = 20
HELD, RIGHT, RELIABILITY = 1, 2, 3

#: A truth that was held impossible counts as this likely.
FLOOR = 1e-15


def _compiled(function: Callable[..., Any]) -> Any:
    return kept(function, Path(__file__))


@_compiled
def tally(
    block: tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]],
    begun: int,
    last: int,
    fade: float,
    classes: tuple[NDArray[Any], NDArray[Any]],
    totals: tuple[NDArray[Any], NDArray[Any], NDArray[Any]],
    rings: tuple[NDArray[Any], NDArray[Any]],
) -> int:
    """Count a block of records, by a compiled loop; return how many of them were scored.

    One without an answer is not: all that counts then is that its class came once more.

    Parameters
    ----------
    block
        Each record's class, the predicted one (-1: none), and the probabilities of the truth and
        of the answer.
    begun, last
        How many records were scored before, and the class of the last one.
    fade
        What a record still counts when another has come.
    classes
        How many of each class there were, and of each pair of class and answer; updated.
    totals
        Sums of each kind, over all records and fading, and by how sure the answers were; updated.
    rings
        Of the last records: class and answer, and each kind; updated.

    """
    truth, predicted, p_truth, sure = block
    (counts, confusion), (recent, recent_hits) = classes, rings
    sums, fading, reliability = totals
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
            recent_hits[SURE, at] = held = min(max(sure[i], 0.0), 1.0)
            recent_hits[LOSS, at] = -log(max(p_truth[i], FLOOR))
            bin_ = min(int(held * BINS), BINS - 1)
            reliability[0, bin_] += 1
            reliability[HELD, bin_] += held
            reliability[RIGHT, bin_] += is_ == told
            for kind in range(COUNTED):
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


@_compiled
def tally_answers(
    block: tuple[NDArray[Any], NDArray[Any]],
    begun: int,
    fade: float,
    rings: tuple[NDArray[Any], NDArray[Any]],
    totals: tuple[NDArray[Any], NDArray[Any], NDArray[Any]],
) -> int:
    """Count answers whose labels may never come, by a compiled loop; return how many there were.

    Parameters
    ----------
    block
        Each record's answer (-1: none), and how likely the model held it.
    begun
        How many answers there were before.
    fade
        What an answer still counts when another has come.
    rings
        Of the last answers: class, and how likely; updated.
    totals
        Of how likely they were: the sum, the fading sum and its weight; how often each class was
        answered; and how many answers were how sure; updated.

    """
    (codes, sure), (recent, recent_sure), (sums, counts, bins) = block, rings, totals
    window = len(recent)
    told = 0
    for i in range(len(codes)):
        if codes[i] < 0:
            continue
        at = (begun + told) % window
        held = min(max(sure[i], 0.0), 1.0)
        recent[at], recent_sure[at] = codes[i], held
        sums[0] += held
        sums[1] = fade * sums[1] + held
        sums[2] = fade * sums[2] + 1.0
        counts[codes[i]] += 1
        bins[min(int(held * BINS), BINS - 1)] += 1
        told += 1
    return told


#: What is counted of a number: the model's absolute and squared error, the absolute errors of the
#: mean of the labels so far and of the last label, and the label, whose variance is SPREAD.
ABSOLUTE, SQUARED, BY_MEAN, BY_LAST, SPREAD, COUNTED_NUMBERS = 0, 1, 2, 3, 4, 5
LABEL = SPREAD
#: What is known of the labels: of all the number, the mean and the last; of those that were scored
#: the mean and the sum of squares around it; the same fading, and how many those count as.
SEEN, MEAN, LATEST, OWN, OWN_SQUARES, FADED, FADED_MEAN, FADED_SQUARES, MOMENTS = range(9)
#: Errors and labels beyond this count as that far, so that the square of each is finite.
FURTHEST = 1e140
#: The errors that a drift detector watches are whole numbers up to this.
LEVELS = 255


@_compiled
def tally_numbers(
    block: tuple[NDArray[Any], NDArray[Any]],
    begun: int,
    fade: float,
    moments: NDArray[Any],
    totals: tuple[NDArray[Any], NDArray[Any]],
    recent: NDArray[Any],
    spreads: NDArray[Any],
) -> int:
    """Count a block of records with numbers, by a compiled loop; return how many were scored.

    One without an answer is not: its label only counts to the mean so far.

    Parameters
    ----------
    block
        Each record's label, and the number that was told (NaN: none).
    begun
        How many records were scored before.
    fade
        What a record still counts when another has come.
    moments
        What is known of the labels; updated.
    totals
        Sums of each kind, over all records and fading; updated.
    recent
        Each kind of the last records; updated.
    spreads
        Filled with one standard deviation of the latest labels before each record.

    """
    (truth, told), (sums, fading) = block, totals
    window = recent.shape[1]
    scored = 0
    for i in range(len(truth)):
        label = min(max(truth[i], -FURTHEST), FURTHEST)
        if told[i] == told[i]:
            at = (begun + scored) % window
            error = min(abs(truth[i] - told[i]), FURTHEST)
            recent[ABSOLUTE, at], recent[SQUARED, at] = error, error * error
            recent[BY_MEAN, at] = min(abs(label - moments[MEAN]), FURTHEST)
            recent[BY_LAST, at] = min(abs(label - moments[LATEST]), FURTHEST)
            recent[LABEL, at] = label
            for kind in range(SPREAD):
                sums[kind] += recent[kind, at]
                fading[kind] = fade * fading[kind] + recent[kind, at]
            spreads[i] = (moments[FADED_SQUARES] / max(moments[FADED], 1.0)) ** 0.5
            scored += 1
            before = label - moments[OWN]
            moments[OWN] += before / (begun + scored)
            moments[OWN_SQUARES] += before * (label - moments[OWN])
            before = label - moments[FADED_MEAN]
            weight = fade * moments[FADED]
            moments[FADED] = weight + 1
            moments[FADED_MEAN] += before / moments[FADED]
            moments[FADED_SQUARES] *= fade
            moments[FADED_SQUARES] += before * before * (weight / moments[FADED])
        moments[SEEN] += 1
        moments[MEAN] += (label - moments[MEAN]) / moments[SEEN]
        moments[LATEST] = label
    return scored
