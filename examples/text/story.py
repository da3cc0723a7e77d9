"""Messages that find their team, also when teams change: ``python examples/text/story.py``.

A field of three words or more is a bag of words; nothing is counted, hashed or made a vector
before. In the middle some messages begin to go to another team.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, NamedTuple

from river import feature_extraction, naive_bayes

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from course import Course, commonest, course, picture_wanted
from messages import TEAMS, messages

from stream_llsvm import CommitteeClassifier

MESSAGES, CHANGE = 8_000, 4_000
WINDOW = 500
LAST = 1_000
ASKED = "hello can you help me my charger gets so hot"


class Told(NamedTuple):
    """What the story tells."""

    usual: float
    committee: Course
    bayes: Course
    before: str
    after: str
    words: dict[str, float]


def worth(model: CommitteeClassifier, text: str, label: str) -> dict[str, float]:
    """Return what the score of a label loses without each word, those worth most first."""

    def score(words: list[str]) -> float:
        record = {"channel": "mail", "message": " ".join(words)}
        return float(model.decision_function_one(record)[label])

    words = text.split()
    whole = score(words)
    lost = {word: whole - score([one for one in words if one != word]) for word in words}
    return dict(sorted(lost.items(), key=lambda one: -one[1]))


def tell() -> Told:
    """Learn the messages with a committee, and with naive Bayes, which never forgets."""
    rows = list(messages(0, MESSAGES, CHANGE))
    asked: dict[str, Any] = {"channel": "mail", "message": ASKED}
    model, committee = CommitteeClassifier(), Course()
    course(model, rows[:CHANGE], "team", committee)
    before = str(model.predict_one(asked))
    course(model, rows[CHANGE:], "team", committee)
    after = str(model.predict_one(asked))
    bayes = feature_extraction.BagOfWords(on="message") | naive_bayes.MultinomialNB()
    usual = commonest(rows, "team")
    words = worth(model, ASKED, after)
    return Told(usual, committee, course(bayes, rows, "team"), before, after, words)


def draw(story: Told, path: Path) -> None:
    """Write the picture."""
    from course_picture import draw_courses

    lines = {"committee": story.committee, "naive Bayes of river": story.bayes}
    draw_courses(path, lines, WINDOW, {CHANGE: "batteries go by post"})


def main() -> None:
    """Tell the story."""
    picture = picture_wanted("Messages that find their team.")
    story = tell()
    most = f"{story.usual:.0f} of 100"
    print(f"{MESSAGES:,} messages for {len(TEAMS)} teams; {most} are for the largest.")
    print(f"Right in 100 of messages {CHANGE - LAST:,} to {CHANGE:,}: the committee "
          f"{story.committee.percent(CHANGE - LAST, CHANGE):.0f}, naive Bayes "
          f"{story.bayes.percent(CHANGE - LAST, CHANGE):.0f}.")  # fmt: skip
    print(f'"{ASKED}" goes to {story.before}.')
    print(f"Message {CHANGE:,}: from here on batteries and chargers are exchanged by post.")
    print(f"Right in 100 of the last {LAST:,}: the committee "
          f"{story.committee.percent(MESSAGES - LAST):.0f}, naive Bayes "
          f"{story.bayes.percent(MESSAGES - LAST):.0f}.")  # fmt: skip
    words = ", ".join(f"{word} {lost:.1f}" for word, lost in list(story.words.items())[:3])
    print(f"The same message goes to {story.after} now.")
    print(f"Worth most of its score: {words}.")
    if picture is not None:
        draw(story, picture)


if __name__ == "__main__":
    main()
