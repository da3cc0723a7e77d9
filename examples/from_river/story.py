"""A river pipeline, brought here in three steps: ``python examples/from_river/story.py``.

First only its last step is another one. Then the steps before it go, since records are taken as
they are. Then it runs in the engine, is stopped in the middle, and goes on as if it had not been.
"""

from __future__ import annotations

import csv
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any, NamedTuple

from river import compose, linear_model, preprocessing

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from course import Course, commonest, course, picture_wanted  # noqa: E402

from stream_llsvm import CommitteeClassifier, UnknownFeatureWarning, save_model  # noqa: E402
from stream_llsvm.connectors import FileSource  # noqa: E402
from stream_llsvm.engine import Checkpoints, Engine  # noqa: E402

PAYMENTS = HERE.parent / "payments.csv"
WINDOW = 500
STOP = 2_000
ALONE = "committee, records as they are"


class Told(NamedTuple):
    """What the story tells."""

    usual: float
    courses: dict[str, Course]
    stopped: int
    resumed: int
    same: bool


def pipeline(last: Any) -> Any:
    """Return what somebody has in river: a scaler, an encoder, and a model behind them."""
    amount = compose.Select("amount") | preprocessing.StandardScaler()
    names = compose.Select("country", "device", "merchant", "member")
    return (amount + (names | preprocessing.OneHotEncoder())) | last


def rows() -> list[dict[str, Any]]:
    """Return the payments as river wants them: amounts are numbers, the label is a truth value."""
    with PAYMENTS.open(newline="") as file:
        return [
            row | {"amount": float(row["amount"]), "fraud": row["fraud"] == "yes"}
            for row in csv.DictReader(file)
        ]


def run(folder: Path, records: int | None = None) -> Engine:
    """Learn the file in an engine, up to a record; return it."""
    engine = Engine(
        FileSource([str(PAYMENTS)], label="fraud"),
        pipeline(CommitteeClassifier()),
        checkpoints=Checkpoints(folder),
        trust_pickle=True,  # river's steps have no other form
    )
    engine.run(max_records=records)
    return engine


def tell() -> Told:
    """Score the pipeline, what replaces it, and stop and go on with one."""
    payments = rows()
    before, after = pipeline(linear_model.LogisticRegression()), pipeline(CommitteeClassifier())
    courses = {
        "scaler + encoder | river's LogisticRegression": course(before, payments, "fraud"),
        "scaler + encoder | committee": course(after, payments, "fraud"),
        ALONE: course(CommitteeClassifier(), payments, "fraud"),
    }
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        stopped = run(folder / "kept", STOP)
        resumed = run(folder / "kept")
        straight = run(folder / "straight")
        for name, engine in (("a", resumed), ("b", straight)):
            save_model(engine.model[-1], folder / name)
        same = (folder / "a").read_bytes() == (folder / "b").read_bytes()
    first, then = (one.report()["records"] for one in (stopped, resumed))
    return Told(commonest(payments, "fraud"), courses, first, then, same)


def draw(story: Told, path: Path) -> None:
    """Write the picture."""
    from course_picture import draw_courses

    draw_courses(path, story.courses, WINDOW)


def main() -> None:
    """Tell the story."""
    picture = picture_wanted("A river pipeline, brought here.")
    # The encoder makes a feature of each name, so that new ones come all the time.
    warnings.simplefilter("ignore", UnknownFeatureWarning)
    story = tell()
    print(f"{len(story.courses[ALONE]):,} payments. {story.usual:.1f} of 100 are no fraud.")
    print("Right in 100:")
    for name, one in story.courses.items():
        print(f"  {one.percent():.1f}  {name}")
    print(f"The engine stops at payment {story.stopped:,} and goes on to {story.resumed:,}.\n"
          f"The model is {'' if story.same else 'not '}that of a run without a stop.")  # fmt: skip
    if picture is not None:
        draw(story, picture)


if __name__ == "__main__":
    main()
