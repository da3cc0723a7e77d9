"""L3 Figures 1 and 2: clusters and projections on XOR and on a Swiss roll."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import mean
from typing import Any

import numpy as np
import results
from papers_l3_machines import CLOSE, PASSES, Claim, in_percent, l3, svms
from papers_rows import Task, claims
from timing import Section

TOY = 400
TOY_CLUSTERS = {"XOR": (1, 2, 4), "Swiss roll": (1, 2, 10, 100)}


def toys(task: Task) -> Section:
    """Return Figures 1 and 2: XOR and the Swiss roll."""
    repeats = 1 if task.quick else 10
    parts: list[str] = []
    said: list[Claim] = []
    for name, clusters in TOY_CLUSTERS.items():
        runs = [_toy(name, clusters, seed) for seed in range(repeats)]
        found = {method: mean(run[method] for run in runs) for method in runs[0]}
        parts.append(results.table([name, *found], [["accuracy %", *in_percent(found.values())]]))
        if name == "XOR":
            two, four = (found[f"L3, {k} clusters"] for k in (2, 4))
            kernel = found["RBF-SVM"]
            told = f"{two:.1f}, {four:.1f} and {kernel:.1f}"
            said.append(("XOR: with 2 clusters close to the RBF-SVM", told, two >= kernel - CLOSE))
            said.append(("XOR: with 4 clusters best", told, four >= max(two, kernel)))
        else:
            two, many = (found[f"L3, {k} clusters"] for k in (2, 100))
            kernel = found["RBF-SVM"]
            told = f"{two:.1f}, {many:.1f} and {kernel:.1f}"
            said.append(("Swiss roll: 2 clusters are not enough", told, two < kernel - CLOSE))
            said.append(("Swiss roll: 100 are better than the RBF-SVM", told, many > kernel))
        gap = found[f"L3, {clusters[-1]} clusters"] - found[f"L3 rbf, {clusters[-1]} clusters"]
        said.append(
            (
                f"{name}: with many clusters both projections do alike",
                f"linear less RBF: {gap:+.1f}",
                abs(gap) <= CLOSE,
            )
        )
    note = (
        f"{TOY} records learned, {TOY} others asked, {repeats} draws. L3-SVM: hinge, {PASSES} "
        "passes by `learn_many`; 10 landmarks for the RBF, one for each of the two features for "
        "the linear projection. SVMs: scikit-learn's, C and gamma from 0.001 to 100 by 5-fold "
        "search. The paper's pictures carry accuracies that its text does not."
    )
    return Section("L3 Figures 1 and 2", "\n\n".join([*parts, claims(said), note]))


def _toy(name: str, clusters: Sequence[int], seed: int) -> dict[str, float]:
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(2 * TOY, 2))
    if name == "XOR":
        y = X[:, 0] * X[:, 1] > 0
    else:
        y = np.arange(2 * TOY) % 2 == 0
        along = np.sqrt(rng.uniform(0.02, 1, size=2 * TOY))
        angle = 4 * np.pi * along  # two turns, evenly filled
        roll = 0.95 * along[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
        X = np.where(y[:, None], roll + rng.normal(scale=0.02, size=X.shape), X)
    train, test = np.split(rng.permutation(2 * TOY), 2)
    parts = X[train], y[train], X[test], y[test]
    found = svms(*parts)
    kinds: dict[str, dict[str, Any]] = {
        "L3": {},
        "L3 rbf": {"projection": "rbf", "n_landmarks": 10},
    }
    for kind, more in kinds.items():
        for k in clusters:
            found[f"{kind}, {k} clusters"] = l3(*parts, n_clusters=k, seed=seed, **more)
    return found
