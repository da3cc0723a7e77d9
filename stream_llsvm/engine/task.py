"""What a model learns: classes or numbers. Which scores there are follows from that."""

from __future__ import annotations

from dataclasses import replace
from math import inf, isfinite, isnan, nan
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np
from river import base

from stream_llsvm.connectors.base import Batch, Rejected
from stream_llsvm.learners.pipeline import learner_in
from stream_llsvm.records.values import as_number

if TYPE_CHECKING:
    from stream_llsvm.connectors.values import Values

Task = Literal["classification", "regression"]
CLASSIFICATION: Final = "classification"
REGRESSION: Final = "regression"


def task_of(model: object) -> Task:
    """Return what a model learns. Raises TypeError if it is no model that a stream can teach.

    Examples
    --------
    >>> from stream_llsvm import LLSVMRegressor, SAPLClassifier
    >>> task_of(LLSVMRegressor()), task_of(SAPLClassifier())
    ('regression', 'classification')

    """
    if not isinstance(model, type):
        if isinstance(learner_in(model), base.Regressor):
            return REGRESSION
        if hasattr(learner_in(model), "predict_proba_one"):
            return CLASSIFICATION
    got = " ".join(repr(model).split())
    raise TypeError(
        "the model is a classifier or a regressor, such as SAPLClassifier() or LLSVMRegressor(); "
        f"{got} is neither"
    )


def with_numbers(batch: Batch, values: Values | None = None) -> Batch:
    """Return a batch whose labels are floats; records whose label is no number are rejected in it.

    Parameters
    ----------
    batch
        The records.
    values
        How text becomes a number, and what stands for a missing one; as usual if None.

    Examples
    --------
    >>> from stream_llsvm.connectors.base import Place
    >>> from stream_llsvm.connectors.values import Values
    >>> places = [Place("wind.csv", None, line) for line in (2, 3, 4)]
    >>> batch = Batch(["1,5", "calm", None], places, {}, keys=[7, 8, 9], records=[{}, {}, {}])
    >>> read = with_numbers(batch, Values(decimal=","))
    >>> read.labels, read.keys, [str(one.place) for one in read.rejected]
    ([1.5, None], [7, 9], ['wind.csv:3'])

    """
    if all(type(label) is float and isfinite(label) for label in batch.labels):
        return batch
    from stream_llsvm.connectors.values import Bad, Values  # late: it brings what reads text

    values = values or Values()
    labels: list[float | None] = []
    kept: list[int] = []
    rejected = list(batch.rejected)
    for i, label in enumerate(batch.labels):
        try:
            number = _number(label, values)
        except Bad as bad:
            rejected.append(Rejected(batch.places[i], bad.reason, bad.detail, b""))
            continue
        labels.append(None if isnan(number) else number)
        kept.append(i)
    if len(kept) == len(batch):
        return replace(batch, labels=labels)
    return replace(
        batch,
        labels=labels,
        places=[batch.places[i] for i in kept],
        values=None if batch.values is None else batch.values[kept],
        records=None if batch.records is None else [batch.records[i] for i in kept],
        keys=None if batch.keys is None else [batch.keys[i] for i in kept],
        weights=None if batch.weights is None else batch.weights[kept],
        times=None if batch.times is None else batch.times[kept],
        rejected=rejected,
    )


def _number(label: Any, values: Values) -> float:
    """Return a label as a finite number, NaN if it is missing. Raises Bad."""
    from stream_llsvm.connectors.values import Bad, shown

    if isinstance(label, np.generic):
        label = label.item()
    try:
        number = values.number_from("", label) if isinstance(label, str) else as_number("", label)
    except (Bad, ValueError):
        number = inf
    if number == inf:
        raise Bad("odd label", f"{shown('label', label)} is not a finite number")
    return nan if number in values.sentinels else number
