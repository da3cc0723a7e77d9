"""What people ask the model: checked first, since anybody may ask anything."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from river import base

from stream_llsvm.dashboard.copies import Copies
from stream_llsvm.dashboard.texts import distinct, shown
from stream_llsvm.learners.base import LocalClassifier

RECORDS = 1_000
_FEATURES = 100_000


class WrongQuestionError(Exception):
    """What was asked makes no sense; the text says why."""


def predict(copies: Copies, asked: Any) -> dict[str, Any]:
    """Return the label and the probabilities of each record."""
    records = _only(asked, "records").get("records")
    if not isinstance(records, list) or not 1 <= len(records) <= RECORDS:
        raise WrongQuestionError(f"records must be a list of 1 to {RECORDS:,} records")
    rows = [checked(record, f"record {i + 1}: ") for i, record in enumerate(records)]
    with copies.newest() as (model, learned):
        names = _names(model)
        told = [_predicted(model, {names.get(k, k): v for k, v in row.items()}) for row in rows]
    return {"records_learned": learned, "predictions": told}


def explain(copies: Copies, asked: Any) -> dict[str, Any]:
    """Return why a record is answered as it is, as the page shows it."""
    given = _only(asked, "record", "label")
    checked(given.get("record"))
    with copies.newest():
        raise WrongQuestionError("not yet")


def _predicted(model: base.Classifier, x: dict[Any, Any]) -> dict[str, Any]:
    try:
        proba = model.predict_proba_one(x)
    except (ValueError, TypeError, ArithmeticError, LookupError) as error:
        raise WrongQuestionError(shown(" ".join(str(error).split()))) from None
    texts = distinct(proba)
    sure = [p if math.isfinite(p) else None for p in map(float, proba.values())]
    best = max(range(len(texts)), key=lambda i: sure[i] or 0.0, default=None)
    label = None if best is None else texts[best]
    return {"label": label, "proba": dict(zip(texts, sure, strict=True))}


def _only(asked: Any, *known: str) -> dict[str, Any]:
    """Return what was asked if it is an object with no other names than these."""
    if not isinstance(asked, dict):
        raise WrongQuestionError("the body must be a JSON object")
    if unknown := set(asked) - set(known):
        raise WrongQuestionError(f"unknown: {shown(min(unknown))}; known: {', '.join(known)}")
    return asked


def checked(record: Any, where: str = "") -> dict[str, float]:
    """Return a record without what is missing in it."""
    if not isinstance(record, dict):
        raise WrongQuestionError(f"{where}a record must be an object of numbers by feature")
    if len(record) > _FEATURES:
        raise WrongQuestionError(f"{where}more than {_FEATURES:,} features")
    values = {}
    for name, value in record.items():
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise WrongQuestionError(f"{where}{shown(name)} must be a number, or null if missing")
        number = float(value)
        if not math.isfinite(number):
            raise WrongQuestionError(f"{where}{shown(name)} must be finite")
        values[name] = number
    return values


def _names(model: base.Classifier) -> Mapping[str, Any]:
    """Return the features whose names are no texts, by what they are shown as."""
    if not isinstance(model, LocalClassifier):
        return {}
    return {shown(name): name for name in model._features.names if not isinstance(name, str)}
