"""Streams of records that name few of many words: drawn with a seed, or read from files."""

from __future__ import annotations

import csv
import gzip
import re
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scores import Record

LABEL = "label"
#: Of the new-names stream: names that come with each record, and those that it draws of the known.
NEW, KNOWN = 10, 30


class Texts(NamedTuple):
    """A stream: its name, its records as dicts of numbers, and their labels."""

    name: str
    records: list[Record]
    labels: list[Any]

    def named(self) -> float:
        """Return how many words a record names on the mean."""
        return float(np.mean([len(record) for record in self.records]))

    def words(self) -> int:
        """Return how many different words there are."""
        return len(set().union(*self.records))


class Topics:
    """Topics, each a set of words drawn from Zipf's law, whose words come and go."""

    def __init__(self, words: int, topics: int, each: int, rng: np.random.Generator) -> None:
        shares = 1 / np.arange(1, words + 1) ** 1.05
        self._rng, self._sums = rng, np.cumsum(shares / shares.sum())
        self._rare = np.arange(min(100, words // 10), words)
        self._shares = shares[self._rare] / shares[self._rare].sum()
        self._words = [self._drawn(each) for _ in range(topics)]

    def _drawn(self, n: int) -> NDArray[np.int64]:
        return self._rng.choice(self._rare, n, replace=False, p=self._shares)

    def drift(self, each: int) -> None:
        """Let each topic lose some words and get as many others."""
        for words in self._words:
            words[self._rng.integers(0, len(words), each)] = self._drawn(each)

    def text(self, length: int, *parts: tuple[int, float]) -> Record:
        """Draw a text of so many words, a share of them from each of some topics.

        A word's value is 1 and the logarithm of how often it comes.
        """
        drawn = [
            self._rng.choice(self._words[topic], self._rng.binomial(length, share))
            for topic, share in parts
        ]
        rest = length - sum(map(len, drawn))
        common = np.searchsorted(self._sums, self._rng.random(rest))
        words, counts = np.unique(np.concatenate([common, *drawn]), return_counts=True)
        values = 1 + np.log(counts)
        return dict(zip((f"w{word}" for word in words.tolist()), values.tolist(), strict=True))


def zipf(rows: int | None) -> Texts:
    """Draw 100 words of 50,000, some of one of 30 topics; every 4,000 records three topics turn.

    The label is the topic's; which topics are written of changes, and so do their words.
    """
    rng, n, topics = np.random.default_rng(1), rows or 20_000, 30
    drawn = Topics(50_000, topics, 400, rng)
    labels, shares = rng.permutation(np.arange(topics) % 2), rng.dirichlet(np.ones(topics))
    records, told = [], []
    for i in range(n):
        if i > 0 and i % 500 == 0:
            drawn.drift(8)
            shares = 0.8 * shares + 0.2 * rng.dirichlet(np.ones(topics))
        if i > 0 and i % 4_000 == 0:
            turned = rng.choice(topics, 3, replace=False)
            labels[turned] = 1 - labels[turned]
        first, second = rng.choice(topics, 2, p=shares).tolist()
        records.append(drawn.text(100, (first, 0.07), (second, 0.03)))
        told.append(int(labels[first]))
    return Texts("zipf", records, told)


def topics(rows: int | None) -> Texts:
    """Draw texts on eight topics, 100 words of 30,000; the label is the topic most is of."""
    rng, n = np.random.default_rng(2), rows or 8_000
    drawn = Topics(30_000, 8, 400, rng)
    records, told = [], []
    for i in range(n):
        if i > 0 and i % 500 == 0:
            drawn.drift(8)
        first, second = rng.integers(0, 8, 2).tolist()
        records.append(drawn.text(100, (first, 0.09), (second, 0.03)))
        told.append(f"topic {first}")
    return Texts("eight topics", records, told)


def new_names(rows: int | None) -> Texts:
    """Draw records that each bring names that never came before, and never come again often."""
    rng, n = np.random.default_rng(3), rows or 40_500
    tells = rng.normal(size=NEW * n)
    records: list[Record] = []
    told = []
    for i in range(n):
        known = rng.integers(0, max(NEW * i, 1), KNOWN) if i > 0 else np.zeros(0, np.int64)
        often = rng.integers(0, min(NEW * i, 300) + 1, KNOWN)
        words = np.unique(np.concatenate([known, often, np.arange(NEW * i, NEW * (i + 1))]))
        records.append(dict.fromkeys((f"n{word}" for word in words.tolist()), 1.0))
        told.append(bool(tells[words[words <= 300]].sum() > 0))
    return Texts("new names", records, told)


DRAWN = {"zipf": zipf, "topics": topics, "names": new_names}


def read(path: Path, rows: int | None) -> Texts:
    """Read a file: CSV with texts and a column `label`, a sparse matrix in npz, else svmlight."""
    name = path.name.partition(".")[0]
    if path.suffix == ".npz":
        return _matrix(name, path, rows)
    opened = gzip.open if path.suffix == ".gz" else open
    records: list[Record] = []
    labels: list[Any] = []
    with opened(path, "rt", encoding="utf-8", newline="") as lines:
        if ".csv" in path.suffixes:
            for row, _ in zip(csv.DictReader(lines), range(rows or 2**62), strict=False):
                labels.append(row.pop(LABEL))
                records.append(words_of(" ".join(map(str, row.values()))))
            return Texts(name, records, labels)
        for line in lines:
            label, *entries = line.partition("#")[0].split()
            pairs = (entry.split(":") for entry in entries if not entry.startswith("qid:"))
            records.append({int(index): float(value) for index, value in pairs})
            labels.append(label)
            if len(labels) == rows:
                break
    return Texts(name, records, labels)


def words_of(text: str) -> Record:
    """Return how often each word comes in a text."""
    return {word: float(n) for word, n in Counter(re.findall(r"\w+", text.lower())).items()}


def _matrix(name: str, path: Path, rows: int | None) -> Texts:
    """Read the training part of a sparse matrix of ones and zeros."""
    with np.load(path) as file:
        starts, columns, labels = (
            file[key].tolist() for key in ("X_train_indptr", "X_train_indices", "y_train")
        )
    n = min(len(labels), rows or len(labels))
    records: list[Record] = [
        dict.fromkeys(columns[starts[i] : starts[i + 1]], 1.0) for i in range(n)
    ]
    return Texts(name, records, labels[:n])
