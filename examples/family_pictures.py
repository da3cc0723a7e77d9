"""Draw what each classifier of the family makes of four data sets in the plane.

Each learns the records once, in their order, with its defaults; then it is asked about others.
Writes one picture a data set: docs/pictures/xor.png, swiss_roll.png, sines.png, bananas.png.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import plane_data
from banana_boundary import BLUE, GREY, INK, ORANGE, REGIONS, save
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from plane_data import Plane, Points

import stream_llsvm

FAMILY = {
    "CommitteeClassifier": "all of them, mixed online",
    "SAPLClassifier": "anchors that move to where they help",
    "LLSVMClassifier": "anchors that follow the records",
    "LCCClassifier": "a learned vote of the nearest anchors",
    "CSVMClassifier": "a machine per cluster, and a global one",
    "L3SVMClassifier": "a machine per cluster over landmarks",
    "LocalSVMClassifier": "a small SVM for each query",
    "MemoryClassifier": "votes of remembered records",
    "BudgetedPegasosClassifier": "a kernel machine of 200 records",
    "FernsClassifier": "random partitions",
    "BoostedTreesClassifier": "trees that grow with the stream",
    "AdditiveSVMClassifier": "one curve per feature",
    "PegasosClassifier": "one linear machine",
}
TITLES = {
    "xor": "XOR",
    "swiss_roll": "A Swiss roll among points from anywhere",
    "sines": "Two sines",
    "bananas": "Bananas",
}
GRID = 160
SHOWN = 500  # records drawn in the first panel, fewer behind the regions
FAINT = 150
FOLDER = Path(__file__).resolve().parent.parent / "docs" / "pictures"


def box_of(X: Points) -> list[float]:
    """Return left, right, bottom and top of what is drawn: a few stray points are left out."""
    low, high = np.quantile(X, 0.002, axis=0), np.quantile(X, 0.998, axis=0)
    edge = 0.04 * (high - low)
    return [low[0] - edge[0], high[0] + edge[0], low[1] - edge[1], high[1] + edge[1]]


def trust_in_true(model: Any, plane: Points) -> Points:
    """Return at each point how sure the model is of the label True, from 0 to 1."""
    if not hasattr(model, "predict_proba_many"):
        # A machine without probabilities: its margins, squeezed; the boundary is the same.
        scores = [model.decision_function_one(dict(enumerate(point)))[True] for point in plane]
        return np.asarray(1 / (1 + np.exp(-np.array(scores))))
    answer = np.asarray(model.predict_proba_many(plane))
    column = 0 if next(iter(model.predict_proba_one(dict(enumerate(plane[0]))))) else 1
    return np.asarray(answer[:, column], dtype=np.float64)


def frame(axes: Axes, box: list[float], title: str, below: str) -> None:
    """Lay out a panel: its name, what is said of it, no ticks."""
    axes.set_xlim(box[0], box[1])
    axes.set_ylim(box[2], box[3])
    axes.set_xticks([])
    axes.set_yticks([])
    for spine in axes.spines.values():
        spine.set_color("#d5d9de")
    axes.set_title(title, color=INK, fontsize=10, weight="bold", pad=5)
    axes.set_xlabel(below, color=GREY, fontsize=8.5, labelpad=4)


def dots(axes: Axes, data: Plane, shown: int, size: float, alpha: float) -> None:
    """Draw the first records in the colours of their labels."""
    for label, colour in ((False, BLUE), (True, ORANGE)):
        points = data.X[:shown][data.y[:shown] == label]
        axes.scatter(points[:, 0], points[:, 1], s=size, color=colour, alpha=alpha, linewidths=0)


def regions(axes: Axes, name: str, data: Plane, box: list[float]) -> None:
    """Learn the records, draw what is answered where, and say how much of it is right."""
    model = getattr(stream_llsvm, name)()
    model.learn_many(data.X, data.y)
    right = float(np.mean(np.asarray(model.predict_many(data.X_asked)) == data.y_asked))
    across, up = np.linspace(box[0], box[1], GRID), np.linspace(box[2], box[3], GRID)
    plane = np.stack(np.meshgrid(across, up), axis=-1).reshape(-1, 2)
    trust = trust_in_true(model, plane).reshape(GRID, GRID)
    axes.contourf(across, up, trust, levels=np.linspace(0, 1, 9), cmap=REGIONS)
    axes.contour(across, up, trust, levels=[0.5], colors=INK, linewidths=1.2)
    dots(axes, data, FAINT, 3, 0.5)
    frame(axes, box, name, FAMILY[name])
    axes.text(
        0.97,
        0.03,
        f"{right:.1%}",
        transform=axes.transAxes,
        ha="right",
        va="bottom",
        fontsize=9.5,
        weight="bold",
        color=INK,
        bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 2},
    )


def picture(name: str, data: Plane) -> Figure:
    """Return all panels of a data set: the records, then the family."""
    mpl.rcParams["font.family"] = "DejaVu Sans"
    figure = Figure(figsize=(12.9, 8.6), dpi=100, layout="constrained", facecolor="white")
    panels = iter(figure.subplots(3, 5).flat)
    box = box_of(data.X)
    first = next(panels)
    dots(first, data, SHOWN, 7, 0.7)
    frame(first, box, "the records", f"{min(SHOWN, len(data.y))} of {len(data.y):,}")
    for learner in FAMILY:
        regions(next(panels), learner, data, box)
    for left_over in panels:
        left_over.axis("off")
    figure.suptitle(
        f"{TITLES[name]}: {len(data.y):,} records learned once, with the defaults; "
        f"%: of {len(data.y_asked):,} others",
        color=INK,
        fontsize=12,
    )
    return figure


def main() -> None:
    """Learn, draw, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "names", nargs="*", default=list(plane_data.NAMES), metavar="NAME", help="of a data set"
    )
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where to write")
    arguments = parser.parse_args()
    unknown = [name for name in arguments.names if name not in plane_data.NAMES]
    if unknown:
        parser.error(f"no data set {unknown[0]!r}; there are: {', '.join(plane_data.NAMES)}")
    for name in arguments.names:
        path = arguments.folder / f"{name}.png"
        save(picture(name, plane_data.load(name)), path)
        print(f"{path.name}: {path.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
