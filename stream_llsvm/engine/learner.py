"""How the engine asks and teaches a model: ours in blocks, others of river record by record."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from inspect import signature
from itertools import repeat
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.connectors.base import Batch, Place
from stream_llsvm.engine.keys import parted, sound, whole, with_sound_keys
from stream_llsvm.engine.task import CLASSIFICATION, task_of, with_numbers
from stream_llsvm.engine.word_rows import WordRows
from stream_llsvm.learners.base import LocalClassifier
from stream_llsvm.learners.decision import Decided
from stream_llsvm.learners.keyed import KeyedClassifier
from stream_llsvm.learners.many import Correct
from stream_llsvm.learners.numbers import NumberLearner
from stream_llsvm.learners.pipeline import (
    is_own,
    is_pipeline,
    knows_missing,
    learner_in,
    shared_in,
)
from stream_llsvm.learners.weights import all_fit, checked_weight
from stream_llsvm.model.feature_warnings import unknown_features, without_warnings
from stream_llsvm.records.frames import Matrix
from stream_llsvm.records.keys import Key
from stream_llsvm.records.labels import Coded
from stream_llsvm.records.readable import as_records as readable_records

if TYPE_CHECKING:
    from stream_llsvm.connectors.values import Values

Floats = NDArray[np.float64]
#: Records with their labels and weights.
Weighed = Iterable[tuple[dict[Any, Any], Any, float]]
NO_TEXTS: Mapping[int, str] = MappingProxyType({})


class Answers(NamedTuple):
    """What was predicted before each record was learned.

    ``sure`` is the probability given to the prediction, ``truth`` that given to the true label (0
    where there is none); numbers have neither. ``labels`` are None where nothing had been learned
    yet. ``refused`` says which records the model would not take, and why.
    ``given`` are the true labels, if all are known already. ``probabilities`` are those of all
    labels known then, if that was asked for; None where there was none. ``non_finite`` is how many
    answers were no number, such as infinity. ``decided`` is what was decided of each, if anything
    else is than the likeliest label.
    """

    labels: Sequence[Any]
    sure: Floats | None
    truth: Floats | None
    refused: dict[int, str]
    given: Coded | None = None
    probabilities: list[dict[Any, float] | None] | None = None
    non_finite: int = 0
    decided: list[Decided] | None = None


class Learner:
    """A model, asked for each record and then taught it if it has a label.

    Parameters
    ----------
    model
        Any of river's classifiers or regressors, also at the end of a pipeline.
    every
        Whether answers hold the probability of every label, and not only of the likeliest.
    values
        How a label that is text is read as a number, if the model learns numbers.

    """

    def __init__(self, model: Any, *, every: bool = False, values: Values | None = None) -> None:
        self.task = task_of(model)
        self._last = learner_in(model)
        #: What the key is called, of a model for each key.
        self.key: Hashable = None
        if isinstance(self._last, KeyedClassifier):
            self.key = self._last.key
        if every and self.task != CLASSIFICATION:
            kind = type(self._last).__name__
            raise ValueError(f"there are no probabilities: a {kind} learns numbers")
        self.model: Any = model
        self.every, self.values = every, values
        #: Whether it learns by weight; others learn each record that counts as if it counted 1.
        self.weighs = "w" in signature(self._last.learn_one).parameters
        # A transformer, or a function in it, may fail in any way at a record that it was not made
        # for, such as one without a field.
        self._names_missing = knows_missing(model)
        self._words = WordRows()
        self._refusals = (Exception,) if is_pipeline(model) else (ValueError, TypeError)
        self._keeps = True  # whether predictions wait for their labels

    def readable(self, batch: Batch) -> Batch:
        """Return a batch with labels and keys that the model takes; others are rejected in it."""
        if self.key is not None:
            batch = with_sound_keys(batch, self.key)
        return batch if self.task == CLASSIFICATION else with_numbers(batch, self.values)

    def record(self, batch: Batch, i: int) -> dict[str, Any]:
        """Return one record of a batch as the model takes it by itself."""
        return batch.record(i) if self.key is None else whole(batch, i, self.key)

    def take(self, batch: Batch, labels: Sequence[Any] | None = None) -> Answers:
        """Predict and learn a batch, with its own labels unless others are given."""
        if batch.bad_fields:
            batch = self._without_unread(batch)
        labels = batch.labels if labels is None else labels
        weights = batch.weights
        keys: list[Key] | None = None
        if self.key is not None:
            found, batch = parted(batch, self.key)
            keys = sound(found)
        many = weights is None or all_fit(weights)
        if many and batch.names is not None and batch.values is not None:
            return self.block(batch.names, batch.values, labels, batch.texts, weights, keys=keys)
        rows = self._words.of(batch.records or []) if many and is_own(self.model) else None
        if rows is not None:
            return self.block(
                rows.names, rows.values, labels, rows.texts, weights, batch.records, keys
            )
        # A time in a NaN would be taken for a missing value: one by one it is a text again.
        records = [batch.record(i) for i in range(len(batch))]
        return self.records(self._keyed(records, keys), labels, weights)

    def _without_unread(self, batch: Batch) -> Batch:
        """Return a batch without values that could not be read of fields that never had one.

        Such a field is no feature: with a new name in each record the model would only fill up.
        """
        unread: dict[Any, set[Place]] = {}
        for one in batch.bad_fields:
            unread.setdefault(one.field, set()).add(one.place)
        new = set(unknown_features(shared_in(self.model), unread) or ())
        if not new:
            return batch
        records = batch.records
        if records is None:
            assert batch.names is not None
            assert batch.values is not None
            new.intersection_update(batch.names)
            places = set(batch.places)
            if all(places <= unread[name] for name in new):
                kept = [i for i, name in enumerate(batch.names) if name not in new]
                names = tuple(batch.names[i] for i in kept)
                return replace(batch, names=names, values=batch.values[:, kept])
            from stream_llsvm.connectors.columns import Columns, as_records  # seldom needed

            columns = Columns(batch.names, batch.values, batch.labels, [])
            records = as_records(columns, batch.texts)
        found = []
        for record, place, label in zip(records, batch.places, batch.labels, strict=True):
            bad = {name for name in new if place in unread[name]}
            found.append({n: v for n, v in record.items() if n not in bad} if bad else record)
            if label is not None:  # it is learned: what has a value here is a feature from now on
                new.difference_update(set(record) - bad)
        return replace(batch, names=None, values=None, records=found)

    def ask(self, batch: Batch) -> Answers:
        """Predict a batch, and keep nothing of it: no label will come."""
        self._keeps = False
        try:
            return self.take(batch, [None] * len(batch))
        finally:
            self._keeps = True

    def _keyed(
        self, records: Sequence[dict[Any, Any]], keys: list[Key] | None
    ) -> Sequence[dict[Any, Any]]:
        """Return records with their keys in them."""
        if keys is None:
            return records
        return [{**record, self.key: key} for record, key in zip(records, keys, strict=True)]

    def block(
        self,
        names: tuple[str, ...],
        values: Matrix,
        labels: Sequence[Any],
        texts: Mapping[int, str] = NO_TEXTS,
        weights: Floats | None = None,
        records: Sequence[dict[str, Any]] | None = None,
        keys: list[Key] | None = None,
    ) -> Answers:
        """Predict and learn records that all have the same features.

        NaN is a missing value, a name or a time; ``texts`` has those of the names. ``records`` are
        the same, where somebody has them already. ``keys`` say whose they are, if anybody asks.
        """
        model: Any = self.model
        correct: Correct | None = None
        if isinstance(model, KeyedClassifier):
            assert keys is not None
            correct, model = model._corrects(keys, keep=self._keeps), model.model
        if isinstance(model, NumberLearner):
            return self._block_of_numbers(model, names, values, labels, texts, weights, records)
        if not isinstance(model, LocalClassifier):
            plain = _named(names, values, texts, records)
            return self.records(self._keyed(plain, keys), labels, weights)
        n = len(labels)
        sure = np.zeros((2, n))
        shares: list[Floats] | None = [] if self.every else None
        importance = np.ones(n) if weights is None else weights.copy()
        known = model._labels.known(labels)
        if known is None:  # they may be None
            importance *= [y is not None for y in labels]
        elif not importance.all():
            known = None
        try:
            if importance.any():
                codes = model._test_then_learn_rows(
                    names, values, labels, importance, sure, known, shares=shares, texts=texts,
                    correct=correct,
                )  # fmt: skip
            else:
                proba, codes = model._proba_of(names, values, keep=self._keeps, correct=correct)
                sure[0] = proba.max(axis=1, initial=0.0)
                for i, label in enumerate(labels):  # which count nothing, and are scored
                    code = -1 if label is None else model._labels.code(label)
                    sure[1, i] = proba[i, code] if code >= 0 else 0.0
                shares = [proba] if self.every else None
        except ValueError:  # it refused before anything was learned: find out which record
            plain = _named(names, values, texts, records)
            return self.records(self._keyed(plain, keys), labels, weights)
        given = None if known is None else Coded(model.classes, known)
        every = None if shares is None else _by_label(model.classes, shares)
        broken = n - int(np.count_nonzero(np.isfinite(sure[0])))
        return Answers(Coded(model.classes, codes), sure[0], sure[1], {}, given, every, broken)

    def _block_of_numbers(
        self,
        model: NumberLearner,
        names: tuple[str, ...],
        values: Matrix,
        labels: Sequence[float | None],
        texts: Mapping[int, str],
        weights: Floats | None,
        records: Sequence[dict[str, Any]] | None,
    ) -> Answers:
        targets = np.array(labels, dtype=np.float64)  # NaN where there is none
        importance = np.ones(len(labels)) if weights is None else weights
        targets[importance == 0] = np.nan
        # What the first record to learn brings that is new, those before it do not know.
        first = int(np.argmin(np.isnan(targets))) if not np.isnan(targets).all() else len(targets)
        parts = [slice(0, first), slice(first, None)] if first > 0 else [slice(None)]
        try:
            told = np.concatenate(
                [
                    model._test_then_learn_rows(
                        names, values[at], targets[at], importance[at], texts
                    )
                    for at in parts
                ]
            )
        except ValueError:  # as for classes
            return self.records(_named(names, values, texts, records), labels, weights)
        return Answers(list(map(_known, told.tolist())), None, None, {})

    def records(
        self,
        records: Sequence[dict[Any, Any]],
        labels: Sequence[Any],
        weights: Floats | None = None,
    ) -> Answers:
        """Predict and learn records one by one."""
        n = len(records)
        each = repeat(1.0, n) if weights is None else weights.tolist()
        weighed = zip(records, labels, each, strict=True)
        # A feature that is new in a stream is learned a moment later.
        with without_warnings():
            if self.task == CLASSIFICATION:
                return self._one_by_one(weighed, n)
            return self._numbers_one_by_one(weighed, n)

    def _one_by_one(self, weighed: Weighed, n: int) -> Answers:
        told: list[Any] = [None] * n
        every: list[Any] | None = [None] * n if self.every else None
        sure, truth = np.zeros(n), np.zeros(n)
        answers = Answers(told, sure, truth, {}, None, every)
        broken = 0
        for i, (x, label, weight) in enumerate(weighed):
            try:
                if weight != 1.0:
                    checked_weight(weight)
                proba = self._proba_one(self._lent(x))
                if label is not None:
                    self._learn_one(x, label, weight)
            except self._refusals as error:
                answers.refused[i] = _told(error)
                continue
            if proba:
                best = max(proba, key=proba.__getitem__)
                told[i], sure[i] = best, proba[best]
                truth[i] = proba.get(label, 0.0)
                broken += not math.isfinite(sum(proba.values()))
                if every is not None:
                    every[i] = proba
        return answers._replace(non_finite=broken)

    def _proba_one(self, x: dict[Any, Any]) -> dict[Any, float]:
        own: Any = self.model if is_own(self.model) else None
        if own is None or self._keeps:
            proba: dict[Any, float] = self.model.predict_proba_one(x)
            return proba
        unkept: dict[Any, float] = own._unkept_proba_one(x)
        return unkept

    def _numbers_one_by_one(self, weighed: Weighed, n: int) -> Answers:
        told: list[float | None] = [None] * n
        answers = Answers(told, None, None, {})
        broken = 0
        for i, (x, label, weight) in enumerate(weighed):
            number = None
            try:
                if weight != 1.0:
                    checked_weight(weight)
                # What others tell before they have learned anything is theirs to know.
                if not isinstance(self._last, NumberLearner) or self._last._state is not None:
                    raw = float(self.model.predict_one(self._lent(x)))
                    number = _known(raw)
                    broken += number is None
                if label is not None:
                    self._learn_one(x, label, weight)
            except self._refusals as error:
                answers.refused[i] = _told(error)
                continue
            told[i] = number
        return answers._replace(non_finite=broken)

    def teach(self, x: dict[Any, Any], label: Any, weight: float = 1.0) -> str | None:
        """Learn a record that was predicted before; returns why the model refused it, if it did.

        Ours remember what they predicted of it then, as long as nobody asks them anew.
        """
        try:
            self._learn_one(x, label, weight)
        except self._refusals as error:
            return _told(error)
        return None

    def _learn_one(self, x: dict[Any, Any], label: Any, weight: float) -> None:
        if weight == 1.0 or (weight > 0 and not self.weighs):
            self.model.learn_one(self._lent(x), label)
        elif weight > 0:
            self.model.learn_one(self._lent(x), label, w=weight)

    def _lent(self, x: dict[Any, Any]) -> dict[Any, Any]:
        """Return a record as the model wants it, which may change it: some rename in place."""
        if is_own(self.model):
            return x
        if not is_pipeline(self.model):
            return dict(x)
        lent = dict(x)
        # Only None, NaN and their like differ from themselves.
        for name in [n for n, v in x.items() if v is None or v != v]:  # noqa: PLR0124
            if self._names_missing:
                lent[name] = None
            else:
                del lent[name]
        return lent


def _named(
    names: tuple[str, ...],
    values: Matrix,
    texts: Mapping[int, str],
    records: Sequence[dict[str, Any]] | None,
) -> Sequence[dict[str, Any]]:
    """Return a block as records."""
    if records is not None:
        return records
    assert isinstance(values, np.ndarray)
    return readable_records(names, values, texts)


def _told(error: Exception) -> str:
    """Return why a record was refused; a bare KeyError says no more than a name."""
    told = str(error)
    return told if type(error) in (ValueError, TypeError) else f"{type(error).__name__}: {told}"


def _by_label(labels: Sequence[Any], shares: Sequence[Floats]) -> list[dict[Any, float] | None]:
    """Return the rows of the matrices as probabilities by label; None where no label was known."""
    rows = (row for block in shares for row in block.tolist())
    return [dict(zip(labels, row, strict=False)) or None for row in rows]


def _known(number: float) -> float | None:
    """Return a number that was told, None if it is none."""
    return number if math.isfinite(number) else None
