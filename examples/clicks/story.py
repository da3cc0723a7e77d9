"""Who clicks which banner, and a model for each visitor: ``python examples/clicks/story.py``.

All visitors have much in common, and each has a taste. One model learns what they share; for each
visitor a small correction of it is learned beside.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from clicks.banners import VISITORS, impressions
from course import Course, course, picture_wanted

from stream_llsvm import CommitteeClassifier, KeyedClassifier

BANNERS = 20_000
LAST = 5_000
WINDOW = 2_000
NEW = {"visitor": "somebody new", "device": "phone", "price": 50, "height": 500}


class Told(NamedTuple):
    """What the story tells."""

    clicked: float
    courses: dict[str, Course]
    keys: int
    new: dict[str, float]


def tell() -> Told:
    """Learn the stream in three ways."""
    rows = list(impressions(0, BANNERS))
    nobody = [{name: row[name] for name in row if name != "visitor"} for row in rows]
    keyed = KeyedClassifier(CommitteeClassifier(), key="visitor")
    courses = {
        "a model for each visitor": course(keyed, rows, "clicked"),
        "the visitor is a name among others": course(CommitteeClassifier(), rows, "clicked"),
        "no visitor": course(CommitteeClassifier(), nobody, "clicked"),
    }
    new = {
        topic: keyed.predict_proba_one({**NEW, "topic": topic})["yes"]
        for topic in ("games", "cars")
    }
    clicked = 100 * sum(row["clicked"] == "yes" for row in rows) / len(rows)
    return Told(clicked, courses, keyed.n_keys, new)


def draw(story: Told, path: Path) -> None:
    """Write the picture."""
    from course_picture import draw_courses

    draw_courses(path, story.courses, WINDOW)


def main() -> None:
    """Tell the story."""
    picture = picture_wanted("Clicks, and a model for each visitor.")
    story = tell()
    print(f"{BANNERS:,} banners for {VISITORS} visitors. {story.clicked:.0f} of 100 are clicked.")
    print(f"Right in 100 of the last {LAST:,}:")
    for name, one in story.courses.items():
        print(f"  {one.percent(BANNERS - LAST):.0f}  {name}")
    print(f"{story.keys} visitors have a correction of their own.")
    print("Somebody new, on a phone, clicks what all click: "
          f"games with {story.new['games']:.2f}, cars with {story.new['cars']:.2f}.")  # fmt: skip
    if picture is not None:
        draw(story, picture)


if __name__ == "__main__":
    main()
