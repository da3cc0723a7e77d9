"""The oracle's contexts: a table of cells as tuples, and the equations one by one."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from stream_llsvm.members.contexts.member import Contexts
from stream_llsvm.members.field_sets import sets_of
from stream_llsvm.model.state import columns_of
from stream_llsvm.records.boxes import unboxed
from tests.oracle_parts import Array

WORD = 2**64
EPS, START, FLOOR = 1e-3, 2.0, 0.005
NAME, MISSING, EIGHTH, WHOLE = 1, 8, 9, 10


def signed(word: int) -> int:
    """Return 64 bits as a number with a sign."""
    word %= WORD
    return word - WORD if word >= WORD // 2 else word


def mixed(word: int) -> int:
    """Mix 64 bits, on Python's own integers."""
    h = signed(word * 0x3F58476D1CE4E5B9)
    h = signed((h ^ (h >> 29)) * 0x14D049BB133111EB)
    return h ^ (h >> 32)


def key_of(column: int, kind: int, content: int) -> int:
    """Return the key of a value of a field, whose hash is its column and one more."""
    return mixed(mixed(1 + column + kind * 0x1E3779B97F4A7C15) + content)


@dataclass
class Cell:
    """A context: how often it came, its tag, and a share a class."""

    count: float = 0.0
    tag: int = 0
    shares: Array = field(default_factory=lambda: np.zeros(0))


@dataclass
class Asked:
    """A context that the record asks for, and how much it counts within its set."""

    code: int
    of: int
    scale: float
    place: int = -1
    bucket: int = 0
    votes: Array = field(default_factory=lambda: np.zeros(0))


