"""Draw how a locally linear SVM comes to know the bananas: regions, anchors and their trails.

The stream is river's bundled Bananas, learned once, in its own order. Writes docs/banana.png.
"""

from __future__ import annotations

import argparse
import io
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from numpy.typing import NDArray
from PIL import Image
from river import datasets

from stream_llsvm import SAPLClassifier

MOMENTS = (200, 1_000, 5_300)
STEP = 10  # records between two points of a trail
GRID = 240
SHOWN = 400  # records drawn, the last before the moment
TARGET = Path(__file__).resolve().parent.parent / "docs" / "banana.png"

# The figure has no background of its own, so its text is a grey that reads on white and on black.
GREY = "#7d8590"
INK = "#1b1f24"
BLUE, ORANGE = "#2f6db5", "#d9822b"
REGIONS = LinearSegmentedColormap.from_list("regions", ["#a9c9ee", "#f2f2f0", "#f6d0a4"])

Points = NDArray[np.float64]


class Moment(NamedTuple):
    """What the model knew after so many records."""

    records: int
    hits: int
    probability: Points
    trails: list[Points]


def bananas() -> tuple[Points, NDArray[np.bool_]]:
    """Return the stream's points and labels in their order."""
    pairs = list(datasets.Bananas())
    X = np.array([[x["1"], x["2"]] for x, _ in pairs])
    return X, np.array([y for _, y in pairs])


def positions(model: Any) -> Points:
    """Return where the anchors are, one row each."""
    return np.array([[anchor.position[0], anchor.position[1]] for anchor in model.anchors])


def probability_of_true(model: Any, plane: Points, first_label: bool) -> Points:
    """Return the probability of the label True at each point of the plane."""
    # The columns of an array's answer stand in the order in which the labels appeared.
    column = 0 if first_label else 1
    answer: Points = np.asarray(model.predict_proba_many(plane))[:, column]
    return answer.reshape(GRID, GRID)


def learn(model: Any, X: Points, y: NDArray[np.bool_], plane: Points) -> list[Moment]:
    """Learn the stream once, noting where the anchors go and what is known at each moment."""
    trails: list[list[Points]] = []
    moments: list[Moment] = []
    hits = 0
    for start in range(0, max(MOMENTS), STEP):
        rows = slice(start, start + STEP)
        hits += int(np.sum(np.asarray(model.test_then_learn(X[rows], y[rows])) == y[rows]))
        for i, place in enumerate(positions(model)):
            if i == len(trails):
                trails.append([])
            trails[i].append(place)
        done = start + STEP
        if done in MOMENTS:
            probability = probability_of_true(model, plane, bool(y[0]))
            paths = [np.array(trail) for trail in trails]
            moments.append(Moment(done, hits, probability, paths))
    return moments


def draw(axes: Axes, moment: Moment, X: Points, y: NDArray[np.bool_], box: list[float]) -> None:
    """Draw one moment: regions, recent records, trails, anchors."""
    axes.contourf(
        moment.probability,
        levels=np.linspace(0, 1, 9),
        cmap=REGIONS,
        extent=box,
        origin="lower",
    )
    axes.contour(
        moment.probability, levels=[0.5], colors=INK, linewidths=1.4, extent=box, origin="lower"
    )
    recent = slice(max(0, moment.records - SHOWN), moment.records)
    for label, colour in ((False, BLUE), (True, ORANGE)):
        points = X[recent][y[recent] == label]
        axes.scatter(points[:, 0], points[:, 1], s=7, color=colour, alpha=0.55, linewidths=0)
    for trail in moment.trails:
        axes.plot(trail[:, 0], trail[:, 1], color=INK, linewidth=1.1, alpha=0.75)
    ends = np.array([trail[-1] for trail in moment.trails])
    axes.scatter(
        ends[:, 0], ends[:, 1], s=26, color="white", edgecolors=INK, linewidths=1.0, zorder=3
    )
    axes.set_xlim(box[0], box[1])
    axes.set_ylim(box[2], box[3])
    axes.set_xticks([])
    axes.set_yticks([])
    for spine in axes.spines.values():
        spine.set_color(GREY)
    share = moment.hits / moment.records
    axes.set_title(
        f"after {moment.records:,} records: {share:.1%} right", color=GREY, fontsize=11, pad=8
    )


def picture(moments: list[Moment], X: Points, y: NDArray[np.bool_], box: list[float]) -> Figure:
    """Return the moments side by side."""
    mpl.rcParams["font.family"] = "DejaVu Sans"
    figure = Figure(figsize=(12, 4.6), dpi=130, layout="constrained")
    figure.patch.set_alpha(0.0)
    panels = figure.subplots(1, len(moments))
    for axes, moment in zip(np.atleast_1d(panels), moments, strict=True):
        draw(axes, moment, X, y, box)
    figure.supxlabel(
        "white: anchors, with the trails of their movement   ·   line: the boundary   ·   "
        f"dots: the last {SHOWN} records   ·   %: of all records so far, each predicted first",
        color=GREY,
        fontsize=9.5,
    )
    return figure


def save(figure: Figure, path: Path) -> None:
    """Write the figure with a palette of its own: a fraction of the size, and no eye can tell."""
    memory = io.BytesIO()
    figure.savefig(memory, format="png")
    path.parent.mkdir(parents=True, exist_ok=True)
    with Image.open(memory) as image:
        image.quantize(128, method=Image.Quantize.FASTOCTREE).save(path, optimize=True)


def main() -> None:
    """Learn, draw, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--anchors", type=int, default=40, help="few enough to be told apart")
    parser.add_argument("--output", type=Path, default=TARGET, help="the file to write")
    arguments = parser.parse_args()
    X, y = bananas()
    # A few stray points would take a third of the room.
    low, high = np.quantile(X, 0.002, axis=0) - 0.3, np.quantile(X, 0.998, axis=0) + 0.3
    across, up = (np.linspace(low[i], high[i], GRID) for i in range(2))
    plane = np.stack(np.meshgrid(across, up), axis=-1).reshape(-1, 2)
    moments = learn(SAPLClassifier(n_anchors=arguments.anchors), X, y, plane)
    box = [float(low[0]), float(high[0]), float(low[1]), float(high[1])]
    save(picture(moments, X, y, box), arguments.output)
    size = arguments.output.stat().st_size
    print(f"{arguments.output.name}: {size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
