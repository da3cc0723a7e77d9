"""Who is ahead over several streams: mean ranks, and by how much they must differ."""

from __future__ import annotations

import math
from collections.abc import Mapping
from statistics import mean

from scipy.stats import rankdata, studentized_range

Scores = Mapping[str, Mapping[str, float]]


def mean_ranks(scores: Scores) -> dict[str, float]:
    """Return each learner's mean rank, the best first; `scores` is by stream, then by learner.

    Rank 1 is the highest score. Those that share a score share the mean of their ranks.
    """
    learners = list(next(iter(scores.values())))
    by_stream = [
        rankdata([-found[learner] for learner in learners]).tolist() for found in scores.values()
    ]
    columns = zip(*by_stream, strict=True)
    means = {name: mean(ranks) for name, ranks in zip(learners, columns, strict=True)}
    return dict(sorted(means.items(), key=lambda item: item[1]))


def critical_difference(learners: int, streams: int) -> float:
    """Return by how much two mean ranks must differ, at a level of 5 %, by Nemenyi's test.

    [^1]: Demsar. Statistical Comparisons of Classifiers over Multiple Data Sets. JMLR 2006.

    >>> round(critical_difference(learners=10, streams=7), 2)
    5.12
    """
    q = float(studentized_range.ppf(0.95, learners, math.inf)) / math.sqrt(2)
    return q * math.sqrt(learners * (learners + 1) / (6 * streams))
