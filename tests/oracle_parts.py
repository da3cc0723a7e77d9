"""The oracle's parts: losses, codes and feature scales in plain float64, one formula a line."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.kernels import levels, losses, scaling
from stream_llsvm.members.anchors import codes as coding

Array = NDArray[np.float64]

#: The logistic loss never stops pushing; pushes below this are dropped, to save their steps.
FAINT = 0.01


def loss_of(kind: int, margin: float) -> float:
    """Return the loss at a margin; Huberized: linear beyond a violation of one."""
    if kind == losses.HINGE:
        return max(0.0, 1 - margin)
    if kind == losses.HUBERIZED_HINGE:
        return max(0.0, 1 - margin) ** 2 / 2 if margin > 0 else 0.5 - margin
    return float(np.logaddexp(0, -margin))


def total_loss(kind: int, multiclass: int, scores: Array, label: int) -> float:
    """Return the loss of one expert's scores, one a class, or a single one for two classes."""
    if len(scores) == 1:
        return loss_of(kind, float(scores[0]) * (1 if label == 1 else -1))
    if multiclass == losses.OVR:
        return sum(loss_of(kind, s if c == label else -s) for c, s in enumerate(scores))
    if kind == losses.LOGISTIC:
        return float(np.logaddexp.reduce(scores) - scores[label])
    return loss_of(kind, scores[label] - max(np.delete(scores, label)))


def push_at(kind: int, margin: float) -> float:
    """Return -d loss / d margin."""
    if kind == losses.HINGE:
        return 1.0 if margin < 1 else 0.0
    if kind == losses.HUBERIZED_HINGE:
        return float(np.clip(1 - margin, 0, 1))
    push = 1 / (1 + math.exp(min(margin, 700)))
    return push if push >= FAINT else 0.0


def pushes_at(kind: int, multiclass: int, scores: Array, label: int) -> Array:
    """Return -d loss / d score, for each of one expert's scores."""
    if len(scores) == 1:
        y = 1 if label == 1 else -1
        return np.array([y * push_at(kind, y * scores[0])])
    truth = np.arange(len(scores)) == label
    if multiclass == losses.OVR:
        signs = np.where(truth, 1, -1)
        return np.array([y * push_at(kind, y * s) for y, s in zip(signs, scores, strict=True)])
    if kind == losses.LOGISTIC:
        p = np.exp(scores - scores.max())
        p /= p.sum()
        return np.where(np.abs(truth - p) < FAINT, 0.0, truth - p)
    rival = int(np.argmax(np.where(truth, -np.inf, scores)))
    push = push_at(kind, scores[label] - scores[rival])
    out = np.zeros(len(scores))
    out[label], out[rival] = push, -push
    return out


def codes_at(kind: int, squared: Array, sharpness: float, spread: float) -> tuple[Array, Array]:
    """Return the codes gamma_j, SAPL(2), and their pulls, from squared distances.

    The pull is d gamma_j / d v_j without the factor (h_j - H) (x - v_j): members/anchors/codes.py.
    """
    if kind == coding.SOFTMAX:
        beta = sharpness / (spread + 1e-12)
        raw = np.exp(-beta * (squared - squared.min()))
        return raw / raw.sum(), 2 * beta * raw / raw.sum()
    # A floor a thousandth of the usual distance keeps 1 / d finite, and its derivative too.
    distance = np.sqrt(squared) + 1e-3 * math.sqrt(spread) + 1e-12
    raw = 1 / distance
    return raw / raw.sum(), raw / raw.sum() / distance**2


def follow(mean: float, value: float, pace: float, rise: float) -> float:
    """Return the running mean; the first value is it, and a later one may raise it only so far."""
    if mean <= 0:
        return value
    return mean + pace * (min(value, rise * mean) - mean)


def more_columns(part: Array, axis: int, columns: int, multiclass: int) -> Array:
    """Give each class a column: two classes shared one, and those that are new have zeros."""
    before = part.shape[axis]
    if before == 1 and columns > 1:
        share = 1.0 if multiclass == losses.OVR else 0.5
        part = np.concatenate([-share * part, share * part], axis=axis)
    room = [(0, 0)] * part.ndim
    room[axis] = (0, columns - part.shape[axis])
    return np.pad(part, room)


def bent(z: float) -> float:
    """Return z; beyond 2 a hyperbola with the same slope there, which 2.5 bounds."""
    size = abs(z)
    if size <= scaling.Z_STRAIGHT:
        return z
    room = scaling.Z_MOST - scaling.Z_STRAIGHT
    curve = scaling.Z_MOST - room**2 / (size - scaling.Z_STRAIGHT + room)
    return math.copysign(curve, z)


