"""Draw what the regressors make of a sine: a line, and by a feature map or by anchors a curve.

Each learns the records once, in their order, with its defaults. Writes docs/pictures/regressor.png.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from banana_boundary import BLUE, GREY, INK, ORANGE, save
from family_pictures import FOLDER
from matplotlib.figure import Figure
from river import preprocessing

from stream_llsvm import FourierFeatures, LLSVMRegressor, PegasosRegressor

GREEN = "#3a8f5c"
RECORDS = 2_000
SHOWN = 400
NOISE = 0.25
REACH = 1.25 * np.pi


def models() -> dict[str, Any]:
    """Return what is drawn, by what it is called."""
    scaled = preprocessing.StandardScaler()
    return {
        "PegasosRegressor()": PegasosRegressor(),
        "FourierFeatures() | PegasosRegressor()": scaled | FourierFeatures() | PegasosRegressor(),
        "LLSVMRegressor()": LLSVMRegressor(),
    }


def picture() -> Figure:
    """Learn the records with each model and draw what it would answer."""
    mpl.rcParams["font.family"] = "DejaVu Sans"
    rng = np.random.default_rng(0)
    x = rng.uniform(-REACH, REACH, size=RECORDS)
    y = np.sin(x) + x / 4 + rng.normal(scale=NOISE, size=RECORDS)
    across = np.linspace(-REACH, REACH, 200)
    figure = Figure(figsize=(8, 3.4), dpi=100, layout="constrained", facecolor="white")
    axes = figure.subplots()
    axes.scatter(x[:SHOWN], y[:SHOWN], s=6, color=BLUE, alpha=0.45, linewidths=0)
    for (name, model), colour in zip(models().items(), (INK, ORANGE, GREEN), strict=True):
        for value, target in zip(x.tolist(), y.tolist(), strict=True):
            model.learn_one({"x": value}, target)
        told = [model.predict_one({"x": value}) for value in across.tolist()]
        axes.plot(across, told, color=colour, linewidth=2.4, label=name)
    axes.set_xticks([])
    axes.set_yticks([])
    for spine in axes.spines.values():
        spine.set_color("#d5d9de")
    axes.set_title(
        f"{RECORDS:,} records learned once, with the defaults; dots: the first {SHOWN}",
        color=INK,
        fontsize=11,
    )
    axes.legend(frameon=False, fontsize=9.5, labelcolor=INK, loc="upper left")
    axes.set_xlabel("x", color=GREY)
    axes.set_ylabel("the number to predict", color=GREY)
    return figure


def main() -> None:
    """Learn, draw, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=FOLDER / "regressor.png", help="the file")
    arguments = parser.parse_args()
    save(picture(), arguments.output)
    print(f"{arguments.output.name}: {arguments.output.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
