"""The story of examples/clicks: a correction for each visitor is worth it."""

from __future__ import annotations

from pathlib import Path

from tests.examples.stories import Story


def test_the_story(tmp_path: Path) -> None:
    story = Story("clicks")
    told, end = story.told, story.script["BANNERS"]
    keyed, named, nobody = (one.percent(end - 5_000) for one in told.courses.values())
    assert nobody > max(told.clicked, 100 - told.clicked)
    assert keyed > named + 1.5 > nobody + 10
    assert told.keys == story.script["VISITORS"]
    assert told.new["games"] > told.new["cars"] + 0.05
    story.check_pictures(tmp_path)
