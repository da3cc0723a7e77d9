"""The oracle's Pegasos: plain weights in float64, one formula a line."""

from __future__ import annotations

import numpy as np

from stream_llsvm import PegasosRegressor
from stream_llsvm.members.family.pegasos.member import Pegasos
from tests.oracle_parts import Array
from tests.oracle_surprise import StepsOracle, least


def push(loss: str, s: float, y: float, epsilon: float) -> float:
    rest = y - s
    beyond = max(abs(rest) - epsilon, 0.0)
    return float(
        {
            "hinge": y * (y * s < 1),
            "squared_hinge": 2 * y * max(1 - y * s, 0),
            "logistic": y / (1 + np.exp(y * s)),
            "epsilon_insensitive": np.sign(rest) * (beyond > 0),
            "squared_epsilon_insensitive": 2 * np.sign(rest) * beyond,
            "squared": rest,
            "huber": np.clip(rest, -epsilon, epsilon),
        }[loss]
    )


CURVED = {"squared_hinge": 2, "squared_epsilon_insensitive": 2, "squared": 1, "huber": 1}


def pegasos(
    of: Pegasos | PegasosRegressor,
    loss: str,
    X: Array,
    targets: Array,
    importance: Array,
    epsilon: float = 0.0,
    wrong: Array | None = None,
) -> tuple[Array, list[float], float]:
    """Pegasos on plain weights, the bias behind them; the scores, and how many steps it forgets.

    Of classes ``wrong`` says which records were answered wrongly, by all machines together.
    """
    steps, most = StepsOracle(of_numbers=wrong is None), least(of.l2, of.t0, of.batch_size)
    w, scores = np.zeros(X.shape[1] + 1), list[float]()
    batch, energy, held = np.zeros_like(w), 0.0, 0
    t, at_0 = 0, list[float]()
    for i, (row, y, c) in enumerate(zip(X, targets, importance, strict=True)):
        z = np.append(row, 1.0)
        s = float(w @ z)
        scores.append(s)
        if of.forgets:
            lost = (y - s) ** 2 if wrong is None else float(wrong[i])
            steps.learn(lost, c, t - steps.forgotten, most)
        zero = abs(y) - epsilon
        at_0.append(
            {
                "hinge": 0.5,
                "squared_hinge": 1.0,
                "logistic": np.log(2),
                "epsilon_insensitive": max(zero, 0),
                "squared_epsilon_insensitive": max(zero, 0) ** 2,
                "squared": y * y / 2,
                "huber": y * y / 2 if zero <= 0 else epsilon * (abs(y) - epsilon / 2),
            }[loss]
        )
        batch = batch + c * push(loss, s, y, epsilon) * z
        energy, held = energy + c * (z @ z), held + 1
        if held < of.batch_size:
            continue
        t += 1
        remembered = t - steps.forgotten + of.t0
        eta = 1 / (of.l2 * remembered + CURVED.get(loss, 0) * energy / held)
        step = eta * batch / held
        if loss == "epsilon_insensitive" and held == 1 and abs(step).sum() > 0:
            step = step * min(1, (abs(y - s) - epsilon) / abs(step @ z))
        w = max(1 - eta * of.l2, 0) * w + step
        radius = np.sqrt(2 * np.mean(at_0) / of.l2)
        if of.projection and np.linalg.norm(w) > radius:
            w = w * radius / np.linalg.norm(w)
        batch, energy, held = np.zeros_like(w), 0.0, 0
    return w, scores, steps.forgotten
