"""Answers -> results: what is written of each prediction, and by which model it was made."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import accumulate, repeat

from stream_llsvm.connectors.base import Batch, Result
from stream_llsvm.engine.learner import Answers
from stream_llsvm.version import __version__


def results_of(
    batch: Batch,
    answers: Answers,
    time: float,
    learned: Iterable[int | None],
    age: float | None = None,
) -> list[Result]:
    """Return a result for each record that the model did not refuse.

    Parameters
    ----------
    batch, answers
        The records, and what was predicted of each.
    time
        When that was, in seconds.
    learned
        How many records the model had learned before each of them.
    age
        How old the model is, in seconds, if it does not learn.

    """
    none = repeat(None)
    probability: Iterable[float | None] = none
    if answers.sure is not None:
        probability = [
            None if label is None else sure
            for label, sure in zip(answers.labels, answers.sure.tolist(), strict=True)
        ]
    columns = zip(
        batch.places, batch.keys or none, batch.labels, answers.labels, probability,
        answers.probabilities or none, repeat(time), repeat(__version__), learned,
        repeat(age), answers.decided or none,
        strict=False,
    )  # fmt: skip
    results = list(map(Result._make, columns))
    if answers.refused:
        return [one for i, one in enumerate(results) if i not in answers.refused]
    return results


def learned_before(batch: Batch, answers: Answers, before: int) -> Iterable[int]:
    """Return how many records had been learned before each of a batch, as many before the first."""
    if answers.given is not None:  # every one was learned
        return range(before, before + len(batch))
    weights = repeat(1.0) if batch.weights is None else batch.weights.tolist()
    taught = (
        label is not None and weight > 0 and i not in answers.refused
        for i, (label, weight) in enumerate(zip(batch.labels, weights, strict=False))
    )
    return accumulate(taught, initial=before)
