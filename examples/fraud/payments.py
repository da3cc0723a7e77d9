"""Payments of a shop, one in five of them a ring's: names, a number, words and times."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any, NamedTuple

COUNTRIES = ("AT", "CH", "DE", "FR", "IT", "NL")
DEVICES = ("android", "ios", "terminal", "web")
MERCHANTS = tuple(f"merchant-{i}" for i in range(40))
_BEGIN = datetime(2026, 1, 1)
#: What the ring uses. Neither a country nor a device tells by itself: the two together do, if
#: the amount is small.
_RING = {
    ("AT", "android"), ("CH", "ios"), ("DE", "terminal"),
    ("FR", "web"), ("IT", "android"), ("NL", "ios"),
}  # fmt: skip
_USUAL = ("thanks for the quick delivery", "second order this month", "please leave at the door",
          "size 42 as before", "birthday present", "invoice to the office")  # fmt: skip
_ODD = ("gift cards, send codes by mail", "urgent, other address", "new phone, new address")
_SMALL = 60.0
_TRUE = 0.95  # how likely what looks like fraud is one; of all others the rest is


class Payment(NamedTuple):
    """A payment, and what the shop learns of it later."""

    record: dict[str, Any]
    fraud: str


def payments(seed: int, in_a_day: int) -> Iterator[Payment]:
    """Yield payments without an end; the same seed gives the same.

    Parameters
    ----------
    seed
        For all that is random.
    in_a_day
        How many come in a day.

    """
    chance = random.Random(seed)
    now, number = _BEGIN, 0
    while True:
        now += timedelta(seconds=86_400 / in_a_day)
        country, device = chance.choice(COUNTRIES), chance.choice(DEVICES)
        amount = round(chance.lognormvariate(3.6, 0.8), 2)
        is_odd = (country, device) in _RING and amount < _SMALL
        fraud = chance.random() < (_TRUE if is_odd else 1 - _TRUE)
        words = _ODD if fraud and chance.random() < 0.3 else _USUAL
        yield Payment(
            {
                "id": f"p{number}",
                "time": now.isoformat(timespec="seconds"),
                "amount": amount,
                "country": country,
                "device": device,
                "merchant": chance.choice(MERCHANTS),
                "note": chance.choice(words),
            },
            "yes" if fraud else "no",
        )
        number += 1


def in_cents(record: dict[str, Any]) -> dict[str, Any]:
    """Return a payment as a broken release of the shop sends it: a hundred times the amount."""
    return {**record, "amount": round(100 * record["amount"])}
