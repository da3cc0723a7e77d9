"""Pictures as pixels, and new classes: ``python examples/images/story.py``.

Handwritten digits of 8 times 8 pixels, which come with scikit-learn. The eights and nines come
only from the middle on: a class need not be declared, it begins with its first record.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

try:
    from sklearn.datasets import load_digits
except ModuleNotFoundError:
    sys.exit("The pictures come with scikit-learn: pip install scikit-learn")

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from course import Course, course, picture_wanted

from stream_llsvm import CommitteeClassifier

NEW = (8, 9)
CHANGE = 900  # pictures of the set from which on the new digits are there
FIRST, LAST = 10, 500
SHOWN = 10


class Mistake(NamedTuple):
    """A picture that was taken for another digit."""

    pixels: NDArray[np.float64]
    answer: int
    truth: int


class Told(NamedTuple):
    """What the story tells."""

    whole: Course
    without: int
    new: dict[int, Course]
    mistakes: list[Mistake]


def pictures() -> list[dict[str, Any]]:
    """Return the pictures in their order: a field for each pixel, and the digit."""
    digits = load_digits()
    return [
        {f"pixel {i // 8},{i % 8}": value for i, value in enumerate(pixels)} | {"digit": digit}
        for n, (pixels, digit) in enumerate(
            zip(digits.data.tolist(), digits.target.tolist(), strict=True)
        )
        if digit not in NEW or n >= CHANGE
    ]


def tell() -> Told:
    """Learn the pictures; keep the mistakes."""
    model, whole = CommitteeClassifier(), Course()
    new = {digit: Course() for digit in NEW}
    mistakes = []
    records = pictures()
    without = next(n for n, one in enumerate(records) if one["digit"] in NEW)
    for one in records:
        pixels, digit = list(one.values())[:-1], one["digit"]
        answer = model.predict_one({name: one[name] for name in one if name != "digit"})
        if digit in new:
            new[digit].take(answer, digit)
        if answer is not None and answer != digit:
            mistakes.append(Mistake(np.reshape(pixels, (8, 8)), answer, digit))
        course(model, [one], "digit", whole)
    return Told(whole, without, new, mistakes)


def draw(story: Told, path: Path) -> None:
    """Write a picture of the last mistakes."""
    from banana_boundary import INK, save
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 1.3), dpi=100, layout="constrained", facecolor="white")
    for axes, one in zip(figure.subplots(1, SHOWN), story.mistakes[-SHOWN:], strict=True):
        axes.imshow(one.pixels, cmap="gray_r")
        axes.set_axis_off()
        axes.set_title(f"{one.truth}, not {one.answer}", color=INK, fontsize=9)
    save(figure, path)


def main() -> None:
    """Tell the story."""
    picture = picture_wanted("Pictures of digits, as pixels.")
    story = tell()
    whole = len(story.whole)
    print(f"{whole:,} pictures of 64 pixels. The first {story.without:,} are neither 8 nor 9.")
    print(f"Right in {story.whole.percent():.0f} of 100, "
          f"and in {story.whole.percent(whole - LAST):.0f} of the last {LAST}.")  # fmt: skip
    for digit, one in story.new.items():
        print(f"The {digit}: right in {one.percent(0, FIRST) * FIRST / 100:.0f} of its first "
              f"{FIRST}, and in {one.percent(FIRST):.0f} of 100 of those behind.")  # fmt: skip
    if picture is not None:
        draw(story, picture)


if __name__ == "__main__":
    main()
