"""Draw who leads a committee as the stream changes: how well each member does, what it is worth.

The stream is made by river's generators: a plane, balls, a tree of rules, then the plane again.
The figures are the mean over several draws of its records. Writes docs/committee.png.
"""

from __future__ import annotations

import argparse
from itertools import islice
from pathlib import Path

import matplotlib as mpl
import numpy as np
from banana_boundary import save
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray
from river.datasets import synth

from stream_llsvm import CommitteeClassifier

EACH = 5_000  # records of a concept
FEATURES = 10
STEP = 100  # records between two points of a curve
FADE = 0.99 ** (STEP / 8)  # as the model's own figures fade: over some 800 records
TARGET = Path(__file__).resolve().parent.parent / "docs" / "committee.png"

STAGES = ("a plane", "fifty balls", "a tree of rules", "the plane again")
# Each member's name, what it is called here, colour, and at which record its name is written.
MEMBERS = {
    "anchors:1": ("linear", "#2f6db5", 16_500),
    "anchors:30": ("30 anchors", "#35a3a3", None),
    "anchors:300": ("300 anchors", "#1f7a7a", None),
    "additive:33": ("additive", "#8b4fb3", 12_700),
    "memory:2000": ("memory", "#d9822b", 8_500),
    "prior:32": ("prior", "#b5473c", None),
    "waves:128": ("waves", "#7fb2e5", None),
    "ferns:100": ("ferns", "#5d9e3f", None),
}
INK, GREY, PALE = "#1b1f24", "#59636e", "#d5d9de"

Numbers = NDArray[np.float64]


def stream(draws: int) -> list[tuple[Numbers, NDArray[np.int64]]]:
    """Return the stream, several times over: the same concepts, each time other records."""
    plane = synth.Hyperplane(seed=1, n_features=FEATURES)
    balls = synth.RandomRBF(seed_model=3, seed_sample=3, n_features=FEATURES, n_centroids=50)
    tree = synth.RandomTree(
        seed_tree=5,
        seed_sample=5,
        n_num_features=FEATURES,
        n_cat_features=0,
        max_tree_depth=6,
        first_leaf_level=3,
    )
    planes = iter(plane)
    sources = (planes, iter(balls), iter(tree), planes)
    found = []
    for _ in range(draws):
        pairs = [pair for source in sources for pair in islice(source, EACH)]
        X = np.array([list(x.values()) for x, _ in pairs])
        found.append((X, np.array([int(y) for _, y in pairs])))
    return found


def learn(X: Numbers, y: NDArray[np.int64]) -> tuple[Numbers, Numbers]:
    """Learn once; return accuracies (moments, members and the committee) and worths, fading."""
    model = CommitteeClassifier()
    accuracies, worths = [], []
    faded = weight = 0.0
    for start in range(0, len(y), STEP):
        rows = slice(start, start + STEP)
        hits = np.asarray(model.test_then_learn(X[rows], y[rows])) == y[rows]
        faded = FADE * faded + (1 - FADE) * float(np.mean(hits))
        weight = FADE * weight + 1 - FADE
        reports = {report.name: report for report in model.mixture}
        accuracies.append([*(reports[name].accuracy for name in MEMBERS), faded / weight])
        worths.append([reports[name].worth for name in MEMBERS])
    return np.array(accuracies), np.array(worths)


def prepare(axes: Axes, title: str, records: int) -> None:
    """Lay out one of the two charts."""
    axes.set_title(title, loc="left", fontsize=12, color=INK, pad=8)
    axes.set_xlim(0, records)
    axes.grid(axis="y", color=PALE, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.tick_params(colors=GREY, labelsize=10, length=0)
    for change in range(EACH, records, EACH):
        axes.axvline(change, color=INK, linewidth=1.0, linestyle=(0, (4, 3)))
    for side, spine in axes.spines.items():
        spine.set_visible(side == "bottom")
        spine.set_color(PALE)


def picture(accuracies: Numbers, worths: Numbers) -> Figure:
    """Return both charts, one above the other."""
    mpl.rcParams["font.family"] = "DejaVu Sans"
    figure = Figure(figsize=(10, 7), dpi=150, layout="constrained", facecolor="white")
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(1.25, 1))
    records = len(worths) * STEP
    moments = np.arange(STEP, records + 1, STEP)
    prepare(above, "Right answers, each member alone and the committee, %", records)
    prepare(below, "Worth: how much greater the log loss would be without it, nats", records)
    for i, (name, colour, place) in enumerate(MEMBERS.values()):
        above.plot(moments, 100 * accuracies[:, i], color=colour, linewidth=1.8, label=name)
        below.plot(moments, worths[:, i], color=colour, linewidth=2.0)
        if place is not None:
            height = worths[place // STEP - 5 : place // STEP + 5, i].max() + 0.006
            below.text(place, height, name, color=colour, fontsize=11, weight="bold", ha="center")
    above.plot(moments, 100 * accuracies[:, -1], color=INK, linewidth=2.8, label="committee")
    above.set_ylim(58, 100)
    for stage, said in enumerate(STAGES):
        above.text((stage + 0.5) * EACH, 98.2, said, color=GREY, fontsize=11, ha="center", va="top")
    below.axhline(0, color=GREY, linewidth=0.8)
    below.set_ylim(-0.035, 1.12 * float(worths[EACH // STEP :].max()))
    below.set_xticks(range(0, records + 1, EACH))
    below.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    below.set_xlabel("records", color=GREY, fontsize=10)
    figure.legend(
        *above.get_legend_handles_labels(),
        loc="outside lower center",
        ncols=len(MEMBERS) + 1,
        frameon=False,
        fontsize=10,
        labelcolor=INK,
        handlelength=1.4,
        columnspacing=1.4,
    )
    return figure


def main() -> None:
    """Learn, draw, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=8, help="how often, with other records")
    parser.add_argument("--output", type=Path, default=TARGET, help="the file to write")
    arguments = parser.parse_args()
    runs = [learn(X, y) for X, y in stream(max(1, arguments.draws))]
    accuracies = np.mean([accuracy for accuracy, _ in runs], axis=0)
    worths = np.mean([worth for _, worth in runs], axis=0)
    save(picture(accuracies, worths), arguments.output)
    print(f"{arguments.output.name}: {arguments.output.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
