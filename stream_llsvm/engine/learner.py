"""How the engine asks and teaches a model: ours in blocks, others of river record by record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from river import base

from stream_llsvm.connectors.base import Batch
from stream_llsvm.learners.base import LocalClassifier
from stream_llsvm.learners.pipeline import is_pipeline, knows_missing, learner_in
from stream_llsvm.model.feature_warnings import without_warnings
from stream_llsvm.records.labels import Coded
from stream_llsvm.records.readable import as_records
from stream_llsvm.records.values import is_missing

Floats = NDArray[np.float64]
NO_TEXTS: Mapping[int, str] = MappingProxyType({})


class Answers(NamedTuple):
    """What was predicted before each record was learned.

    ``sure`` is the probability given to the prediction, ``truth`` that given to the true label (0
    where there is none); ``refused`` says which records the model would not take, and why.
    ``given`` are the true labels, if all are known already. ``probabilities`` are those of all
    labels known then, if that was asked for; None where there was none.
    """

    labels: Sequence[Any]
    sure: Floats
    truth: Floats
    refused: dict[int, str]
    given: Coded | None = None
    probabilities: list[dict[Any, float] | None] | None = None


class Learner:
    """A classifier, asked for each record and then taught it if it has a label.

    Parameters
    ----------
    model
        Any of river's classifiers, also at the end of a pipeline.
    every
        Whether answers hold the probability of every label, and not only of the likeliest.

    """

    def __init__(self, model: Any, *, every: bool = False) -> None:
        last = learner_in(model)
        if isinstance(model, type) or not hasattr(last, "predict_proba_one"):
            numbers = "learns numbers, and the engine learns classes"
            why = numbers if _is_regressor(last) else "is none"
            got = " ".join(repr(model).split())
            raise TypeError(f"the model is a classifier, such as SAPLClassifier(); {got} {why}")
        self.model: Any = model
        self.every = every
        # A transformer, or a function in it, may fail in any way at a record that it was not made
        # for, such as one without a field.
        self._names_missing = knows_missing(model)
        self._refusals = (Exception,) if is_pipeline(model) else (ValueError, TypeError)

    def take(self, batch: Batch, labels: Sequence[Any] | None = None) -> Answers:
        """Predict and learn a batch, with its own labels unless others are given."""
        labels = batch.labels if labels is None else labels
        if batch.names is not None and batch.values is not None:
            return self.block(batch.names, batch.values, labels, batch.texts)
        records = batch.records or []
        if not isinstance(self.model, LocalClassifier):
            records = [batch.record(i) for i in range(len(records))]
        return self.records(records, labels)

    def block(
        self,
        names: tuple[str, ...],
        values: Floats,
        labels: Sequence[Any],
        texts: Mapping[int, str] = NO_TEXTS,
    ) -> Answers:
        """Predict and learn records that all have the same features.

        NaN is a missing value, a name or a time; ``texts`` has those of the names.
        """
        model = self.model
        if not isinstance(model, LocalClassifier):
            return self.records(as_records(names, values, texts), labels)
        n = len(labels)
        sure = np.zeros((2, n))
        shares: list[Floats] | None = [] if self.every else None
        importance = np.ones(n)
        known = model._labels.known(labels)
        if known is None:  # they may be None
            importance[:] = [y is not None for y in labels]
        try:
            if importance.any():
                codes = model._test_then_learn_rows(
                    names, values, labels, importance, sure, known, shares=shares
                )
            else:
                proba, codes = model._proba_of(names, values)
                sure[0] = proba.max(axis=1, initial=0.0)
                shares = [proba] if self.every else None
        except ValueError:  # it refused before anything was learned: find out which record
            return self.records(as_records(names, values, texts), labels)
        given = None if known is None else Coded(model.classes, known)
        every = None if shares is None else _by_label(model.classes, shares)
        return Answers(Coded(model.classes, codes), sure[0], sure[1], {}, given, every)

    def records(self, records: Sequence[dict[Any, Any]], labels: Sequence[Any]) -> Answers:
        """Predict and learn records one by one."""
        # A feature that is new in a stream is learned a moment later.
        with without_warnings():
            return self._one_by_one(records, labels)

    def _one_by_one(self, records: Sequence[dict[Any, Any]], labels: Sequence[Any]) -> Answers:
        n = len(records)
        told: list[Any] = [None] * n
        every: list[Any] | None = [None] * n if self.every else None
        answers = Answers(told, np.zeros(n), np.zeros(n), {}, None, every)
        for i, (x, label) in enumerate(zip(records, labels, strict=True)):
            try:
                proba = self.model.predict_proba_one(self._lent(x))
                if label is not None:
                    self.model.learn_one(self._lent(x), label)
            except self._refusals as error:
                answers.refused[i] = _told(error)
                continue
            if proba:
                best = max(proba, key=proba.__getitem__)
                told[i], answers.sure[i] = best, proba[best]
                answers.truth[i] = proba.get(label, 0.0)
                if every is not None:
                    every[i] = proba
        return answers

    def teach(self, x: dict[Any, Any], label: Any) -> str | None:
        """Learn a record that was predicted before; returns why the model refused it, if it did.

        Ours remember what they predicted of it then, as long as nobody asks them anew.
        """
        try:
            self.model.learn_one(self._lent(x), label)
        except self._refusals as error:
            return _told(error)
        return None

    def _lent(self, x: dict[Any, Any]) -> dict[Any, Any]:
        """Return a record as the model wants it, which may change it: some rename in place."""
        if isinstance(self.model, LocalClassifier):
            return x
        if not is_pipeline(self.model):
            return dict(x)
        if self._names_missing:
            return {name: None if is_missing(value) else value for name, value in x.items()}
        return {name: value for name, value in x.items() if not is_missing(value)}


def _told(error: Exception) -> str:
    """Return why a record was refused; a bare KeyError says no more than a name."""
    told = str(error)
    return told if type(error) in (ValueError, TypeError) else f"{type(error).__name__}: {told}"


def _by_label(labels: Sequence[Any], shares: Sequence[Floats]) -> list[dict[Any, float] | None]:
    """Return the rows of the matrices as probabilities by label; None where no label was known."""
    rows = (row for block in shares for row in block.tolist())
    return [dict(zip(labels, row, strict=False)) or None for row in rows]


def _is_regressor(model: object) -> bool:
    kind = model if isinstance(model, type) else type(model)
    return issubclass(kind, base.Regressor)
