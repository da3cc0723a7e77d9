"""What people ask the model: checked first, since anybody may ask anything."""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any, Protocol

from stream_llsvm.dashboard.explanations import Kept, explained
from stream_llsvm.dashboard.json_values import distinct, text
from stream_llsvm.dashboard.recent_records import Recent
from stream_llsvm.engine.task import REGRESSION, task_of
from stream_llsvm.learners.base import LocalClassifier
from stream_llsvm.learners.pipeline import is_own
from stream_llsvm.model.feature_warnings import unknown_features, without_warnings
from stream_llsvm.records.column_space import flat
from stream_llsvm.records.nested import flattened
from stream_llsvm.records.readable import is_missing, readable
from stream_llsvm.records.values import read

RECORDS = 1_000
_FEATURES = 100_000
_UNKNOWN_LISTED = 20


class WrongQuestionError(Exception):
    """What was asked makes no sense; the text says why."""


class Models(Protocol):
    """Whoever has a model to ask: a copy of the run's, or one that was published."""

    def newest(self) -> AbstractContextManager[tuple[Any, int]]:
        """Lend the newest, and say how many records it has learned."""


def predict(copies: Models, asked: Any) -> dict[str, Any]:
    """Return what is predicted of each record, and what of it is not known."""
    records = _only(asked, "records").get("records")
    if not isinstance(records, list) or not 1 <= len(records) <= RECORDS:
        raise WrongQuestionError(f"records must be a list of 1 to {RECORDS:,} records")
    rows = [checked(record, f"record {i + 1}: ") for i, record in enumerate(records)]
    with copies.newest() as (model, learned), without_warnings():
        names = _names(model)
        told = [_predicted(model, {names.get(k, k): v for k, v in row.items()}) for row in rows]
    return {"records_learned": learned, "predictions": told}


def name_in(asked: Any) -> str:
    """Return the name of what is to be promoted or kept."""
    name = _only(asked, "name").get("name")
    if not isinstance(name, str):
        raise WrongQuestionError("name must be a text")
    return name


def explain(copies: Models, asked: Any, drawn: str | None) -> dict[str, Any]:
    """Return why a record is answered as it is, as the page shows it."""
    given = _only(asked, "record", "label")
    row = checked(given.get("record"))
    with copies.newest() as (model, learned), without_warnings():
        if not is_own(model):
            raise WrongQuestionError(f"a {type(model).__name__} cannot say why")
        names = _names(model)
        x = {names.get(k, k): v for k, v in row.items()}
        label, sure, member = None, None, None
        if isinstance(model, LocalClassifier):
            label, sure = _chosen(model, x, given.get("label"))
            member = member_of(model, drawn)
        elif given.get("label") is not None:
            raise WrongQuestionError("there is no label to ask for: the model tells a number")
        why = explained(model, Recent(learned, "", x, None, label, sure), member)
    if why is None:
        raise WrongQuestionError("the model can make nothing of this record")
    return why


def whole(kept: Kept) -> dict[str, Any]:
    """Return all of a record that is shown, to the last bit; what added most comes first."""
    most = {name: i for i, (name, _) in enumerate(kept.why["contributions"])}
    values = [[_sent(name), _value(value)] for name, value in flat(kept.one.x).items()]
    values.sort(key=lambda pair: most.get(text(pair[0]), len(most)))
    return {"record": kept.one.record, "values": values}


def _sent(name: object) -> str:
    """Return a feature's name as it can be sent, whole, and asked about again."""
    return text(name, len(name)) if isinstance(name, str) else text(name)


def _value(value: Any) -> Any:
    """Return a value as it can be sent and asked about again: a number, a text, or words."""
    if isinstance(value, str):
        return text(value, len(value))
    if isinstance(value, list | tuple):
        return [text(word, len(word)) for word in map(str, value)]
    try:
        return None if value is None else float(value)
    except (TypeError, ValueError, OverflowError):
        return text(value)


def member_of(model: LocalClassifier, name: str | None) -> int | None:
    """Return which member has this name, None if none has."""
    members = () if model._state is None else model._state.members
    return next((i for i, one in enumerate(members) if text(one.name) == name), None)


def _chosen(model: LocalClassifier, x: dict[Any, Any], wanted: Any) -> tuple[Any, float]:
    """Return the label to explain, and how likely it is: the wanted one, or the likeliest."""
    try:
        proba = model.predict_proba_one(x)
    except (ValueError, TypeError) as error:
        raise WrongQuestionError(text(" ".join(str(error).split()))) from None
    if wanted is None:
        label = max(proba, key=proba.__getitem__)
        return label, proba[label]
    for told, label in zip(distinct(proba), proba, strict=True):
        if wanted in (told, label):
            return label, proba[label]
    raise WrongQuestionError(f"the label {text(wanted)} has not been seen")


def _predicted(model: Any, x: dict[Any, Any]) -> dict[str, Any]:
    try:
        if task_of(model) == REGRESSION:
            number = float(model.predict_one(x))
            told: dict[str, Any] = {"value": number if math.isfinite(number) else None}
        else:
            told = _likeliest(model.predict_proba_one(x))
    except (ValueError, TypeError, ArithmeticError, LookupError) as error:
        raise WrongQuestionError(text(" ".join(str(error).split()))) from None
    unknown = unknown_features(model, x)
    if unknown is not None:
        told["known_features"] = len(x) - len(unknown)
        told["unknown_features"] = [text(name) for name in unknown[:_UNKNOWN_LISTED]]
    return told


def _likeliest(proba: Mapping[Any, float]) -> dict[str, Any]:
    """Return the likeliest label, and the probability of each."""
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
        raise WrongQuestionError(f"unknown: {text(min(unknown))}; known: {', '.join(known)}")
    return asked


def checked(record: Any, where: str = "") -> dict[str, Any]:
    """Return a record as a source hands it out, without what is missing in it."""
    if not isinstance(record, dict):
        raise WrongQuestionError(f"{where}a record must be an object of values by feature")
    if len(record) > _FEATURES:
        raise WrongQuestionError(f"{where}more than {_FEATURES:,} features")
    values = {}
    for name, value in flattened(record).record.items():
        try:
            said = read(name, value)
        except ValueError as error:
            raise WrongQuestionError(where + text(" ".join(str(error).split()))) from None
        if isinstance(said, float):
            said = readable(said, {})
        if not is_missing(said):
            values[name] = said
    return values


def _names(model: Any) -> Mapping[str, Any]:
    """Return the features whose names are no texts, by what they are shown as."""
    if not is_own(model):
        return {}
    return {text(name): name for name in model._features.fields if not isinstance(name, str)}
