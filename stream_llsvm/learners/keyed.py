"""A model for each key: one model that learns all records, and a small correction for each key."""

from __future__ import annotations

import os
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from river import base

from stream_llsvm.kernels.bank import MOST_COUNTED
from stream_llsvm.learners.answers import decoded
from stream_llsvm.learners.base import LocalClassifier, Record
from stream_llsvm.learners.identity import Itself
from stream_llsvm.learners.keyed_reasons import KeyedExplanation, explained
from stream_llsvm.learners.many import Correct
from stream_llsvm.learners.weights import checked_weight, checked_weights
from stream_llsvm.locks import OneAtATime, locked
from stream_llsvm.model.bank import Ages, Bank
from stream_llsvm.model.explain import MemberReport
from stream_llsvm.model.file import write
from stream_llsvm.model.rows import Rows
from stream_llsvm.model.spill import Spill
from stream_llsvm.options import whole
from stream_llsvm.records.frames import Records, frame_like, like, parted
from stream_llsvm.records.keys import BadKey, Key, are_sound, checked_key
from stream_llsvm.records.labels import as_labels
from stream_llsvm.records.names import check_name
from stream_llsvm.records.rows import Row
from stream_llsvm.version import __version__

Array = NDArray[np.float64]


class KeyedClassifier(OneAtATime, base.MiniBatchClassifier, metaclass=Itself):
    """A classifier for each key, such as each customer: all learn together, and each by itself.

    One model learns all records. For each key a small linear machine learns what the model gets
    wrong about that key, as a Bayesian would: a key that is new is the global model, and one that
    comes often departs from it as far as its records say. How far keys are to be believed that have
    had so many records, all keys learn together. A key that surprises its own machine forgets until
    it does no more: what changes is learned anew, however long it was the same. A key takes
    ``8 (features + 1) + 24`` bytes beside the key itself (the first part for each class, if there
    are more than two). docs/scale.md has figures.

    Parameters
    ----------
    model
        The global model: one of this package's classifiers. It does not see the key.
    key
        The field that says whose a record is: a text, a number or bytes, up to 1,000 bytes long.
    max_keys
        How many keys are kept; when another one comes, a sixty-fourth of them is forgotten, those
        that were used longest ago. All are kept if None.
    most_features
        Keys know the first so many features; the global model knows all.
    spill
        A folder on a disk, to which keys go instead of being forgotten; they come back with all
        that is known of them. What is there is of this process only, and gone when it ends: the
        model's file and checkpoints hold these keys, too. It takes the extra ``keyed``, and
        ``max_keys``.

    Examples
    --------
    >>> import random
    >>> from stream_llsvm import KeyedClassifier, SAPLClassifier
    >>> model = KeyedClassifier(SAPLClassifier(), key="customer")
    >>> chance = random.Random(0)
    >>> for _ in range(2_000):
    ...     name, x = chance.choice(("ann", "bob")), chance.randrange(7)
    ...     model.learn_one({"customer": name, "x": x}, x > (4 if name == "ann" else 1))
    >>> [model.predict_one({"customer": name, "x": 3}) for name in ("ann", "bob")]
    [False, True]
    >>> model.n_keys
    2

    """

    def __init__(
        self,
        model: LocalClassifier,
        key: Hashable,
        max_keys: int | None = None,
        most_features: int = 64,
        spill: str | os.PathLike[str] | None = None,
    ) -> None:
        if not isinstance(model, LocalClassifier):
            raise TypeError(
                "the global model is one of this package's classifiers, such as "
                f"CommitteeClassifier(); got {type(model).__name__}"
            )
        check_name(key)
        self.model, self.key = model, key
        self.max_keys = None if max_keys is None else whole("max_keys", max_keys, 1, 2**31)
        self.most_features = whole("most_features", most_features, 1, 65_536)
        if spill is not None and max_keys is None:
            raise ValueError("spill is for keys beyond max_keys: say how many are kept in memory")
        self.spill = None if spill is None else os.fspath(spill)
        room = None if self.spill is None else Spill(self.spill)
        self._bank = Bank(self.max_keys, self.most_features, room)
        self._lock = self._make_lock()

    def _make_lock(self) -> Any:
        """Return the global model's: whoever has that one has both."""
        return self.model._lock

    @property
    def _multiclass(self) -> bool:
        return True

    @property
    def classes(self) -> tuple[Any, ...]:
        """The labels seen so far, in order of appearance."""
        return self.model.classes

    @property
    def features(self) -> tuple[Hashable, ...]:
        """The names of the features seen so far; the key is none."""
        return self.model.features

    @property
    def mixture(self) -> list[MemberReport]:
        """How each member of the global model is doing."""
        return self.model.mixture

    @property
    def n_keys(self) -> int:
        """How many keys are known, those that are spilled among them."""
        return len(self._bank)

    @property
    @locked
    def ages(self) -> list[Ages]:
        """How answers did by how many records their keys had had, and how far these are trusted."""
        return self._bank.ages

    @locked
    def records_of(self, key: Any) -> int:
        """Return how many records a key has had, up to 65,535; 0 of one that is not known.

        Parameters
        ----------
        key
            The key.

        """
        known = self._bank.known(checked_key(key))
        return 0 if known is None else known.facts & MOST_COUNTED

    @locked
    def learn_one(self, x: Record, y: Hashable, w: float = 1.0) -> None:
        """Learn from one record.

        Parameters
        ----------
        x
            The record: ``{feature: value}``, the key among them.
        y
            Its label: anything hashable but None.
        w
            How much the record counts: 2 takes steps twice as long, 0 none at all.

        """
        key, rest = self._split(x)
        model, weight = self.model, checked_weight(w)
        row = model._features.encode(rest)
        code = model._labels.code(y)
        told = np.zeros((1, 0))
        brings = bool(model._features.ignored) or code < 0
        if brings and weight > 0 and model._state is not None:
            # As it was before it knew of the class or the features that come.
            model._state.run_one(row, keep=False)
            told = model._state.one_proba.copy()
        model.learn_one(rest, y, weight)
        if weight == 0:
            return
        memory = model._state
        assert memory is not None
        told = told if brings else memory.one_proba
        proba = np.zeros((1, memory.n_classes))
        proba[:, : told.shape[1]] = told
        row, code = model._features.encode(rest), model._labels.code(y)
        self._correct_one(key, row, proba, code, weight)

    @locked
    def predict_one(self, x: Record, **kwargs: Any) -> Any:
        """Return the likeliest label, None before anything was learned.

        Parameters
        ----------
        x
            The record.
        **kwargs
            Ignored; river's interface asks for it.

        """
        answer = self._answer_one(x)
        return None if answer is None else self.classes[answer[1]]

    @locked
    def predict_proba_one(self, x: Record, **kwargs: Any) -> dict[Any, float]:
        """Return each label's probability; empty before anything was learned.

        Parameters
        ----------
        x
            The record.
        **kwargs
            Ignored; river's interface asks for it.

        """
        answer = self._answer_one(x)
        return {} if answer is None else dict(zip(self.classes, answer[0].tolist(), strict=True))

    @locked
    def _unkept_proba_one(self, x: Record) -> dict[Any, float]:
        """Return the same, and keep nothing of it: no label will come."""
        answer = self._answer_one(x, keep=False)
        return {} if answer is None else dict(zip(self.classes, answer[0].tolist(), strict=True))

    def learn_many(self, X: Any, y: Any, w: Any = 1.0) -> None:
        """Learn from each row in turn: the same, to the bit, as `learn_one` row by row.

        Parameters
        ----------
        X
            A dataframe with the key as a column, or an array if the key is a column's number.
        y
            One label a row.
        w
            How much each record counts: one number, or one a row.

        """
        self._test_then_learn(X, y, w, keep=False)

    @locked
    def test_then_learn(self, X: Any, y: Any, w: Any = 1.0) -> NDArray[Any]:
        """Learn from each row in turn, and return the labels predicted just before.

        Parameters
        ----------
        X
            The records, as in `learn_many`.
        y
            One label a row.
        w
            How much each record counts: one number, or one a row.

        """
        likeliest = self._test_then_learn(X, y, w, keep=True)
        return decoded(self.classes, likeliest)

    @locked
    def warm_start(self, X: Any, y: Any, epochs: int = 10, w: Any = 1.0) -> None:
        """Learn from history first, then go live.

        The global model learns it by its own `warm_start`. Keys then learn, from each record once
        and in order, what the global model does not know of it by now.

        Parameters
        ----------
        X
            The records, as in `learn_many`.
        y
            One label a row.
        epochs
            How many passes the global model makes.
        w
            How much each record counts: one number, or one a row.

        """
        whole("epochs", epochs, 1, 1_000_000)
        keys, (names, matrix, texts) = self._parted(X)
        labels = as_labels(y, len(matrix))
        importance = checked_weights(w, len(matrix))
        counts = np.flatnonzero(importance)
        if len(counts) < len(matrix):
            matrix, importance = matrix[counts], importance[counts]
            labels, keys = ([some[i] for i in counts.tolist()] for some in (labels, keys))
        model = self.model
        model._warm_start_rows(names, matrix, labels, epochs, importance=importance, texts=texts)
        codes = np.array([model._labels.code(label) for label in labels], dtype=np.int64)

        def taught(begin: int, rows: Rows) -> None:
            some = slice(begin, begin + len(rows.labels))
            rows = rows._replace(labels=codes[some], importance=importance[some])
            self._correct(rows, keys[some])

        model._proba_of(names, matrix, keep=False, correct=taught)

    @locked
    def predict_many(self, X: Any) -> Any:
        """Return the likeliest label of each row, in the kind of series that X's library has.

        Parameters
        ----------
        X
            The records, as in `learn_many`.

        """
        likeliest = self._answers(X)[1]
        return like(X, decoded(self.classes, likeliest))

    @locked
    def predict_proba_many(self, X: Any) -> Any:
        """Return each label's probability for each row, a column a label.

        Parameters
        ----------
        X
            The records, as in `learn_many`.

        """
        return frame_like(X, dict(zip(self.classes, self._answers(X)[0].T, strict=True)))

    @locked
    def explain_one(self, x: Record, label: Hashable | None = None) -> KeyedExplanation:
        """Take a prediction apart into the global model's part and the key's, which add up.

        Parameters
        ----------
        x
            The record.
        label
            The label whose score is to be explained; the predicted one if None.

        """
        key, rest = self._split(x)
        if label is None:
            label = self.predict_one(x)
        return explained(self.model, self._bank, key, rest, label)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to one file, whole or not at all; `load_model` reads it.

        Parameters
        ----------
        path
            Where to. An existing file is replaced.

        """
        write(path, self._payload())

    def _split(self, x: Record) -> tuple[Key, Record]:
        """Return a record's key, and the record without it."""
        if not isinstance(x, Mapping):
            raise TypeError(f"a record is a mapping {{feature: value}}; got {type(x).__name__}")
        rest = dict(x)
        try:
            return self._known(rest.pop(self.key, None)), rest
        except BadKey as bad:
            raise BadKey(bad.reason, f"{self.key!r}: {bad}") from None

    def _known(self, key: Any) -> Key:
        """Return a key as it is kept."""
        try:
            if key in self._bank.places:
                known: Key = key
                return known
        except TypeError:  # it cannot be one
            pass
        return checked_key(key)

    def _checked(self, keys: Sequence[Any]) -> list[Key]:
        """Return keys as they are kept; raises BadKey, which names the row."""
        if are_sound(keys):
            return list(keys)
        found: list[Key] = []
        for row, key in enumerate(keys):
            try:
                found.append(self._known(key))
            except BadKey as bad:
                raise BadKey(
                    bad.reason, f"{self.key!r} of row {row} (the first row is 0): {bad}"
                ) from None
        return found

    def _parted(self, X: Any) -> tuple[list[Key], Records]:
        """Return the keys of records, and the records without them."""
        keys, records = parted(X, self.key)
        return self._checked(keys), records

    @locked
    def _test_then_learn(self, X: Any, y: Any, w: Any, *, keep: bool) -> NDArray[np.int64]:
        keys, (names, matrix, texts) = self._parted(X)
        labels = as_labels(y, len(matrix))
        importance = checked_weights(w, len(matrix))
        correct = self._corrects(keys)
        if not (importance > 0).any():
            return self.model._proba_of(names, matrix, keep=keep, correct=correct)[1]
        return self.model._test_then_learn_rows(
            names, matrix, labels, importance, keep=keep, texts=texts, correct=correct
        )

    def _answers(self, X: Any) -> tuple[Array, NDArray[np.int64]]:
        keys, (names, matrix, _) = self._parted(X)
        if self.model._state is not None:
            self.model._warn_of_unknown_in(names, matrix)
        return self.model._proba_of(names, matrix, correct=self._corrects(keys))

    def _corrects(self, keys: Sequence[Key], *, keep: bool = True) -> Correct:
        """Return what corrects the global model's answers to records of these keys.

        Unless it is kept, their keys do not count as used.
        """

        def correct(begin: int, rows: Rows) -> None:
            some = keys[begin : begin + len(rows.labels)]
            if keep or self._bank.spill is not None:  # which moves keys
                self._correct(rows, some)
                return
            places = [self._bank.places[key] for key in some if key in self._bank.places]
            used = self._bank.facts[places]
            self._correct(rows, some)
            self._bank.facts[places] = used

        return correct

    def _correct(self, rows: Rows, keys: Sequence[Key]) -> None:
        model = self.model
        self._bank.grow(len(model._features), len(model._labels))
        flat = rows._replace(values=rows.values.reshape(-1))
        self._bank.take(flat, keys, standardize=model.standardize)

    def _correct_one(
        self,
        key: Key,
        row: Row,
        proba: Array,
        code: int = -1,
        weight: float = 1.0,
        *,
        keep: bool = True,
    ) -> int:
        """Correct the global model's answer to one record; return the likeliest class."""
        likeliest = np.zeros(1, dtype=np.int64)
        rows = Rows(*row, np.array([code]), np.array([weight]), proba, likeliest)
        self._corrects([key], keep=keep)(0, rows)
        return int(likeliest[0])

    def _answer_one(self, x: Record, *, keep: bool = True) -> tuple[Array, int] | None:
        """Return the probabilities of the classes, and the likeliest of them."""
        key, rest = self._split(x)
        row = self.model._asked(rest, keep=keep)
        if row is None:
            return None
        assert self.model._state is not None
        proba = self.model._state.one_proba.copy()
        return proba[0], self._correct_one(key, row, proba, keep=keep)

    def _own_params(self) -> dict[str, Any]:
        """Return the options beside the global model's."""
        return {
            "key": self.key,
            "max_keys": self.max_keys,
            "most_features": self.most_features,
        }

    def _saved_params(self) -> dict[str, Any]:
        """Return all options, the global model's among them, as plain values."""
        of_model = {"model": type(self.model).__name__} | self.model._saved_params()
        return of_model | self._own_params()

    @locked
    def _payload(self, *, rows: bool = True) -> dict[str, object]:
        """Return what a file holds, maybe but for the rows of keys; nothing in it changes."""
        return {
            "version": __version__,
            "class": type(self).__name__,
            **self._own_params(),
            **({} if self.spill is None else {"spills": True}),
            "model": self.model._payload(),
            "bank": self._bank.payload() if rows else self._bank.head(),
        }

    def _restore(self, bank: dict[str, Any]) -> None:
        """Take over what a file says of keys; raises ValueError if it does not fit."""
        self._bank.restore(bank, len(self.model._features), len(self.model._labels))
