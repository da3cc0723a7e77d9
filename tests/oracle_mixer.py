"""The oracle's mixer: kernels/mixer.py's four lines, in plain float64."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from stream_llsvm.kernels import mixer as mixing
from tests.oracle_parts import Array


@dataclass
class Mixed:
    """What the mixer makes of one record's scores."""

    normal: Array
    squares: Array
    proba: Array


@dataclass
class Report:
    """How a member does alone, and how much worse the whole would do without it."""

    loss: float = 0.0
    accuracy: float = 0.0
    worth: float = 0.0
    judged: float = 0.0
    #: Whether it was a tie whom the member put first: then rounding decides if it was right.
    tied: bool = False


class Mixer:
    """One trust an expert, however many members the experts belong to."""

    def __init__(self, experts: int, classes: int, on_top: int = 0) -> None:
        self.classes = classes
        #: Those behind come on top of these, and their scores stay as they are.
        self.counted = counted = experts - on_top
        self.trust = np.full(experts, mixing.FIRST_TRUST / max(1, counted))
        self.power, self.effort = np.ones(experts), np.zeros(experts)
        share = min(1.0, mixing.ON_TOP / max(1, counted))
        self.trust[counted:] = share * mixing.ON_TOP_SIZE
        self.power[counted:] = mixing.ON_TOP_SIZE**2
        self.alone, self.alone_effort = np.zeros(experts), np.zeros(experts)
        self.mixed = 0
        #: How much all together count, and how much what comes on top.
        self.all, self.over, self.join_effort = 1.0, 0.0, np.zeros(2)

    def mix(self, scores: Array) -> Mixed:
        """Centre, normalise, clip and add up (experts, columns)."""
        if scores.shape[1] == 1:
            centred = scores / 2 * np.array([-1.0, 1.0])[: self.classes]
            centred = centred if self.classes > 1 else 0 * centred
            squares = scores[:, 0] ** 2
        else:
            centred = scores - scores.mean(axis=1, keepdims=True)
            squares = (centred**2).sum(axis=1)
        rms = np.sqrt(self.power) + 1e-6
        normal = np.clip(centred / rms[:, None], -mixing.Z_CLIP, mixing.Z_CLIP)
        logits = self.trust @ normal
        return Mixed(normal, squares, softmax(logits))

    def learn(self, mixed: Mixed, label: int, w: float) -> None:
        """Step along the gradient of the label's log probability; who says nothing is left be."""
        self.mixed += 1
        rate = w * self._rate(max(1, self.counted))
        pace = max(0.001, 1 / (self.mixed + 1))
        for e in np.flatnonzero(mixed.squares):
            gradient = mixed.normal[e, label] - mixed.normal[e] @ mixed.proba
            self.effort[e] = mixing.FADE * self.effort[e] + gradient**2
            trust = self.trust[e] + rate * gradient / np.sqrt(1 + self.effort[e])
            self.trust[e] = np.clip(trust, -mixing.LARGEST_TRUST, mixing.LARGEST_TRUST)
            if e < self.counted:
                self.power[e] += pace * (mixed.squares[e] - self.power[e])

    def join(self, mixed: Mixed) -> Array:
        """Return the joint answer: the mixer's, unless something on top speaks."""
        if self.over == 0 or not self._speaks(mixed):
            return mixed.proba
        return softmax(self.all * np.log(mixed.proba) + self.over * self._height(mixed))

    def learn_join(self, mixed: Mixed, joint: Array, label: int, w: float) -> None:
        """Step both shares; the first time they only begin."""
        if not self._speaks(mixed):
            return
        if self.over == 0:
            self.all, self.over = 0.7, 0.3
            return
        truth = np.arange(self.classes) == label
        for i, height in enumerate((np.log(mixed.proba), self._height(mixed))):
            gradient = float((truth - joint) @ height)
            self.join_effort[i] = 0.999 * self.join_effort[i] + gradient**2
            step = w * 0.1 * gradient / np.sqrt(1 + self.join_effort[i])
            if i == 0:
                self.all = float(np.clip(self.all + step, 1e-3, 4))
            else:
                self.over = float(np.clip(self.over + step, 1e-3, 4))

    def _speaks(self, mixed: Mixed) -> bool:
        return self.counted > 0 and bool(mixed.squares[self.counted :].any())

    def _height(self, mixed: Mixed) -> Array:
        return np.asarray(mixing.ON_TOP_SIZE * mixed.normal[self.counted :].sum(axis=0))

    def _rate(self, experts: int) -> float:
        classes = max(2, self.classes)
        return float(min(mixing.LARGEST_RATE, mixing.RATE / experts) * np.sqrt(classes / 2))

    def judge(self, report: Report, own: slice, mixed: Mixed, label: int) -> None:
        """Follow how the member with these experts would do alone, and the others without it."""
        z, logits = mixed.normal, self.trust @ mixed.normal
        by_itself = softmax(self.alone[own] @ z[own])
        without = softmax(logits - self.trust[own] @ z[own])
        report.judged += 1
        pace = max(1 - mixing.JUDGE_FADE, 1 / report.judged)
        report.loss += pace * (-np.log(by_itself[label]) - report.loss)
        right = float(np.argmax(by_itself) == label)
        report.tied |= int((by_itself > by_itself.max() - 1e-4).sum()) > 1
        report.accuracy += pace * (right - report.accuracy)
        lost = np.log(mixed.proba[label]) - np.log(without[label])
        report.worth += pace * (lost - report.worth)
        gradient = z[own, label] - z[own] @ by_itself
        self.alone_effort[own] = mixing.FADE * self.alone_effort[own] + gradient**2
        rate = self._rate(len(gradient))
        alone = self.alone[own] + rate * gradient / np.sqrt(1 + self.alone_effort[own])
        self.alone[own] = np.clip(alone, -mixing.LARGEST_TRUST, mixing.LARGEST_TRUST)

    def keep(self, experts: Sequence[int], classes: int) -> None:
        """Go on with some of the experts, for more classes."""
        self.counted = len(experts) - (len(self.trust) - self.counted)
        which = np.array(experts, dtype=np.int64)
        self.trust, self.power = self.trust[which], self.power[which]
        self.alone, self.alone_effort = self.alone[which], self.alone_effort[which]
        self.effort, self.classes = self.effort[which], classes


def softmax(logits: Array) -> Array:
    """Return probabilities; none is 0."""
    logits = np.maximum(logits, logits.max() + mixing.FARTHEST_BEHIND)
    return np.asarray(np.exp(logits - np.logaddexp.reduce(logits)))
