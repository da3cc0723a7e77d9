"""Who clicks which banner: names in most fields, and visitors who differ."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from typing import Any

VISITORS = 600
TOPICS = ("books", "cars", "games", "garden", "sport", "travel")
DEVICES = ("desktop", "phone", "tablet")
_PAIRS = {("games", "phone"), ("cars", "desktop"), ("garden", "tablet")}


def impressions(seed: int, n: int) -> Iterator[dict[str, Any]]:
    """Yield banners that were shown, each with ``clicked``; the same seed gives the same.

    What all visitors have in common: some topics are for some devices. What each has for itself:
    whether cheap things or dear ones are clicked, banners high on the page or low ones, and how
    many at all.
    """
    chance = random.Random(seed)
    tastes = [[chance.gauss(0, 2.2) for _ in range(3)] for _ in range(VISITORS)]
    for _ in range(n):
        visitor = int(VISITORS * chance.random() ** 1.5)  # some come far more often than others
        topic, device = chance.choice(TOPICS), chance.choice(DEVICES)
        price, height = chance.gauss(0, 1), chance.gauss(0, 1)
        often, dear, high = tastes[visitor]
        score = (1.5 if (topic, device) in _PAIRS else -0.7) + often + dear * price + high * height
        yield {
            "visitor": f"v{visitor:03}",
            "topic": topic,
            "device": device,
            "price": round(50 * math.exp(0.6 * price), 2),
            "height": round(500 + 150 * height),
            "clicked": "yes" if chance.random() < 1 / (1 + math.exp(-score)) else "no",
        }
