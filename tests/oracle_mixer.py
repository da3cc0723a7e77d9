"""The oracle's mixer: kernels/mixer.py's four lines, in plain float64."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from stream_llsvm.kernels import join as joining
from stream_llsvm.kernels import judge as judging
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
    """How a member does alone, and how much worse the whole would be without it, or is now."""

    loss: float = 0.0
    accuracy: float = 0.0
    worth: float = 0.0
    worth_squared: float = 0.0
    judged: float = 0.0
    #: Whether it was a tie whom the member put first: then rounding decides if it was right.
    tied: bool = False


class Mixer:
    """One trust an expert, however many members the experts belong to."""

    def __init__(
        self, trust: Sequence[float], classes: int, on_top: int = 0, seldom: int = 0
    ) -> None:
        self.classes = classes
        #: Those behind come on top of these, and their scores stay as they are.
        experts = len(trust)
        self.counted = counted = experts - on_top
        #: Those that seldom speak do not count where the mixer is paced.
        self.seldom = seldom
        self.trust = np.array(trust, dtype=np.float64) / self.paced
        self.power, self.effort = np.ones(experts), np.zeros(experts)
        self.trust[counted:] = np.minimum(1.0, self.trust[counted:]) * mixing.ON_TOP_SIZE
        self.power[counted:] = mixing.ON_TOP_SIZE**2
        self.alone, self.alone_effort = np.zeros(experts), np.zeros(experts)
        self.mixed = 0
        #: How much all together count, and how much what comes on top.
        self.all, self.over, self.join_effort = 1.0, 0.0, np.zeros(2)
        #: What the joint answer gains, and over how many records.
        self.gain, self.gained = 0.0, 0.0

    @property
    def paced(self) -> int:
        """By how many experts the mixer is paced."""
        return max(1, self.counted - self.seldom or self.counted)

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
        self._step(mixed, label, w, range(len(self.trust)))

    def _step(self, mixed: Mixed, label: int, w: float, which: Iterable[int]) -> None:
        rate = w * self._rate(self.paced)
        pace = max(0.001, 1 / (self.mixed + 1))
        for e in which:
            if mixed.squares[e] == 0:
                continue
            gradient = mixed.normal[e, label] - mixed.normal[e] @ mixed.proba
            self.effort[e] = mixing.FADE * self.effort[e] + gradient**2
            trust = self.trust[e] + rate * gradient / np.sqrt(1 + self.effort[e])
            self.trust[e] = np.clip(trust, -mixing.LARGEST_TRUST, mixing.LARGEST_TRUST)
            if e < self.counted:
                self.power[e] += pace * (mixed.squares[e] - self.power[e])

    def answer(self, mixed: Mixed) -> Array:
        """Return what is answered: the joint answer while it gains."""
        return self.join(mixed) if self.gain > 0 else mixed.proba

    def join(self, mixed: Mixed) -> Array:
        """Return the joint answer: the mixer's, unless something on top speaks."""
        if self.over == 0 or not self._speaks(mixed):
            return mixed.proba
        return softmax(self.all * np.log(mixed.proba) + self.over * self._height(mixed))

    def learn_join(self, mixed: Mixed, joint: Array, label: int, w: float) -> None:
        """Step both shares and follow the gain; the first time they only begin."""
        if not self._speaks(mixed):
            return
        if self.over == 0:
            self.all, self.over = 0.7, 0.3
            return
        self.gained += 1
        gain = float(np.log(joint[label]) - np.log(mixed.proba[label]))
        self.gain += max(1 - joining.GAIN_FADE, 1 / self.gained) * (gain - self.gain)
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
        without = Mixed(mixed.normal.copy(), mixed.squares.copy(), mixed.proba)
        without.normal[own], without.squares[own] = 0, 0
        without.proba = softmax(self.trust @ without.normal)
        told = self._told_of(own)
        lost = np.log(told(mixed)[label]) - np.log(told(without)[label])
        self._follow(report, own, mixed, label, float(lost))

    def judge_resting(
        self, report: Report, own: slice, mixed: Mixed, scores: Array, label: int, w: float
    ) -> None:
        """Follow what the member that rests would add, and learn how far it is to be trusted."""
        everything = np.zeros((len(self.trust), scores.shape[1]))
        everything[own] = scores
        heard = self.mix(everything)
        together = Mixed(mixed.normal.copy(), mixed.squares.copy(), mixed.proba)
        together.normal[own], together.squares[own] = heard.normal[own], heard.squares[own]
        together.proba = softmax(self.trust @ together.normal)
        told = self._told_of(own)
        gained = np.log(told(together)[label]) - np.log(told(mixed)[label])
        self._follow(report, own, together, label, float(gained))
        self._step(together, label, w, range(own.start, own.stop))
        if own.start >= self.counted:
            self.learn_join(together, self.join(together), label, w)

    def _told_of(self, own: slice) -> Callable[[Mixed], Array]:
        """How the whole answers where a member is judged: what comes on top as if listened to."""
        return self.join if own.start >= self.counted else self.answer

    def _follow(self, report: Report, own: slice, mixed: Mixed, label: int, worth: float) -> None:
        z = mixed.normal
        by_itself = softmax(self.alone[own] @ z[own])
        report.judged += 1
        pace = max(1 - judging.JUDGE_FADE, 1 / report.judged)
        report.loss += pace * (-np.log(by_itself[label]) - report.loss)
        right = float(np.argmax(by_itself) == label)
        report.tied |= int((by_itself > by_itself.max() - 1e-4).sum()) > 1
        report.accuracy += pace * (right - report.accuracy)
        pace = max(1 - judging.WORTH_FADE, 1 / report.judged)
        report.worth += pace * (worth - report.worth)
        report.worth_squared += pace * (worth**2 - report.worth_squared)
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
