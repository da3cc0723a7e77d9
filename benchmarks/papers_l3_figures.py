"""L3 Figures 3 and 4: clusters, landmarks and projections on UCI sets and MNIST."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import mean
from typing import Any

import numpy as np
import peers
import results
from papers_l3_machines import CLOSE, PASSES, Claim, in_percent, l3, svms
from papers_rows import Task, claims
from sklearn.model_selection import StratifiedKFold
from streams import load_split, load_stream
from timing import Section

UCI = {"liver": "Liver", "heart_statlog": "Heart", "sonar": "Sonar", "ionosphere": "Ionosphere"}
UCI_CLUSTERS = (1, 2, 6, 20, 40)
LANDMARKS = (10, 50, 100, 200)
DIGITS = 10_000


def uci(task: Task) -> Section:
    """Return Figure 3: four UCI sets by the number of clusters."""
    names = list(UCI)[:1] if task.quick else list(UCI)
    clusters = UCI_CLUSTERS[:3] if task.quick else UCI_CLUSTERS
    found = {name: _uci(task, name, clusters) for name in names}
    methods = list(next(iter(found.values())))
    table = results.table(
        ["", *(UCI[name] for name in names)],
        [[method, *in_percent(found[name][method] for name in names)] for method in methods],
    )
    parts = [table]
    if not task.quick:
        parts.append(claims(_uci_claims(found)))
    note = (
        f"Accuracy in %, {task.rounds} times 5 folds (the paper: 10 times). L3-SVM: hinge, "
        f"{PASSES} passes by `learn_many`, as many landmarks as features unless said otherwise; "
        "SVMs: scikit-learn's, C and gamma from 0.001 to 100 by 5-fold search. The paper has "
        "curves without numbers: what its text says of them is checked."
    )
    return Section("L3 Figure 3", "\n\n".join([*parts, note]))


def landmarks(task: Task) -> Section:
    """Return Figure 4: random landmarks and principal components on MNIST."""
    rows, sizes = (1_000, (10, 50)) if task.quick else (DIGITS, LANDMARKS)
    split = load_split(task.data, "mnist", 0)
    X, y = split.X_train[:rows].astype(np.float32), split.y_train[:rows]
    found: dict[str, list[float]] = {"random": [], "pca": []}
    for way, curve in found.items():
        for size in sizes:
            model = peers.ours("l3svm", n_clusters=100, n_landmarks=size, landmarks=way)
            model.warm_start(X, y, epochs=5)
            told = np.asarray(model.predict_many(split.X_test.astype(np.float32)))
            curve.append(100 * float(np.mean(told == split.y_test)))
    table = results.table(
        ["landmarks", *(str(size) for size in sizes)],
        [[way, *(results.figure(a, 2) for a in curve)] for way, curve in found.items()],
    )
    gains = [a - b for a, b in zip(found["pca"], found["random"], strict=True)]
    said = [
        (
            "principal components help where landmarks are few",
            f"{gains[0]:+.2f} with {sizes[0]}",
            gains[0] > 0,
        ),
        (
            "from 100 landmarks on it makes little difference",
            f"{gains[-1]:+.2f} with {sizes[-1]}",
            abs(gains[-1]) <= CLOSE,
        ),
    ]
    note = (
        f"Test accuracy in %: the first {rows:,} training digits, 100 clusters, 5 passes, seed 0. "
        "The paper learns all digits and draws curves without numbers."
    )
    return Section("L3 Figure 4", "\n\n".join([table, claims(said), note]))


def _uci(task: Task, name: str, clusters: Sequence[int]) -> dict[str, float]:
    stream = load_stream(task.data, name)
    X, y = stream.X.astype(np.float64), stream.y
    width = X.shape[1]
    runs: list[dict[str, float]] = []
    for seed in range(task.rounds):
        for train, test in StratifiedKFold(5, shuffle=True, random_state=seed).split(X, y):
            scale = X[train].std(axis=0)
            Z = (X - X[train].mean(axis=0)) / np.where(scale > 0, scale, 1)
            parts = Z[train], y[train], Z[test], y[test]
            found = svms(*parts)
            for k in clusters:
                found[f"L3, {k} clusters"] = l3(*parts, n_clusters=k, seed=seed)
            half: dict[str, Any] = {"n_landmarks": max(1, width // 2), "landmarks": "pca"}
            found["L3, 1 cluster, half the landmarks"] = l3(*parts, n_clusters=1, seed=seed, **half)
            for k in (clusters[0], clusters[-1]):
                found[f"L3 rbf, {k} clusters"] = l3(
                    *parts, n_clusters=k, seed=seed, projection="rbf", n_landmarks=width
                )
            runs.append(found)
    return {method: mean(run[method] for run in runs) for method in runs[0]}


def _uci_claims(found: dict[str, dict[str, float]]) -> list[Claim]:
    liver, heart, sonar, ions = (found[name] for name in UCI)
    one, few, many = "L3, 1 clusters", "L3, 2 clusters", "L3, 40 clusters"
    half, bell = "L3, 1 cluster, half the landmarks", "L3 rbf, 1 clusters"
    best = max(ions[f"L3, {k} clusters"] for k in UCI_CLUSTERS)

    def two(table: dict[str, float], a: str, b: str) -> str:
        return f"{table[a]:.1f} and {table[b]:.1f}"

    return [
        (
            "Liver: with 2 clusters already like the RBF-SVM",
            two(liver, few, "RBF-SVM"),
            liver[few] >= liver["RBF-SVM"] - CLOSE,
        ),
        (
            "Heart: a kernel does not improve on a linear machine",
            two(heart, "RBF-SVM", "linear SVM"),
            heart["RBF-SVM"] <= heart["linear SVM"] + CLOSE,
        ),
        (
            "Heart: local machines are worse than a global one",
            two(heart, many, one),
            heart[many] < heart[one],
        ),
        (
            "Sonar: fewer landmarks than features do as well",
            two(sonar, half, one),
            sonar[half] >= sonar[one] - CLOSE,
        ),
        (
            "Ionosphere: linear projections do not reach the RBF-SVM",
            f"{best:.1f} and {ions['RBF-SVM']:.1f}",
            best < ions["RBF-SVM"],
        ),
        (
            "Ionosphere: the RBF projection with 1 cluster is like the RBF-SVM",
            two(ions, bell, "RBF-SVM"),
            ions[bell] >= ions["RBF-SVM"] - CLOSE,
        ),
    ]
