"""The story of examples/from_river: each step is worth it, and a stop changes nothing."""

from __future__ import annotations

import warnings
from pathlib import Path

from stream_llsvm import UnknownFeatureWarning
from tests.examples.stories import Story


def test_the_story(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnknownFeatureWarning)
        story = Story("from_river")
    told = story.told
    river, last_step, alone = (one.percent() for one in told.courses.values())
    assert abs(river - told.usual) < 2
    assert last_step > river + 4
    assert alone > last_step - 0.5
    assert (told.stopped, told.resumed, told.same) == (2_000, 3_000, True)
    story.check_pictures(tmp_path)
