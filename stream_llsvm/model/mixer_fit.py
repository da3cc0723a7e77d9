"""Whom to trust after history: a mixer fitted to what experts said of records they had not seen.

    p     = softmax(sum_e trust_e z_e)                   z_e: scores as the mixer has them
    loss  = -sum_i w_i log p_i(label_i) + 1/2 sum_e (trust_e - first_e)^2,       trust_e >= 0

This is stacked generalisation (Wolpert; Breiman, with weights that are not negative). The mixer
itself takes steps: in history, where nothing changes, the minimum is better than the last step.
The bound keeps experts that say nearly the same from being played off against each other, which
fits the records of history and fails on those of another writer or speaker.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.kernels.join import ALL, GAIN, MOST, OVER, SHARE
from stream_llsvm.kernels.join import EFFORT as JOIN_EFFORT
from stream_llsvm.kernels.mixer import (
    EFFORT,
    FADE,
    LARGEST_TRUST,
    ON_TOP_SIZE,
    POWER,
    TRUST,
    Z_CLIP,
    rms_of,
)
from stream_llsvm.kernels.plan import MODEL_ROW
from stream_llsvm.kernels.sleep import NEEDED
from stream_llsvm.model.state import ModelState

Array = NDArray[np.float64]

_STEPS, _HALVINGS = 30, 20
_CLOSE = 1e-6
#: What comes on top has spoken, and hardly counts: `kernels/join.py` never lets it fall to 0.
_HARDLY = 1e-3


def fit_mixer(memory: ModelState, scores: Array, codes: NDArray[np.int64], weights: Array) -> None:
    """Give the mixer the trusts that suit these raw scores, (records, experts, columns), best."""
    model, classes = memory.views(0), memory.n_classes
    mixer, counted = model["mixer"], int(memory.plan[0, MODEL_ROW.counted_experts])
    centred = _centred(scores, classes)
    told = np.square(scores if scores.shape[2] == 1 else centred).sum(axis=2)
    spoken = (told > 0).sum(axis=0)  # of some records some say nothing
    told, spoke = told.sum(axis=0) / np.maximum(1, spoken), spoken > 0
    by_size = spoke & (np.arange(len(told)) < counted)
    mixer[POWER, by_size] = rounded(told[by_size])
    z = np.clip(centred / rms_of(mixer)[:, None], -Z_CLIP, Z_CLIP).transpose(1, 0, 2)
    inner = z[spoke]
    first = np.maximum(mixer[TRUST, spoke], 0.0)
    trust, slopes = logistic(inner, codes, weights, first, LARGEST_TRUST)
    # As long as the next steps would be, had these lessons been taken one by one.
    lasting = min(float(len(codes)), 1 / (1 - FADE))
    mixer[TRUST, spoke] = rounded(trust)
    mixer[EFFORT, spoke] = rounded(lasting * np.square(slopes).mean(axis=1))
    on_top = z[counted:].sum(axis=0) * ON_TOP_SIZE
    if not on_top.any():
        return
    logs = log_shares(trust, inner)
    both = np.stack([logs, on_top])
    shares, slopes = logistic(both, codes, weights, np.array([1.0, 0.0]), MOST)
    gain = _log_loss(logs, codes, weights) - _log_loss(log_shares(shares, both), codes, weights)
    # What gains hardly anything where records are like those it counted may be wrong elsewhere.
    shares = shares if gain >= NEEDED else np.array([1.0, 0.0])
    model["joined"][SHARE, [ALL, OVER]] = rounded(np.maximum(shares, _HARDLY))
    effort = lasting * np.square(slopes).mean(axis=1)
    model["joined"][JOIN_EFFORT, [ALL, OVER]] = rounded(effort)
    model["joined"][:, GAIN] = rounded(np.array([max(0.0, gain), lasting]))


def rounded(x: Array) -> Array:
    """Return the numbers to seven digits: numpy's last bits hang on the processor.

    What is learned afterwards shall not.
    """
    return x.astype(np.float32).astype(np.float64)


def logistic(
    z: Array, codes: NDArray[np.int64], weights: Array, first: Array, most: float
) -> tuple[Array, Array]:
    """Return the minimum of the loss above, from 0 to ``most``, and each record's slopes there.

    Newton's steps among the trusts that are not held by a bound, halved until the loss falls. z is
    (experts, records, classes), the slopes (experts, records).
    """
    trust, each = first.copy(), np.arange(len(codes))

    def loss_at(trust: Array) -> float:
        apart = trust - first
        return float(apart @ apart / 2 - weights @ log_shares(trust, z)[each, codes])

    def slopes_at(shares: Array) -> Array:
        return np.asarray(z[:, each, codes] - (z * shares).sum(axis=2))

    loss = loss_at(trust)
    for _ in range(_STEPS):
        shares = np.exp(log_shares(trust, z))
        gradient = trust - first - slopes_at(shares) @ weights
        curved = z * shares
        mean, flat = curved.sum(axis=2), (len(z), z.shape[1] * z.shape[2])
        weighted = (curved * weights[:, None]).reshape(flat)
        curvature = weighted @ z.reshape(flat).T - (mean * weights) @ mean.T + np.eye(len(z))
        free = ((trust > 0) | (gradient < 0)) & ((trust < most) | (gradient > 0))
        if not free.any():
            break
        step = np.zeros(len(z))
        step[free] = np.linalg.solve(curvature[np.ix_(free, free)], -gradient[free])
        before, taken = loss, trust
        for halving in range(_HALVINGS):
            taken = np.clip(trust + step / 2**halving, 0.0, most)
            loss = loss_at(taken)
            if loss < before:
                break
        else:
            break
        trust = taken
        if before - loss < _CLOSE * abs(before):
            break
    return trust, slopes_at(np.exp(log_shares(trust, z)))


def log_shares(trust: Array, z: Array) -> Array:
    """Return the logarithms of the classes' shares, (records, classes)."""
    logits = np.tensordot(trust, z, axes=1)
    logits -= logits.max(axis=1, keepdims=True)
    return np.asarray(logits - np.log(np.exp(logits).sum(axis=1, keepdims=True)))


def _log_loss(logs: Array, codes: NDArray[np.int64], weights: Array) -> float:
    return -float(np.average(logs[np.arange(len(codes)), codes], weights=weights))


def _centred(scores: Array, classes: int) -> Array:
    """Return one value a class, whose mean is 0, as `kernels/mixer.py` has them."""
    if scores.shape[2] > 1:
        return np.asarray(scores - scores.mean(axis=2, keepdims=True))
    if classes == 1:
        return np.zeros_like(scores)
    return np.concatenate([-scores / 2, scores / 2], axis=2)
