"""A bank: what is known of each key, a row of one matrix a key, and who has which row."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import repeat
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.kernels.bank import (
    AGES,
    ANSWERS,
    COUNT_BITS,
    FIRST_TRUST_IN_KEY,
    IN_KEY,
    IN_MODEL,
    MODEL_RIGHT,
    MOST_COUNTED,
    MOST_TRUST,
    RIGHT,
    TALLIES,
    TRUST_ROWS,
    run_bank,
)
from stream_llsvm.kernels.scaling import NEVER_NEGATIVE, STATISTICS, scale_rows
from stream_llsvm.kernels.surprise import CLOCKS
from stream_llsvm.model.key_rows import (
    KeyRows,
    fitted,
    merged_rows,
    require,
    sound_array,
    sound_rows,
)
from stream_llsvm.model.rows import Rows
from stream_llsvm.model.spill import Known, Spill
from stream_llsvm.records.keys import Key
from stream_llsvm.records.rows import ABSENT, Row

#: When there is no room for a new key, one in so many goes: those that were used longest ago.
_GOES = 64
_FIRST_ROOM = 64
_MOST_TAUGHT = 2**46


def _nothing(key: Key) -> Known | None:
    return None


class Ages(NamedTuple):
    """How answers to keys of one age did: a key of the age has had ``since`` records or more.

    ``answers`` counts those whose label came, ``right`` the right ones, ``model_right`` those that
    the global model alone had right; ``trust_in_key`` and ``trust_in_model`` say how far each is
    believed.
    """

    since: int
    answers: int
    right: int
    model_right: int
    trust_in_model: float
    trust_in_key: float


class OwnPart(NamedTuple):
    """What a key adds to the score of one class.

    ``records`` is how many the key has had, ``model`` the global model's part of the score, and
    ``bias`` and ``contributions``, by columns, are what the key adds to it.
    """

    records: int
    model: float
    bias: float
    contributions: dict[int, float]


class Bank:
    """Corrections of a global model's answers, one a key, each with a place in one matrix.

    Parameters
    ----------
    max_keys
        How many keys there is room for; of more, those that were used longest ago are forgotten.
    most_features
        Keys know the first so many features.
    spill
        Where they go instead of being forgotten; a key that comes back takes its row along.

    Attributes
    ----------
    matrix
        (places, machines, 2, features + 1): weights, the bias first, and how much each has learned.
    facts
        (places,): see ``kernels/bank.py``; 0 where no key is.
    clocks
        (places, CLOCKS): how far each key surprises, see ``kernels/surprise.py``.
    places
        Where each key is.
    keys
        Which key each place is of, None where none is.

    """

    def __init__(
        self, max_keys: int | None, most_features: int, spill: Spill | None = None
    ) -> None:
        self.max_keys, self.most_features, self.spill = max_keys, most_features, spill
        self.matrix = np.zeros((0, 1, 2, 1), dtype=np.float32)
        self.facts = np.zeros(0, dtype=np.int64)
        self.clocks = np.zeros((0, CLOCKS), dtype=np.float32)
        self.trust = np.zeros((TRUST_ROWS, AGES))
        self.trust[IN_MODEL], self.trust[IN_KEY] = 1, FIRST_TRUST_IN_KEY
        self.tallies = np.zeros((TALLIES, AGES), dtype=np.int64)
        self.statistics = np.zeros((0, STATISTICS))
        self.classes = self.forgotten = self.spilled = 0
        self.places: dict[Key, int] = {}
        self.keys: list[Key | None] = []
        self._free: list[int] = []  # the next one last

    def __len__(self) -> int:
        return len(self.places) + self.spilled

    @property
    def taught(self) -> int:
        """How many records all keys have learned."""
        return int(self.tallies[ANSWERS].sum())

    @property
    def features(self) -> int:
        """How many features keys know."""
        return len(self.statistics)

    @property
    def ages(self) -> list[Ages]:
        """How answers to keys of each age did."""
        since = [0, *(1 << age for age in range(AGES - 1))]
        answers, right, alone = (
            self.tallies[row].tolist() for row in (ANSWERS, RIGHT, MODEL_RIGHT)
        )
        trust = (self.trust[row].tolist() for row in (IN_MODEL, IN_KEY))
        return list(map(Ages, since, answers, right, alone, *trust))

    def counts(self) -> NDArray[np.int64]:
        """Return how many records each place's key has had, up to 65,535."""
        return self.facts[: len(self.keys)] & MOST_COUNTED

    def grow(self, features: int, classes: int) -> None:
        """Make room for so many features and classes; what is known stays."""
        features = min(features, self.most_features)
        if features <= self.features and classes <= self.classes:
            return
        statistics = np.zeros((max(features, self.features), STATISTICS))
        statistics[: self.features] = self.statistics
        old, width = self.matrix, len(statistics) + 1
        machines = classes if classes > 2 else 1
        self.statistics, self.classes = statistics, max(classes, self.classes)
        self.matrix = fitted(old, (machines, 2, width))

    def take(self, rows: Rows, keys: Sequence[Key], *, standardize: bool) -> None:
        """Correct the global model's answers, and learn from the rows that have a label.

        Parameters
        ----------
        rows
            The rows, their labels, and the global model's answers, which are corrected in place.
        keys
            One a row; sound ones.
        standardize
            Whether features are scaled.

        """
        learns = rows.labels >= 0
        begin, n = 0, len(keys)
        while begin < n:
            places = np.fromiter(map(self.places.get, keys[begin:], repeat(-1)), np.int64)
            end = begin + self._place(keys[begin:], learns[begin:], places)
            part = rows if end - begin == n else rows.part(begin, end)
            self._run(part, places[: end - begin], standardize=standardize)
            if end < n:
                self._forget()
            begin = end

    def _place(
        self, keys: Sequence[Key], learns: NDArray[np.bool_], places: NDArray[np.int64]
    ) -> int:
        """Give new keys that have a label a place; returns how many rows until there is no room."""
        done, back = len(keys), list[tuple[int, Known]]()
        new = np.flatnonzero(places < 0).tolist()
        with self._spilled_rows(any_asked=bool(new)) as known:
            for i in new:
                key = keys[i]
                place = self.places.get(key, -1)
                row = known(key) if place < 0 else None
                if place < 0 and (learns[i] or row is not None):
                    if self._free:
                        place = self._free.pop()
                        self.keys[place] = key
                    elif len(self.keys) == self.max_keys:
                        done = i
                        break
                    else:
                        place = len(self.keys)
                        self.keys.append(key)
                    self.places[key] = place
                    if row is not None:
                        back.append((place, row))
                places[i] = place
        if len(self.keys) > len(self.facts):
            self._make_room(len(self.keys))
        for place, found in back:
            self.matrix[place] = fitted(found.row[None], self.matrix.shape[1:])[0]
            self.facts[place], self.clocks[place] = found.facts, found.clocks
        self.spilled -= len(back)
        return done

    def _spilled_rows(
        self, *, any_asked: bool = True
    ) -> AbstractContextManager[Callable[[Key], Known | None]]:
        """Lend what finds the row of a key that has none in the matrix."""
        if self.spill is None or self.spilled == 0 or not any_asked:
            return nullcontext(_nothing)
        return self.spill.reading()

    def known(self, key: Key) -> Known | None:
        """Return what is known of a key, wherever it is; None if nothing is."""
        place = self.places.get(key, -1)
        if place >= 0:
            return Known(int(self.facts[place]), self.matrix[place], self.clocks[place])
        with self._spilled_rows() as spilled:
            found = spilled(key)
        if found is None:
            return None
        return found._replace(row=fitted(found.row[None], self.matrix.shape[1:])[0])

    def _make_room(self, keys: int) -> None:
        room = max(_FIRST_ROOM, keys, len(self.facts) * 3 // 2)
        if self.max_keys is not None:
            room = min(room, self.max_keys)
        matrix = np.zeros((room, *self.matrix.shape[1:]), dtype=np.float32)
        matrix[: len(self.matrix)] = self.matrix
        facts = np.zeros(room, dtype=np.int64)
        facts[: len(self.facts)] = self.facts
        clocks = np.zeros((room, CLOCKS), dtype=np.float32)
        clocks[: len(self.clocks)] = self.clocks
        self.matrix, self.facts, self.clocks = matrix, facts, clocks

    def _forget(self) -> None:
        """Forget the keys that were used longest ago, or spill them."""
        goes = max(1, len(self.keys) // _GOES)
        oldest = np.sort(np.argpartition(self.facts[: len(self.keys)], goes - 1)[:goes])
        keys = [key for place in oldest.tolist() if (key := self.keys[place]) is not None]
        if self.spill is None:
            self.forgotten += goes
        else:
            self.spill.put(keys, self.matrix[oldest], self.facts[oldest], self.clocks[oldest])
            self.spilled += goes
        self.matrix[oldest], self.facts[oldest], self.clocks[oldest] = 0, 0, 0
        for key in keys:
            self.keys[self.places.pop(key)] = None
        self._free = oldest[::-1].tolist()

    def _run(self, rows: Rows, places: NDArray[np.int64], *, standardize: bool) -> None:
        room = max(rows.proba.shape[1], self.features, 1)
        run_bank(
            self.matrix.reshape(len(self.matrix), prod(self.matrix.shape[1:])),
            self.facts,
            self.clocks,
            self.trust,
            self.tallies,
            self.statistics,
            standardize,
            rows.values,
            rows.columns,
            rows.starts,
            places,
            rows.labels,
            rows.importance,
            rows.proba,
            rows.likeliest,
            np.empty((3, room)),
            np.empty(room, dtype=np.int64),
        )

    def parts(
        self, row: Row, told: NDArray[np.float64], key: Key, *, standardize: bool
    ) -> list[OwnPart]:
        """Return what each class's score is made of; the scores add up to zero.

        ``told`` are the logarithms of the global model's probabilities.
        """
        z = self._scaled(row, standardize=standardize)
        known = self.known(key)
        records = 0 if known is None else known.facts & MOST_COUNTED
        age = min(records.bit_length(), AGES - 1)
        in_model, in_key = self.trust[[IN_MODEL, IN_KEY], age].tolist()
        weights = np.zeros((len(told), len(z) + 1))
        if known is not None and self.matrix.shape[1] == 1 and len(told) == 2:
            weights[1] = known.row[0, 0]
        elif known is not None and len(told) > 2:
            weights[:] = known.row[:, 0]
        own = in_key * (weights - weights.mean(axis=0))
        model, there = in_model * (told - told.mean()), np.flatnonzero(z).tolist()
        return [
            OwnPart(records, m, float(w[0]), {i: float(w[1 + i] * z[i]) for i in there})
            for m, w in zip(model.tolist(), own, strict=True)
        ]

    def _scaled(self, row: Row, *, standardize: bool) -> NDArray[np.float64]:
        """Return a record's features as keys see them."""
        z = np.zeros((1, self.features), dtype=np.float32)
        values = np.full(self.features, ABSENT)
        if row.starts.size > 0:
            known = row.columns < self.features
            values[row.columns[known]] = row.values[known]
        else:
            first = row.values.reshape(-1)[: self.features]
            values[: len(first)] = first
        nothing = np.zeros(0, dtype=np.int64)
        scale_rows(self.statistics, standardize, values, nothing, nothing, z)
        scaled: NDArray[np.float64] = z[0].astype(np.float64)
        return scaled

    def hold(
        self,
        keys: Sequence[Key],
        matrix: NDArray[np.float32],
        facts: NDArray[np.int64],
        clocks: NDArray[np.float32],
    ) -> None:
        """Know these keys, and what is known of them, instead of those that were known."""
        self.keys, self.matrix, self.facts, self.clocks = list(keys), matrix, facts, clocks
        self.places = {key: place for place, key in enumerate(keys)}
        self._free = []

    def head(self) -> dict[str, Any]:
        """Return what a file holds beside the rows of keys; nothing in it changes any more."""
        return {
            "places": len(self.keys),
            "classes": self.classes,
            "forgotten": self.forgotten,
            **{name: getattr(self, name).copy() for name in ("trust", "tallies", "statistics")},
            **({} if self.spill is None else {"spilled_keys": self.spilled}),
        }

    def rows(self, since: int | None = None) -> KeyRows:
        """Return the rows of keys; nothing in them changes any more.

        Parameters
        ----------
        since
            Those only that were used, or have gone, since all keys had learned so many records.

        """
        facts = self.facts[: len(self.keys)]
        if since is None:
            places = np.arange(len(self.keys))
        else:
            places = np.flatnonzero((facts >> COUNT_BITS >= since) | (facts == 0))
        keys = [self.keys[place] for place in places.tolist()]
        return KeyRows(places, keys, self.matrix[places], facts[places], self.clocks[places])

    def payload(self) -> dict[str, Any]:
        """Return what a file holds, all of it; nothing in it changes any more."""
        whole = self.head() | {"rows": [self.rows().payload()]}
        if self.spill is not None:
            self._drop_returned(self.spill)
            spilled = self.spill.rows(self.matrix.shape[1:])
            assert spilled is not None
            whole["spilled"] = list(spilled.parts())
        return whole

    def _drop_returned(self, spill: Spill) -> None:
        """Drop what is spilled of keys that have come back since."""
        if len(spill) > self.spilled:
            spill.remove(list(self.places))

    def restore(self, payload: dict[str, Any], features: int, most_classes: int) -> None:
        """Take over what `payload` gave; raises ValueError if kernels could not trust it.

        Of several parts of rows the later ones count. ``features`` and ``most_classes`` are how
        many the model knows. Spilled ones are taken part by part.
        """
        width, classes = len(payload["statistics"]), payload["classes"]
        n, forgotten, parts = payload["places"], payload["forgotten"], payload["rows"]
        require(width <= min(features, self.most_features))
        require(type(classes) is int and 0 <= classes <= most_classes)
        require(type(forgotten) is int and 0 <= forgotten < 2**62)
        require(type(n) is int and 0 <= n <= (2**62 if self.max_keys is None else self.max_keys))
        require(n <= sum(len(part["places"]) for part in parts))
        trust = sound_array(payload, "trust", np.float64, self.trust.shape)
        tallies = sound_array(payload, "tallies", np.int64, self.tallies.shape)
        statistics = sound_array(payload, "statistics", np.float64, (width, STATISTICS))
        require(bool((trust >= 0).all() and (trust[[IN_MODEL, IN_KEY]] <= MOST_TRUST).all()))
        require(bool((tallies >= 0).all() and (tallies <= _MOST_TAUGHT // AGES).all()))
        require(bool((tallies[[RIGHT, MODEL_RIGHT]] <= tallies[ANSWERS]).all()))
        require(bool((statistics[:, NEVER_NEGATIVE] >= 0).all()))
        machines = classes if classes > 2 else 1
        keys, matrix, facts, clocks = merged_rows(parts, n, (machines, 2, width + 1))
        require(bool((facts >> COUNT_BITS <= tallies[ANSWERS].sum()).all()))
        places = {key: place for place, key in enumerate(keys) if key is not None}
        require(len(places) == np.count_nonzero(facts))
        self.matrix, self.facts, self.clocks, self.trust = matrix, facts, clocks, trust
        self.tallies, self.statistics, self.classes = tallies, statistics, classes
        self.places, self.keys, self.forgotten = places, keys, forgotten
        self._free = np.flatnonzero(facts == 0)[::-1].tolist()
        self._restore_spilled(payload.get("spilled_keys", 0), payload.get("spilled", ()))

    def _restore_spilled(self, n: Any, parts: Iterable[dict[str, Any]]) -> None:
        """Take over the rows of so many keys that were spilled."""
        require(type(n) is int and n >= 0 and (n == 0 or self.spill is not None))
        if self.spill is None:
            return
        for part in parts:
            keys, matrix, facts, clocks = sound_rows(part, self.matrix.shape[1:])
            require(bool((facts >> COUNT_BITS <= self.taught).all()))
            self.spill.put(keys, matrix, facts, clocks)
        self.spilled = n
        self._drop_returned(self.spill)
        require(len(self.spill) == n)
