"""Messages to a help desk: each goes to one of four teams, until some go to another one.

The story of them is in text/, in which they would be ``text.messages``; other modules have the
name ``text``.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

_SUBJECTS = {
    "billing": "invoice card refund charged twice amount receipt bank fee contract",
    "login": "password reset locked code expired link account phone sign name",
    "delivery": "parcel courier door tracking late box address arrived neighbour van",
    "repair": "screen battery noise broken button charger hot crack speaker loose",
}
_COMMON = (
    "hello please help me with my order since today I have a question thank you it does not work "
    "can you tell what to do we wrote last week already and nobody answers this is urgent"
)
#: What is exchanged by post from some message on, and no longer repaired.
BY_POST = {"battery", "charger", "hot"}
TEAMS = tuple(_SUBJECTS)


def messages(seed: int, n: int, by_post_from: int) -> Iterator[dict[str, Any]]:
    """Yield messages, each with its ``team``; the same seed gives the same.

    One in seven is about two subjects at once, and its team is that of either. From one message on
    batteries and chargers are exchanged by post: what is said of them goes to deliveries.
    """
    chance = random.Random(seed)
    words_of = {team: words.split() for team, words in _SUBJECTS.items()}
    common = _COMMON.split()
    for i in range(n):
        first, second = chance.choice(TEAMS), chance.choice(TEAMS)
        about = chance.choices(words_of[first], k=2)
        team = first
        if i >= by_post_from and BY_POST & set(about):
            team = "delivery"
        if chance.random() < 1 / 7:
            about[1] = chance.choice(words_of[second])
        words = chance.choices(common, k=chance.randint(6, 14)) + about
        words.append(f"nr{chance.randrange(100_000)}")  # an order's number, most often a new word
        chance.shuffle(words)
        yield {
            "channel": chance.choice(("mail", "chat")),
            "message": " ".join(words),
            "team": team,
        }
