"""How a model for each key is doing: how many keys, answers by their age, and the worst of late."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from stream_llsvm.connectors.base import Batch
from stream_llsvm.dashboard.json_values import number, text
from stream_llsvm.engine.keys import parted
from stream_llsvm.engine.learner import Answers
from stream_llsvm.engine.rounds import Rounds
from stream_llsvm.learners.keyed import KeyedClassifier
from stream_llsvm.model.bank import Ages

_WINDOW, _WORST = 10_000, 10


@dataclass(frozen=True)
class Keys:
    """How many keys are known, how many were forgotten, their bytes, and answers by age."""

    known: int
    forgotten: int
    size: int
    ages: list[Ages]


def keys_of(model: Any, rounds: Rounds | None = None) -> Keys | None:
    """Return what is known of a model's keys, None if it has none; several learners have them."""
    if not isinstance(model, KeyedClassifier):
        return None
    bank = model._bank
    known, size = len(bank), bank.matrix.nbytes + bank.facts.nbytes
    if rounds is not None and rounds.shards:
        known, size = (sum(each) for each in zip(*rounds.shards, strict=True))
    return Keys(known, bank.forgotten, size, bank.ages)


class Told(NamedTuple):
    """Whose records some were, their labels, and what was answered."""

    keys: Sequence[Any]
    labels: Sequence[Any]
    answers: Sequence[Any]


class KeyWindow:
    """The answers to the last ten thousand records, with their keys.

    Examples
    --------
    >>> window = KeyWindow()
    >>> window._take(Told(["ann", "bob", "bob", "bob"], [1, 1, 0, 0], [1, 1, 1, 1]))
    >>> worst(window.told())
    [('bob', 3, 2)]

    """

    def __init__(self) -> None:
        self._told: deque[Told] = deque()
        self._held = 0

    def take(self, key: Any, batch: Batch, answers: Answers) -> None:
        """Keep a batch, as long as it is among the last."""
        self._take(Told(parted(batch, key)[0], batch.labels, answers.labels))

    def _take(self, told: Told) -> None:
        self._told.append(told)
        self._held += len(told.keys)
        while self._held - len(self._told[0].keys) >= _WINDOW:
            self._held -= len(self._told.popleft().keys)

    def told(self) -> tuple[Told, ...]:
        """Return them; nothing in them changes."""
        return tuple(self._told)


def worst(told: Iterable[Told]) -> list[tuple[Any, int, int]]:
    """Return the keys with the most errors above their usual share: key, answers and errors."""
    came: Counter[Any] = Counter()
    wrong: Counter[Any] = Counter()
    for keys, labels, answers in told:
        for key, label, answer in zip(keys, labels, answers, strict=True):
            if label is not None and answer is not None:
                came[key] += 1
                wrong[key] += answer != label
    usual = wrong.total() / max(1, came.total())
    bad = sorted(came, key=lambda key: usual * came[key] - wrong[key])[:_WORST]
    return [(key, came[key], wrong[key]) for key in bad if wrong[key] > usual * came[key]]


def shown(keys: Keys | None, told: Sequence[Told]) -> dict[str, Any] | None:
    """Return what a frame says of keys, None if there are none."""
    if keys is None:
        return None
    total = max(1, sum(age.answers for age in keys.ages))
    return {
        "known": keys.known,
        "forgotten": keys.forgotten,
        "bytes": keys.size,
        "ages": [
            {
                "since": age.since,
                "share": number(age.answers / total),
                "accuracy": number(age.right / age.answers) if age.answers else None,
                "alone": number(age.model_right / age.answers) if age.answers else None,
                "trust": number(age.trust_in_key, 3),
            }
            for age in keys.ages
        ],
        "worst": [{"key": text(key), "answers": n, "wrong": bad} for key, n, bad in worst(told)],
    }
