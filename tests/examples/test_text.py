"""The story of examples/text: words that begin to mean another team are learned anew."""

from __future__ import annotations

from pathlib import Path

from tests.examples.stories import Story


def test_the_story(tmp_path: Path) -> None:
    story = Story("text")
    told, change = story.told, story.script["CHANGE"]
    before = told.committee.percent(change - 1_000, change)
    assert before > told.usual + 50
    assert abs(before - told.bayes.percent(change - 1_000, change)) < 3
    last = len(told.committee) - 1_000
    assert told.committee.percent(last) > before - 1
    assert told.bayes.percent(last) < before - 6
    assert (told.before, told.after) == ("repair", "delivery")
    assert set(list(told.words)[:2]) == {"hot", "charger"}
    assert list(told.words.values())[2] < 1 < list(told.words.values())[1]
    story.check_pictures(tmp_path)
