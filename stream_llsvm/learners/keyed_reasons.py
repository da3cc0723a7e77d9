"""Why an answer about a key came out so: what the global model says, and what the key adds."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np

from stream_llsvm.kernels.surprise import FLOOR
from stream_llsvm.learners.base import LocalClassifier, Record
from stream_llsvm.model.bank import Bank
from stream_llsvm.model.explain import Explanation
from stream_llsvm.records.columns import field_of
from stream_llsvm.records.keys import Key


@dataclass(frozen=True)
class KeyedExplanation:
    """One prediction, taken apart into what the global model says and what the key adds.

    Attributes
    ----------
    label
        The label explained: the predicted one, unless another was asked for.
    score
        Its score: the probabilities are the softmax of the scores, which add up to zero.
    model_part
        What the global model adds: ``model_part + key_part == score``.
    key_part
        What the key adds: ``bias + sum(contributions) == key_part``; 0 for a key that is new.
    key
        The key.
    records
        How many records the key has had, up to 65,535.
    bias
        What the key adds whatever the record says.
    contributions
        What each field of the record adds for this key, beside what it adds for all.
    model
        How the global model's own score comes about.

    """

    label: Any
    score: float
    model_part: float
    key_part: float
    key: Key
    records: int
    bias: float
    contributions: dict[Any, float]
    model: Explanation


def explained(
    model: LocalClassifier, bank: Bank, key: Key, x: Record, label: Hashable
) -> KeyedExplanation:
    """Return how the score of a label comes about, for a record without its key.

    Raises
    ------
    ValueError
        If nothing has been learned yet, or the label is not known.

    """
    general = model.explain_one(x, label)
    memory, row = model._state, model._features.encode(x)
    assert memory is not None
    told = np.log(np.maximum(memory.one_proba[0], FLOOR))
    parts = bank.parts(row, told, key, standardize=model.standardize)
    part = parts[model._labels.code(general.label)]
    own = part.bias + sum(part.contributions.values())
    names = model._features.names
    fields: dict[Any, float] = {}
    for place, size in part.contributions.items():
        field = field_of(names[place])
        fields[field] = fields.get(field, 0.0) + size
    return KeyedExplanation(
        label=general.label,
        score=part.model + own,
        model_part=part.model,
        key_part=own,
        key=key,
        records=part.records,
        bias=part.bias,
        contributions=fields,
        model=general,
    )
