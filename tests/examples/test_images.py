"""The story of examples/images: digits are told by their pixels, and new ones are learned."""

from __future__ import annotations

from pathlib import Path

from tests.examples.stories import Story


def test_the_story(tmp_path: Path) -> None:
    story = Story("images")
    told = story.told
    assert told.whole.percent() > 94
    assert told.whole.percent(len(told.whole) - 500) > 95
    labels = [one["digit"] for one in story.script["pictures"]()]
    assert not {8, 9} & set(labels[: told.without])
    assert labels[told.without] in {8, 9}
    for course in told.new.values():
        assert course.percent(0, 1) == 0  # nobody had announced it
        assert course.percent(10) > 80
    assert len(told.mistakes) < 0.06 * len(told.whole)
    story.check_pictures(tmp_path)