class ContextsOracle:
    """A contexts member that is awake from the first record on."""

    experts = 1

    def __init__(self, options: Contexts, width: int, classes: int) -> None:
        assert options.eager
        self.most = options.n_cells
        self.classes = classes
        self.table = [Cell(shares=np.zeros(classes)) for _ in range(1_024)]
        self.seen, self.usual = 0, np.full(classes, 1 / max(1, classes))
        self.weights: dict[tuple[int, ...], list[float]] = {(): [1.0, 0.0]}
        self.trust = [[1.0, 0.0] for _ in range(24)]
        self.x = np.zeros(0)
        self._regroup(width)

    def _regroup(self, width: int) -> None:
        self.width = width
        self.sets = sets_of(range(1, 1 + width), 128, 5)
        for s in self.sets:
            if self.weights.get(s, [0, 0])[1] == 0:
                self.weights[s] = [1 / len(self.sets), 0.0]

    def _place(self, code: int) -> tuple[int, bool]:
        """Return where a context lies or may lie, and whether it is there."""
        i, tag = code % len(self.table), (code >> 10) % 2**24
        for j in (i, i ^ 1):
            if self.table[j].count > 0 and self.table[j].tag == tag:
                return j, True
        return (i ^ 1 if self.table[i ^ 1].count < self.table[i].count else i), False

    def _alone(self, c: int, z: float) -> tuple[list[int], int]:
        """Return the keys of a field alone, and its key together with others."""
        v = self.x[c]
        kind, content = unboxed(float(v))
        if kind:
            key = key_of(c, kind, content)
            return [key], key
        if not np.isfinite(v):
            key = key_of(c, MISSING, 0)
            return [key], key
        eighth = key_of(c, EIGHTH, int(np.clip(np.floor(2 * (z + 2)), 0, 7)))
        if v != np.floor(v):
            return [eighth], eighth
        whole = key_of(c, WHOLE, int(v))
        place, there = self._place(mixed(whole))
        known = there and self.table[place].count >= 2
        return [eighth, whole], whole if known else eighth

    def score(self, z: Array) -> Array:
        """Return the usual and the sum of the votes, (1, columns)."""
        found = [self._alone(c, float(z[c])) for c in range(self.width)]
        self.asked = []
        for n, s in enumerate(self.sets):
            keys = found[s[0]][0] if len(s) == 1 else [sum(found[c][1] for c in s)]
            self.asked += [Asked(mixed(key), n, 1 / math.sqrt(len(keys))) for key in keys]
        self.told = np.log(self.usual + EPS)
        self.height = self.weights[()][0] * self.told
        for one in self.asked:
            place, there = self._place(one.code)
            if there:
                cell = self.table[place]
                one.place, one.bucket = place, min(23, math.floor(math.log2(cell.count)))
                one.votes = np.log(cell.shares + EPS) - self.told
                counts = self.weights[self.sets[one.of]][0] * self.trust[one.bucket][0]
                self.height = self.height + one.scale * counts * one.votes
        if self.classes < 2:
            return np.zeros((1, 1))
        if columns_of(self.classes) == 1:
            return np.array([[self.height[1] - self.height[0]]])
        return np.array([self.height])

    def learn(self, label: int, w: float, scores: Array) -> None:
        """Step the weights of the sets and the trust in counts, then the cells and the usual."""
        if self.classes < 2:
            return
        truth = (np.arange(self.classes) == label).astype(float)
        p = np.exp(self.height - self.height.max())
        push = truth - p / p.sum()
        slopes = np.zeros(len(self.sets))
        of_trust = np.zeros(24)
        for one in self.asked:
            if one.place >= 0:
                slope = one.scale * float(push @ one.votes)
                slopes[one.of] += slope * self.trust[one.bucket][0]
                of_trust[one.bucket] += slope * self.weights[self.sets[one.of]][0]
        step = w * 0.6 / math.sqrt(len(self.sets))
        _follow(self.weights[()], float(push @ self.told), step)
        for s, slope in zip(self.sets, slopes.tolist(), strict=True):
            _follow(self.weights[s], slope, step)
        for trust, slope in zip(self.trust, of_trust.tolist(), strict=True):
            _follow(trust, slope, 0.1 * w)
            trust[0] = min(max(trust[0], 0.05), 4.0)
        for one in self.asked:
            self._count(one, truth, w)
        self.seen += 1
        pace = min(1.0, w * max(1 / (self.seen + self.classes), 0.0005))
        self.usual = self.usual + pace * (truth - self.usual)
        taken = sum(cell.count > 0 for cell in self.table)
        if 4 * taken > len(self.table) < self.most:
            self._double()

    def _count(self, one: Asked, truth: Array, w: float) -> None:
        tag = (one.code >> 10) % 2**24
        place = one.place
        if place < 0 or self.table[place].count == 0 or self.table[place].tag != tag:
            place, _ = self._place(one.code)
        cell = self.table[place]
        if cell.count == 0:
            cell.tag, cell.shares = tag, self.usual.copy()
        elif cell.tag != tag:
            cell.count -= 1
            return
        cell.count += 1
        pace = min(1.0, w * max(1 / (cell.count + START), FLOOR))
        cell.shares = cell.shares + pace * (truth - cell.shares)

    def _double(self) -> None:
        used = len(self.table)
        bit = int(math.log2(used)) - 10
        self.table += [Cell(shares=np.zeros(self.classes)) for _ in range(used)]
        for i in range(used):
            if self.table[i].count > 0 and self.table[i].tag >> bit & 1:
                self.table[i], self.table[used + i] = self.table[used + i], self.table[i]

    def grow(self, width: int, classes: int) -> list[int]:
        """Know more fields or classes: of a class that nobody has seen there is no share."""
        more = classes - self.classes
        for cell in self.table:
            cell.shares = np.pad(cell.shares, (0, more))
        self.usual = np.append(self.usual * self.classes / classes, np.full(more, 1 / classes))
        self.classes = classes
        self._regroup(width)
        return [0]


def _follow(weight: list[float], slope: float, step: float) -> None:
    weight[1] = 0.999 * weight[1] + slope**2
    weight[0] += step * slope / math.sqrt(1 + weight[1])
