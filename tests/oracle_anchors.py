"""The oracle's anchors: one object an anchor; weights are weights, averages are averages.

LL, SAPL and the numbers in brackets are the papers' and their equations; the classifiers'
docstrings name the papers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.members.anchors import state as kernel
from stream_llsvm.members.anchors import steps as anchor_steps
from stream_llsvm.members.anchors.codes import RECONSTRUCTION
from stream_llsvm.members.anchors.member import Anchors
from stream_llsvm.members.anchors.reconstruction import RIDGE
from stream_llsvm.model.state import columns_of
from tests.oracle_parts import Array, codes_at, follow, more_columns, pushes_at, seen_from


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
class Look:
    """What the member makes of one record."""

    z: Array
    near: list[Anchor]
    squared: Array
    codes: Array
    pull: Array
    answering: list[tuple[Machine, float]]
    heights: list[Array]
    scores: Array


class AnchorsOracle:
    """An anchors member of these options, over so many features and classes."""

    def __init__(self, options: Anchors, width: int, classes: int) -> None:
        self.options = options
        self.width, self.columns = width, columns_of(classes)
        self.steps = options.rungs(width, self.columns)
        self.left: float | None = None  # of the steps' length, in passes over history
        self.anchors: list[Anchor] = []
        self.common = self._machine() if options.common_share > 0 else None
        self.learned = 0
        self.spread = self.energy = self.tilt = self.reach = 0.0
        self.count = options.skip  # LL Algorithm 1 counts down
        self.hits = np.zeros(self.experts)

    @property
    def experts(self) -> int:
        """How many scores a class it gives."""
        return len(self.steps) * self._copies

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

    def score(self, z: Array) -> Array:
        """Blend the machines of the nearest anchors, (experts, columns)."""
        squared = np.array([((z - a.position) ** 2).sum() for a in self.anchors])
        order = np.argsort(squared, kind="stable")[: self.options.n_neighbors]
        near, squared = [self.anchors[j] for j in order], squared[order]
        codes = pull = np.zeros(0)
        if near:
            spread = self.spread if self.spread > 0 else float(squared.mean())
            if self.options.coding == RECONSTRUCTION:
                codes = reconstructed(z, np.array([a.position for a in near]))
                pull = np.zeros(len(near))
            else:
                codes, pull = codes_at(self.options.coding, squared, self.options.sharpness, spread)
        answering = [(a.machine, float(c)) for a, c in zip(near, codes, strict=True)]
        if self.common:
            answering.append((self.common, self.options.common_share))
        heights = [machine.heights(z) for machine, _ in answering]
        scores = np.zeros((self.experts, self.columns))
        for (_, share), h in zip(answering, heights, strict=True):
            scores += share * h  # LL(8), SAPL(11)
        self.last = Look(z, near, squared, codes, pull, answering, heights, scores)
        return scores

    def learn(self, label: int, w: float, scores: Array) -> None:
        """Learn the record last scored; ``scores`` say which class each expert put first.

        That can be a tie (all scores are 0 after the first record), which rounding decides.
        """
        seen, o, t = self.last, self.options, self.learned
        self.learned += 1
        self.count -= 1
        self.hits = anchor_steps.FADE * self.hits + (tops_of(scores) == label)
        best = int(np.argmax(self.hits))
        self._give_birth(seen)
        if not seen.near:
            return
        push = np.array([pushes_at(o.loss, o.multiclass, s, label) for s in seen.scores])
        energy = self._measure(seen)
        if o.schedule == kernel.LADDER:
            etas = w * np.array(self._lengths()) / energy
        else:
            etas = np.array([w / (o.l2 * (t + o.t0))])  # Bordes' schedule
        brace = self._brace(seen, best)
        for j, anchor in enumerate(seen.near):
            move = self._move(seen, j, best, push, etas, w, brace)
            if j == 0 and self.left is None:
                anchor.visits += 1
                pace = max(o.cluster_floor, 1 / anchor.visits) * min(1.0, w)
                move = 1 - (1 - pace) * (1 - move)  # one step of k-means after the other move
            anchor.position = anchor.position + move * (seen.z - anchor.position)
        by_rung = push.reshape(self._copies, len(self.steps), self.columns)[0] * etas[:, None]
        floor = o.average_floor if self._is_live() else o.rehearsed_floor
        for j, (machine, share) in enumerate(seen.answering):
            machine.mass += w * abs(share)
            if o.averaged:
                rate = min(1.0, w * abs(share) * max(floor, 1 / (1 + machine.mass)))
                for part in (machine.weights, machine.biases):
                    part[1] += rate * (part[0] - part[1])
            view, bias = seen.z, 1.0
            if self._is_centred(seen) and j < len(seen.near):
                view, bias = seen_from(seen.near[j].position, seen.z)
            machine.biases[0] += by_rung * share * bias  # LL(12), SAPL(18)
            if not o.flat:
                machine.weights[0] += by_rung[..., None] * share * view  # LL(11), SAPL(17)
        self._weaken(t, etas)

    def _is_live(self) -> bool:
        """Whether steps are those of a stream; the papers' schedule knows no others."""
        return self.left is None or self.options.schedule != kernel.LADDER

    def _is_centred(self, seen: Look) -> bool:
        """Whether machines learn from x - v; the papers' do from x, and so do those of texts."""
        if has_a_view(seen.z):
            return self.options.schedule == kernel.LADDER and not self.options.flat
        return False

    def _lengths(self) -> Array:
        return np.array(self.steps) * (1.0 if self.left is None else self.left)

    def _brace(self, seen: Look, best: int) -> float:
        """Follow the mean square of dH/dv, as history's supervised steps are relative to it."""
        if self._is_live() or not self.options.supervised:
            return 0.0
        apart = np.array([h[best] - seen.scores[best] for h in seen.heights[: len(seen.near)]])
        tilt = float((seen.pull**2 * seen.squared * (apart**2).sum(axis=1)).sum())
        pace = max(anchor_steps.SLOWEST, 1 / self.learned)
        self.tilt = follow(self.tilt, tilt, pace, anchor_steps.LARGEST_RISE)
        least = anchor_steps.LEAST_TILT
        return self.spread / max(least, self.spread * max(self.tilt, tilt / 4))

    def _give_birth(self, seen: Look) -> None:
        """Put a new anchor where the record is, unless an anchor is there already."""
        if len(self.anchors) == self.options.n_anchors:
            return
        if seen.near:
            size = (seen.z**2).sum() + (seen.near[0].position ** 2).sum()
            # The mark of a value on the centre stands for 0: in float32 its square is 0.
            if np.float32(seen.squared[0]) <= 1e-5 * size:
                return
        machine = self._machine()
        for near, code in zip(seen.near, seen.codes, strict=True):
            machine.weights += code * near.machine.weights
            machine.biases += code * near.machine.biases
        self.anchors.append(Anchor(seen.z.copy(), machine))

    def _measure(self, seen: Look) -> float:
        """Follow spread and energy; return what a step is divided by."""
        pace = max(anchor_steps.SLOWEST, 1 / self.learned)
        shares = np.array([share for _, share in seen.answering])
        squares = np.full(len(shares), 0.0 if self.options.flat else (seen.z**2).sum())
        if self._is_centred(seen):
            squares[: len(seen.squared)] = seen.squared
        energy = float((shares**2 * (1 + squares)).sum())
        rise = anchor_steps.LARGEST_RISE
        self.energy = follow(self.energy, energy, pace, rise)
        self.spread = follow(self.spread, float(seen.squared.mean()), pace, rise)
        return max(self.energy, 0.25 * energy)

    def _move(
        self, seen: Look, j: int, best: int, push: Array, etas: Array, w: float, brace: float
    ) -> float:
        """Return how far the anchor goes towards the record, SAPL(16), (21)."""
        o = self.options
        if not o.supervised:
            return 0.0
        expert = best if o.schedule == kernel.LADDER else 0
        slope = float(push[expert] @ (seen.heights[j][expert] - seen.scores[expert]))
        if o.schedule != kernel.LADDER:
            return float(etas[0] * seen.pull[j] * slope)
        if self.left is None:
            patience = 1 + seen.near[j].machine.mass / o.patience
            move = w * o.anchor_step * self.spread * seen.pull[j] * slope / patience
        else:
            step = self._lengths()[best % len(self.steps)]
            move = w * o.rehearsed_step * self.left * step * brace * seen.pull[j] * slope
            if move < 0 and (seen.near[j].position ** 2).sum() > self.reach:
                return 0.0
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

    def grow(self, width: int, classes: int) -> list[int]:
        """Know more features or classes; return the experts whose rungs still fit the budget."""
        old, before, more = self.steps, self.columns, width - self.width
        self.width, self.columns = width, columns_of(classes)
        self.steps = self.options.rungs(width, self.columns)
        rungs = [old.index(s) for s in self.steps]
        experts = [c * len(old) + r for c in range(self._copies) for r in rungs]
        self.hits = self.hits[experts]
        for anchor in self.anchors:
            anchor.position = np.pad(anchor.position, (0, more))
        for machine in self.machines:
            weights = np.pad(machine.weights[:, rungs], [(0, 0)] * 3 + [(0, more)])
            machine.weights = more_columns(weights, 2, self.columns, self.options.multiclass)
            biases = machine.biases[:, rungs]
            machine.biases = more_columns(biases, 2, self.columns, self.options.multiclass)
        for anchor in self.anchors:
            anchor.machine.biases[:, :, max(2, before) :] = -1
        return experts


def has_a_view(z: Array) -> bool:
    """Whether a record is not a wide one that says something in less than a quarter of it."""
    narrow = len(z) <= anchor_steps.WIDE
    return narrow or anchor_steps.SPARSE * int(np.count_nonzero(z)) >= len(z)


def reconstructed(z: Array, near: Array) -> Array:
    """Return the weights, summing to one, that blend the near points into z best (LLE, LLC)."""
    apart = near - z
    gram = apart @ apart.T
    ridge = RIDGE * np.trace(gram) / len(near) + 1e-12
    weights = np.linalg.solve(gram + ridge * np.eye(len(near)), np.ones(len(near)))
    return np.asarray(weights / weights.sum())


def tops_of(scores: Array) -> NDArray[np.int64]:
    """Return the class that each expert puts first."""
    if scores.shape[1] == 1:
        return (scores[:, 0] > 0).astype(np.int64)
    return np.asarray(scores.argmax(axis=1), dtype=np.int64)
