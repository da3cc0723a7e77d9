"""Readings of machines, each with a level of its own: what is hot for one is usual for another."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

MACHINES = 24
_LEVELS = (40.0, 90.0)  # degrees: what machines have when nothing is wrong
_FAHRENHEIT = 1.8, 32.0


def readings(seed: int, n: int, fahrenheit_from: int) -> Iterator[dict[str, Any]]:
    """Yield readings, each with ``state``, "fine" or "worn"; the same seed gives the same.

    A bearing that wears out makes its machine warmer than it is at that load, and shakes it. From
    one reading on the sensors tell Fahrenheit.
    """
    chance = random.Random(seed)
    usual = [chance.uniform(*_LEVELS) for _ in range(MACHINES)]
    for i in range(n):
        machine = chance.randrange(MACHINES)
        worn = chance.random() < 0.35
        load = chance.uniform(0.2, 1.0)
        degrees = usual[machine] + 12 * load + 9 * worn + chance.gauss(0, 2)
        shaking = chance.lognormvariate(0.25 * worn, 0.4)
        if i >= fahrenheit_from:
            degrees = _FAHRENHEIT[0] * degrees + _FAHRENHEIT[1]
        yield {
            "machine": f"m{machine:02}",
            "load": round(load, 3),
            "degrees": round(degrees, 1),
            "shaking": round(shaking, 3),
            "state": "worn" if worn else "fine",
        }