@dataclass
class Scale:
    """One feature's scale, by the rules that kernels/scaling.py states."""

    count: float = 0.0
    mean: float = 0.0
    variance: float = 0.0
    centre: float = 0.0
    inverse: float = 0.0
    named: float = 0.0
    born: float = 0.0
    #: How many values in a row were far (below zero: near, and close together), and what they are.
    run: float = 0.0
    run_mean: float = 0.0
    run_variance: float = 0.0

    def scaled(self, v: float, standardize: bool, among: int = 1) -> float:
        """Return z; 0 where there is no value, or where 0 is none among so many features."""
        if not math.isfinite(v):
            return 0.0
        if not standardize:
            z = float(np.clip(v, -scaling.RAW_CLIP, scaling.RAW_CLIP))
            return z or (scaling.ON_CENTRE if among < scaling.MANY else 0.0)
        centre, inverse = self.centre, self.inverse
        if self.count < scaling.YOUNG:
            sparse = self.centre == 0 and self.inverse > 0 and self.mean != 0
            sparse |= self.count == 0 and self._absent_before(among) > 0
            mean, variance = self._with(v, 1 / (self.count + 1))
            centre, inverse = self._standard(mean, variance, sparse)
        if v == centre and inverse > 0 and (v != 0 or among < scaling.MANY):
            return scaling.ON_CENTRE  # 0 is for what says nothing
        return bent((v - centre) * inverse)

    def observe(self, v: float, seen: float, among: int = 1) -> None:
        """Learn from the value that the record number ``seen`` has, among so many features."""
        if v == scaling.ABSENT:
            return
        thinning = scaling.THINNING_AMONG_MANY if among >= scaling.MANY else scaling.THINNING
        due, stands_for = seen % thinning == 0, 1
        if self.count >= scaling.YOUNG:
            stands_for = thinning
            if not due:
                return
        if v != 0 or among < scaling.MANY:
            self.named += stands_for
        if math.isnan(v):
            return
        v = float(np.clip(v, -1e100, 1e100))
        self.count += 1
        rate = max(1 / self.count, scaling.SLOWEST)
        watched = due and self.count > levels.SETTLED
        far = (v - self.mean) ** 2 > levels.FAR**2 * self.variance
        # ``_with`` looks at whether the feature has settled, this value included.
        before = self.variance
        self.mean, self.variance = self._with(v, rate)
        if watched:
            self._watch(v, far, before)
        age = seen - self.born + self._absent_before(among)
        sparse = 2 * self.named < age or (self.variance == 0 and self.named < age)
        self.centre, self.inverse = self._standard(self.mean, self.variance, sparse)

    def _absent_before(self, among: int) -> float:
        """How many records count as having come without it before it was first named."""
        return min(self.born, scaling.ABSENT_BEFORE) if among >= scaling.MANY else 0.0

    def _watch(self, v: float, far: bool, variance: float) -> None:
        """Count values of one kind in a row; enough of them are a level to begin anew from."""
        if self.run > 0 and not far:
            self.run -= 2
            if self.run > 0:
                return
        if self.run == 0 or far != (self.run > 0):
            self._watch_anew(v, far)
            return
        delta = v - self.run_mean
        if abs(delta) <= levels.ROUNDING * abs(self.run_mean):
            return  # a constant is no level: 1 in a row of flags that are mostly 0
        n = abs(self.run) + 1
        self.run = n if far else -n
        if n >= levels.SETTLED:
            most = levels.OUTLIER * math.sqrt(self.run_variance)
            delta = float(np.clip(delta, -most, most))
        # Welford's two lines, for a mean of n values.
        self.run_mean += delta / n
        self.run_variance += ((1 - 1 / n) * delta * delta - self.run_variance) / n
        if not far and self.run_variance * levels.NARROW**2 > variance:
            self._watch_anew(v, far)
        elif n >= (levels.FAR_RUN if far else levels.NEAR_RUN):
            self.count, self.mean, self.variance = n, self.run_mean, self.run_variance
            self.run = self.run_mean = self.run_variance = 0.0

    def _watch_anew(self, v: float, far: bool) -> None:
        self.run, self.run_mean, self.run_variance = (1.0 if far else -1.0), v, 0.0

    def _with(self, v: float, rate: float) -> tuple[float, float]:
        delta = v - self.mean
        if self.count >= levels.SETTLED and self.variance > 0:
            most = levels.OUTLIER * math.sqrt(self.variance)
            delta = float(np.clip(delta, -most, most))
        variance = self.variance + rate * ((1 - rate) * delta * delta - self.variance)
        return self.mean + rate * delta, variance

    @staticmethod
    def _standard(mean: float, variance: float, sparse: bool) -> tuple[float, float]:
        """Return centre and 1 / scale; a constant has no scale."""
        spread = variance + (mean * mean if sparse else 0.0)
        inverse = 1 / math.sqrt(spread) if spread > 1e-24 * mean * mean else 0.0
        return (0.0 if sparse else mean), inverse


def seen_from(position: Array, z: Array) -> tuple[Array, float]:
    """Return what a machine learns from: x - v where x says something; and its bias's share.

    A step on w and on the bias at v, of h(x) = w . (x - v) + bias, is one on w and on the bias at
    the origin, which is less by w . v.
    """
    view = np.where(z != 0, z - position, 0.0)
    return view, 1.0 - float(view @ position)
