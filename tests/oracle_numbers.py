"""The oracle's LL-SVM for numbers: plain weights, one record after the other, in float64."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.kernels.blend import FLOOR, TRUST
from stream_llsvm.learners.anchored import COMMON_SHARE
from stream_llsvm.learners.llsvm_regressor import STEPS, LLSVMRegressor
from stream_llsvm.members.anchors.member import Anchors
from tests.oracle_anchors import has_a_view
from tests.oracle_parts import Array, seen_from

SHARPNESS = Anchors.sharpness
CURVED = {"squared": 1, "huber": 1, "squared_epsilon_insensitive": 2}


class NumbersOracle:
    """H(x) = sum_j gamma_j (W_j . x + b_j), LL(8), an expert a step size, raw and averaged."""

    def __init__(self, of: LLSVMRegressor, width: int) -> None:
        self.of = of
        step = of.step_size
        self.epsilon = of.epsilon if not isinstance(of.epsilon, str) else 1.0
        self.steps = np.array(STEPS if isinstance(step, str) else (step,))
        self.copies = 2 if isinstance(step, str) else 1
        self.anchors = np.zeros((0, width))
        # One machine an anchor and, last, the common one; the last weight is the bias.
        self.machines = np.zeros((of.n_anchors + 1, self.copies, len(self.steps), width + 1))
        self.visits, self.mass = np.ones(of.n_anchors), np.zeros(of.n_anchors + 1)
        self.seen, self.spread, self.energy = 0, 0.0, 0.0
        self.losses = np.zeros(self.copies * len(self.steps))

    def code(self, z: Array) -> tuple[NDArray[np.int64], Array, Array]:
        """Return who answers, with what share, and the neighbours' squared distances."""
        squared = ((self.anchors - z) ** 2).sum(axis=1)
        near = np.argsort(squared, kind="stable")[: self.of.n_neighbors]
        d = squared[near]
        share = np.zeros(0)
        if len(near):
            spread = self.spread or d.mean()
            if self.of.coding == "softmax":
                share = np.exp(-SHARPNESS * (d - d[0]) / (spread + 1e-12))
            else:
                share = 1 / (np.sqrt(d) + 1e-3 * np.sqrt(spread) + 1e-12)
            share = share / share.sum()
        return np.append(near, self.of.n_anchors), np.append(share, COMMON_SHARE), d

    def told(self, z: Array) -> tuple[float, Array]:
        """Return the answer, and each expert's."""
        who, share, _ = self.code(z)
        out = np.einsum("j,jcri,i->cr", share, self.machines[who], np.append(z, 1)).ravel()
        best = self.losses.min()
        worse = self.losses / best - 1 if best > 0 else (self.losses > 0).astype(float)
        trust = np.exp(-TRUST * np.minimum(worse, 30))
        return float(trust @ out / trust.sum()), out

    def learn(self, z: Array, y: float, w: float) -> None:
        """Take one step on the machines that answered, and on where the nearest anchor is."""
        of = self.of
        who, share, d = self.code(z)
        out = self.told(z)[1]
        self.seen += 1
        pace = min(1, w * max(FLOOR, 1 / self.seen))
        self.losses += pace * (np.abs(y - out) - self.losses)
        nearest = self.anchors[who[0]].copy() if len(d) else np.zeros(0)
        if len(self.anchors) < of.n_anchors and (
            len(d) == 0 or d[0] > 1e-5 * (z @ z + nearest @ nearest)
        ):
            self.machines[len(self.anchors)] = np.einsum("j,j...->...", share, self.machines[who])
            self.anchors = np.vstack([self.anchors, z])
        if len(d) == 0:
            return
        viewed = has_a_view(z)
        squares = np.append(d if viewed else np.full(len(d), z @ z), z @ z)
        own = float((share**2 * (1 + squares)).sum())
        usual = self.measure(own, float(d.mean()))
        rest = y - out[: len(self.steps)]
        push = pushes(of.loss, rest, self.epsilon)
        eta = w * self.steps / usual
        if of.loss in CURVED:
            eta = np.minimum(eta, 1 / (CURVED[of.loss] * own))
        else:
            size = np.maximum(np.abs(rest) - self.epsilon, 0)
            eta = np.where(push != 0, np.minimum(eta, size / own), eta)
        self.visits[who[0]] += 1
        move = max(0.01, 1 / self.visits[who[0]]) * min(1.0, w)
        self.anchors[who[0]] += move * (z - self.anchors[who[0]])
        for a, gamma in zip(who, share, strict=True):
            self.mass[a] += w * gamma
            if self.copies == 2:
                pace = min(1, w * gamma * max(0.001, 1 / (1 + self.mass[a])))
                self.machines[a, 1] += pace * (self.machines[a, 0] - self.machines[a, 1])
            centre = self.anchors[a] if viewed and a < of.n_anchors else 0 * z
            self.machines[a, 0] += np.outer(eta * push * gamma, np.append(*seen_from(centre, z)))
        keep = 1 - np.minimum(0.5, eta * of.l2)
        self.machines[:, 0, :, :-1] *= keep[:, None]

    def measure(self, energy: float, spread: float) -> float:
        """Follow what is usual; a record raises it tenfold at most."""
        pace = max(0.001, 1 / self.seen)
        for name, value in (("energy", energy), ("spread", spread)):
            usual = getattr(self, name)
            new = usual + pace * (min(value, 10 * usual) - usual) if usual > 0 else value
            setattr(self, name, new)
        return max(self.energy, 0.25 * energy)


def pushes(loss: str, rest: Array, epsilon: float) -> Array:
    """Return -d loss / d H for what is left of the target."""
    if loss == "squared":
        return rest
    if loss == "huber":
        return np.clip(rest, -epsilon, epsilon)
    beyond = np.maximum(np.abs(rest) - epsilon, 0)
    if loss == "epsilon_insensitive":
        return np.sign(rest) * (beyond > 0)
    if loss == "squared_epsilon_insensitive":
        return np.asarray(2 * np.sign(rest) * beyond)
    raise KeyError(f"the oracle knows no loss {loss!r}")
