"""Draw how right models were while a stream went on, as lines."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import matplotlib as mpl
from banana_boundary import BLUE, GREY, INK, ORANGE, save
from course import Course
from matplotlib.axes import Axes
from matplotlib.figure import Figure

WIDE = 90  # characters: more do not fit below the picture, side by side
COLOURS = (BLUE, ORANGE, INK, "#3a8f5c")


def draw_courses(
    path: Path,
    courses: Mapping[str, Course],
    window: int,
    marks: Mapping[int, str] | None = None,
) -> None:
    """Write a picture with a line for each model, and where something happened.

    Parameters
    ----------
    path
        The file.
    courses
        What is drawn, by what it is called.
    window
        Records that each point of a line looks back on.
    marks
        What happened, by the record from which on it was so.

    """
    figure, axes = canvas()
    for (name, one), colour in zip(courses.items(), COLOURS, strict=False):
        at, right = one.of_late(window)
        axes.plot(at, right, color=colour, linewidth=1.8, label=name)
    axes.set_ylabel(f"right of the last {window:,}, in %", color=GREY)
    axes.set_xlabel("records", color=GREY)
    axes.xaxis.set_major_formatter("{x:,.0f}")
    top = axes.get_ylim()[1]
    for record, what in (marks or {}).items():
        axes.axvline(record, color=GREY, linestyle=":", linewidth=1.2)
        axes.text(record, top, f" {what}", color=GREY, fontsize=9.5, va="bottom")
    rows = len(" ".join(courses)) > WIDE
    figure.legend(
        loc="outside lower center",
        ncols=1 if rows else len(courses),
        frameon=False,
        labelcolor=INK,
        fontsize=9.5,
    )
    save(figure, path)


def canvas() -> tuple[Figure, Axes]:
    """Return an empty picture."""
    mpl.rcParams["font.family"] = "DejaVu Sans"
    figure = Figure(figsize=(8, 3.2), dpi=100, layout="constrained", facecolor="white")
    axes = figure.subplots()
    axes.spines[["top", "right"]].set_visible(False)
    for spine in axes.spines.values():
        spine.set_color("#d5d9de")
    axes.tick_params(colors=GREY)
    return figure, axes
