"""The slow, obvious model of the papers that every kernel is compared with.

Plain float64 numpy, dense records, one object per anchor, no tricks: weights are weights, averaged
weights are averaged weights, anchors are vectors. LL, SAPL and the numbers in brackets are the
papers' and their equations; the classifiers' docstrings name the papers.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.kernels import mixer as mixing
from stream_llsvm.kernels.members import anchor_steps
from stream_llsvm.kernels.members import anchors as kernel
from stream_llsvm.kernels.scaling import ABSENT
from stream_llsvm.members.anchors import Anchors
from stream_llsvm.memory import columns_of
from tests.oracle_parts import Array, Scale, codes_at, pushes_at


@dataclass
class Machine:
    """A linear machine: (copies, rungs, columns, features), copy 0 raw and copy 1 averaged."""

    weights: Array
    biases: Array
    mass: float = 0.0

    def heights(self, z: Array) -> Array:
        """Return h = W . x + b, (experts, columns)."""
        return np.asarray((self.weights @ z + self.biases).reshape(-1, self.biases.shape[-1]))


@dataclass
class Anchor:
    """An anchor point, the machine that belongs to it, and how many records it was nearest to."""

    position: Array
    machine: Machine
    visits: float = 1.0


@dataclass
class Seen:
    """What the model makes of one record."""

    z: Array
    near: list[Anchor]
    squared: Array
    codes: Array
    pull: Array
    answering: list[tuple[Machine, float]]
    heights: list[Array]
    scores: Array
    normal: Array = field(default_factory=lambda: np.zeros(0))
    squares: Array = field(default_factory=lambda: np.zeros(0))
    proba: Array = field(default_factory=lambda: np.zeros(0))


class Oracle:
    """One anchors member and the mixer.

    Parameters
    ----------
    options
        The member's own options.
    width
        How many features are known.
    classes
        How many classes are known.
    standardize
        Whether features are scaled.

    """

    def __init__(
        self, options: Anchors, width: int, classes: int, *, standardize: bool = True
    ) -> None:
        self.options, self.standardize = options, standardize
        self.width, self.classes, self.columns = width, classes, columns_of(classes)
        self.steps = options.rungs(width, self.columns)
        self.clustering = True
        self.scales = [Scale() for _ in range(width)]
        self.anchors: list[Anchor] = []
        self.common = self._machine() if options.common_share > 0 else None
        self.seen = self.learned = self.mixed = 0
        self.spread = self.energy = 0.0
        self.count = options.skip  # LL Algorithm 1 counts down
        experts = len(self.steps) * self._copies
        self.hits = np.zeros(experts)
        self.trust = np.full(experts, mixing.FIRST_TRUST / experts)
        self.power, self.effort = np.ones(experts), np.zeros(experts)

    @property
    def _copies(self) -> int:
        return 2 if self.options.averaged else 1

    def _machine(self) -> Machine:
        shape = (self._copies, len(self.steps), self.columns)
        return Machine(np.zeros((*shape, self.width)), np.zeros(shape))

    @property
    def machines(self) -> list[Machine]:
        """All machines: one an anchor, then the common one."""
        return [a.machine for a in self.anchors] + ([self.common] if self.common else [])

    # ---- prediction

    def look(self, x: Array) -> Seen:
        """Score a record; NaN and ABSENT are missing."""
        z = np.array([s.scaled(v, self.standardize) for s, v in zip(self.scales, x, strict=True)])
        squared = np.array([((z - a.position) ** 2).sum() for a in self.anchors])
        order = np.argsort(squared, kind="stable")[: self.options.n_neighbors]
        near, squared = [self.anchors[j] for j in order], squared[order]
        codes = pull = np.zeros(0)
        if near:
            spread = self.spread if self.spread > 0 else float(squared.mean())
            codes, pull = codes_at(self.options.coding, squared, self.options.sharpness, spread)
        answering = [(a.machine, float(c)) for a, c in zip(near, codes, strict=True)]
        if self.common:
            answering.append((self.common, self.options.common_share))
        heights = [machine.heights(z) for machine, _ in answering]
        scores = np.zeros((len(self.hits), self.columns))
        for (_, share), h in zip(answering, heights, strict=True):
            scores += share * h  # LL(8), SAPL(11)
        seen = Seen(z, near, squared, codes, pull, answering, heights, scores)
        self._mix(seen)
        return seen

    def predict_proba(self, x: Array) -> Array:
        """Return each class's probability."""
        return self.look(x).proba

    def _mix(self, seen: Seen) -> None:
        scores = seen.scores
        if self.columns == 1:
            centred = scores / 2 * np.array([-1.0, 1.0])[: self.classes]
            centred = centred if self.classes > 1 else 0 * centred
            seen.squares = scores[:, 0] ** 2
        else:
            centred = scores - scores.mean(axis=1, keepdims=True)
            seen.squares = (centred**2).sum(axis=1)
        rms = np.sqrt(self.power) + 1e-6
        seen.normal = np.clip(centred / rms[:, None], -mixing.Z_CLIP, mixing.Z_CLIP)
        logits = self.trust @ seen.normal
        seen.proba = np.exp(logits - np.logaddexp.reduce(logits))

    # ---- learning

    def learn(
        self, x: Array, label: int, w: float = 1.0, tops: NDArray[np.int64] | None = None
    ) -> None:
        """Learn a record of a known class; ``tops``: each expert's first class, if a tie."""
        seen = self.look(x)
        self.seen += 1
        for scale, v in zip(self.scales, x, strict=True):
            scale.observe(v, self.seen)
        self._learn_anchors(seen, label, w, tops)
        self._learn_mixer(seen, label, w)

    def _learn_mixer(self, seen: Seen, label: int, w: float) -> None:
        self.mixed += 1
        gradient = seen.normal[:, label] - seen.normal @ seen.proba
        self.effort = mixing.FADE * self.effort + gradient**2
        trust = self.trust + w * mixing.RATE * gradient / np.sqrt(1 + self.effort)
        self.trust = np.clip(trust, -mixing.LARGEST_TRUST, mixing.LARGEST_TRUST)
        self.power = self.power + max(0.001, 1 / (self.mixed + 1)) * (seen.squares - self.power)

    def _learn_anchors(
        self, seen: Seen, label: int, w: float, tops: NDArray[np.int64] | None
    ) -> None:
        o, t = self.options, self.learned
        self.learned += 1
        self.count -= 1
        tops = self._tops(seen.scores) if tops is None else tops
        self.hits = anchor_steps.FADE * self.hits + (tops == label)
        best = int(np.argmax(self.hits))
        self._give_birth(seen)
        if not seen.near:
            return
        push = np.array([pushes_at(o.loss, o.multiclass, s, label) for s in seen.scores])
        energy = self._measure(seen)
        if o.schedule == kernel.LADDER:
            etas = w * np.array(self.steps) / energy
        else:
            etas = np.array([w / (o.l2 * (t + o.t0))])  # Bordes' schedule
        for j, anchor in enumerate(seen.near):
            move = self._move(seen, j, best, push, etas, w)
            if j == 0 and self.clustering:
                anchor.visits += 1
                pace = max(o.cluster_floor, 1 / anchor.visits) * min(1.0, w)
                move = 1 - (1 - pace) * (1 - move)  # one step of k-means after the other move
            anchor.position = anchor.position + move * (seen.z - anchor.position)
        by_rung = push.reshape(self._copies, len(self.steps), self.columns)[0] * etas[:, None]
        for machine, share in seen.answering:
            machine.mass += w * share
            if o.averaged:
                rate = min(1.0, w * share * max(o.average_floor, 1 / (1 + machine.mass)))
                for part in (machine.weights, machine.biases):
                    part[1] += rate * (part[0] - part[1])
            machine.biases[0] += by_rung * share  # LL(12), SAPL(18)
            if not o.flat:
                machine.weights[0] += by_rung[..., None] * share * seen.z  # LL(11), SAPL(17)
        self._weaken(t, etas)

    def _tops(self, scores: Array) -> NDArray[np.int64]:
        return scores.argmax(axis=1) if self.columns > 1 else (scores[:, 0] > 0).astype(int)

    def _give_birth(self, seen: Seen) -> None:
        """Put a new anchor where the record is, unless an anchor is there already."""
        if len(self.anchors) == self.options.n_anchors:
            return
        if seen.near:
            size = (seen.z**2).sum() + (seen.near[0].position ** 2).sum()
            if seen.squared[0] <= 1e-5 * size:
                return
        machine = self._machine()
        for near, code in zip(seen.near, seen.codes, strict=True):
            machine.weights += code * near.machine.weights
            machine.biases += code * near.machine.biases
        self.anchors.append(Anchor(seen.z.copy(), machine))

    def _measure(self, seen: Seen) -> float:
        """Follow spread and energy; return what a step is divided by."""
        pace = max(anchor_steps.SLOWEST, 1 / self.learned)
        shares = np.array([share for _, share in seen.answering])
        energy = float((shares**2).sum()) * (1 if self.options.flat else 1 + (seen.z**2).sum())
        self.energy = _follow(self.energy, energy, pace)
        self.spread = _follow(self.spread, float(seen.squared.mean()), pace)
        return max(self.energy, 0.25 * energy)

    def _move(self, seen: Seen, j: int, best: int, push: Array, etas: Array, w: float) -> float:
        """Return how far the anchor goes towards the record, SAPL(16), (21)."""
        o = self.options
        if not o.supervised:
            return 0.0
        expert = best if o.schedule == kernel.LADDER else 0
        slope = float(push[expert] @ (seen.heights[j][expert] - seen.scores[expert]))
        if o.schedule != kernel.LADDER:
            return float(etas[0] * seen.pull[j] * slope)
        patience = 1 + seen.near[j].machine.mass / o.patience
        move = w * o.anchor_step * self.spread * seen.pull[j] * slope / patience
        return float(np.clip(move, -kernel.LARGEST_MOVE, kernel.LARGEST_MOVE))

    def _weaken(self, t: int, etas: Array) -> None:
        o = self.options
        factors = 1 - np.minimum(0.5, etas * o.l2)
        if o.schedule != kernel.LADDER:
            due = t % o.skip == 0 if o.schedule == kernel.PAPER_SAPL else self.count <= 0
            factors = np.array([1 - o.skip / (t + o.t0) if due else 1.0])  # LL(13), SAPL(19)
            self.count = o.skip if self.count <= 0 else self.count
        for machine in self.machines:
            machine.weights[0] *= factors[:, None, None]
            if o.flat:  # biases are all the weights that LCC has, SAPL 3.3
                machine.biases[0] *= factors[:, None]

    # ---- growing

    def grow(self, width: int, classes: int) -> None:
        """Know more features or classes; rungs that no longer fit the budget go."""
        old, before = self.steps, self.columns
        for _ in range(width - self.width):
            self.scales.append(Scale(born=self.seen))
        more = width - self.width
        self.width, self.classes, self.columns = width, classes, columns_of(classes)
        self.steps = self.options.rungs(width, self.columns)
        kept = [old.index(s) for s in self.steps]
        experts = [c * len(old) + r for c in range(self._copies) for r in kept]
        for name in ("hits", "trust", "power", "effort"):
            setattr(self, name, getattr(self, name)[experts])
        for anchor in self.anchors:
            anchor.position = np.pad(anchor.position, (0, more))
        for machine in self.machines:
            weights = machine.weights[:, kept]
            machine.weights = self._more_columns(
                np.pad(weights, [(0, 0)] * 3 + [(0, more)]), before
            )
            machine.biases = self._more_columns(machine.biases[:, kept], before)
        for anchor in self.anchors:
            anchor.machine.biases[:, :, max(2, before) :] = -1

    def _more_columns(self, part: Array, before: int) -> Array:
        """Two classes share one column; with a third, each gets its own."""
        if before == self.columns:
            return part
        if before == 1:
            share = 1.0 if self.options.multiclass == 0 else 0.5
            part = np.concatenate([-share * part, share * part], axis=2)
        blank = list(part.shape)
        blank[2] = self.columns - part.shape[2]
        return np.concatenate([part, np.zeros(blank)], axis=2)


def _follow(mean: float, value: float, pace: float) -> float:
    """Return the running mean; one record may raise it only so far."""
    if mean <= 0:
        return value
    return mean + pace * (min(value, anchor_steps.LARGEST_RISE * mean) - mean)


__all__ = ["ABSENT", "Anchor", "Machine", "Oracle"]
