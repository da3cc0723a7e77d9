"""Machines that wear out, and sensors that change their unit: ``python examples/sensors/story.py``.

What is hot for one machine is usual for another. In the middle all sensors begin to tell
Fahrenheit; the run notices, says which field has moved, and learns on.
"""

from __future__ import annotations

import csv
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from course import Course, commonest, picture_wanted
from sensors.machines import MACHINES, readings

from stream_llsvm import CommitteeClassifier
from stream_llsvm.connectors import FileSource
from stream_llsvm.connectors.base import Result
from stream_llsvm.engine import Engine

READINGS, CHANGE = 12_000, 6_000
BATCH = 100  # readings that are answered at once: as they come, and not all at once
WINDOW = 500  # readings that are looked back on


class Kept:
    """A sink that keeps only which answers were right."""

    def __init__(self) -> None:
        self.course = Course()

    def write(self, results: Sequence[Result]) -> None:
        for result in results:
            self.course.take(result.prediction, result.label)

    def flush(self) -> None:
        """Nothing is to be written."""

    def close(self) -> None:
        """Nothing is open."""


class Told(NamedTuple):
    """What the story tells."""

    usual: float
    told: Course
    untold: Course
    alarms: list[tuple[int, str, str]]


def run(path: Path, ignore: Sequence[str] = ()) -> tuple[Course, list[tuple[int, str, str]]]:
    """Learn the file as a run does; return how right it was, and its events."""
    kept = Kept()
    source = FileSource([str(path)], label="state", ignore=ignore)
    engine = Engine(source, CommitteeClassifier(), sink=kept, max_batch=BATCH)
    engine.run()
    events = [(one["record"], one["kind"], one["text"]) for one in engine.progress.events]
    return kept.course, events


def tell() -> Told:
    """Learn the stream with and without the machines' names."""
    rows = list(readings(0, READINGS, CHANGE))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "readings.csv"
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, rows[0])
            writer.writeheader()
            writer.writerows(rows)
        told, events = run(path)
        untold, _ = run(path, ignore=["machine"])
    alarms = [one for one in events if one[1] in {"drift", "input drift", "better"}]
    return Told(commonest(rows, "state"), told, untold, alarms)


def draw(story: Told, path: Path) -> None:
    """Write the picture."""
    from course_picture import draw_courses

    lines = {"told the machine": story.told, "not told the machine": story.untold}
    draw_courses(path, lines, WINDOW, {CHANGE: "Fahrenheit"})


def main() -> None:
    """Tell the story."""
    picture = picture_wanted("Sensors of machines, and a change of their unit.")
    story = tell()
    before = CHANGE - 1_000, CHANGE
    print(f"{READINGS:,} readings of {MACHINES} machines. {story.usual:.0f} of 100 are fine.")
    print(f"Before the change a committee is right in {story.told.percent(*before):.0f} of 100,\n"
          f"and in {story.untold.percent(*before):.0f} if it is not told the machine.")  # fmt: skip
    print(f"Reading {CHANGE:,}: the sensors begin to tell Fahrenheit.")
    for record, kind, text in story.alarms:
        print(f"Reading {record:,}: {kind}: {text}")
    for begin in range(CHANGE, CHANGE + 3 * WINDOW, WINDOW):
        print(f"Readings {begin:,} to {begin + WINDOW:,}: "
              f"right in {story.told.percent(begin, begin + WINDOW):.0f} of 100.")  # fmt: skip
    if picture is not None:
        draw(story, picture)


if __name__ == "__main__":
    main()
