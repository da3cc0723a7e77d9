"""The story of examples/sensors: who knows the machine knows what is hot, also in Fahrenheit."""

from __future__ import annotations

from pathlib import Path

from tests.examples.stories import Story


def test_the_story(tmp_path: Path) -> None:
    story = Story("sensors")
    told, change = story.told, story.script["CHANGE"]
    before = told.told.percent(change - 1_000, change)
    assert before > told.usual + 30
    assert before > told.untold.percent(change - 1_000, change) + 15
    assert told.told.percent(change, change + 500) < before - 20
    assert told.told.percent(change + 1_000) > before - 2
    kinds = [kind for _, kind, _ in told.alarms]
    assert kinds.index("drift") < kinds.index("better")
    assert "input drift" in kinds
    assert all(change <= record < change + 2_000 for record, _, _ in told.alarms)
    assert all("degrees: mean" in text for _, kind, text in told.alarms if kind == "input drift")
    story.check_pictures(tmp_path)
