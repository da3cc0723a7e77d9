"""Card payments, some of them fraud: names, numbers and times, and a ring that moves on."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from datetime import datetime, timedelta

import numpy as np

from stream_llsvm.streams.pairs import Pair

COUNTRIES = ("AT", "BR", "CH", "CN", "DE", "ES", "FR", "GB", "IN", "IT", "NL", "PL", "SE", "US")
DEVICES = ("android", "ios", "terminal", "web")
_MERCHANTS, _USERS = 80, 5_000
_BEGIN = datetime(2026, 1, 1)
_BLOCK = 500  # records that are drawn at once
_SECONDS = 30.0  # between two payments, on the mean
#: How likely a payment is fraud: any at all, at night for much money, and the ring's own.
_ANY, _NIGHT, _RING = 0.01, 0.7, 0.9
_MUCH, _NIGHT_ENDS = 120.0, 5


def payments(seed: int, first: int, every: int) -> Iterator[Pair]:
    """Yield payments without an end: ``{field: value}`` and whether it was fraud, "yes" or "no".

    A ring steals cards in one country and pays with them from one kind of device, or at one
    merchant; neither the country nor the device tells by itself. After ``first`` payments, and
    then after every so many, the ring moves on to others. Much money at night is always odd.

    Parameters
    ----------
    seed
        For all that is random: the same seed gives the same payments.
    first, every
        Payments before the ring moves on for the first time, and between two times.

    Examples
    --------
    >>> x, y = next(payments(0, 1_000, 1_000))
    >>> sorted(x), y
    (['amount', 'country', 'device', 'member', 'merchant', 'time', 'user'], 'yes')

    """
    now = _BEGIN
    drawn = 0
    for block in itertools.count():
        chance = np.random.default_rng([seed, 0, block])
        waits = chance.exponential(_SECONDS, _BLOCK)
        countries = (len(COUNTRIES) * chance.random(_BLOCK) ** 1.5).astype(int)
        devices = chance.integers(0, len(DEVICES), _BLOCK)
        merchants = (_MERCHANTS * chance.random(_BLOCK) ** 2).astype(int)
        users = (_USERS * chance.random(_BLOCK) ** 2).astype(int)
        amounts = np.round(chance.lognormal(3.6, 1.0, _BLOCK), 2)
        members, luck = chance.random(_BLOCK) < 0.4, chance.random(_BLOCK)
        for i in range(_BLOCK):
            ring = _ring(seed, 0 if drawn < first else 1 + (drawn - first) // every)
            drawn += 1
            now += timedelta(seconds=float(waits[i]))
            country, device, merchant = int(countries[i]), int(devices[i]), int(merchants[i])
            likely = _ANY
            if amounts[i] > _MUCH and now.hour < _NIGHT_ENDS:
                likely = _NIGHT
            if (country in ring[0] and device == ring[1]) or merchant in ring[2]:
                likely = _RING
            x = {
                "time": now.isoformat(timespec="seconds"),
                "user": f"u{users[i]}",
                "country": COUNTRIES[country],
                "device": DEVICES[device],
                "merchant": f"merchant-{merchant}",
                "amount": float(amounts[i]),
                "member": "yes" if members[i] else "no",
            }
            yield x, "yes" if luck[i] < likely else "no"


def _ring(seed: int, move: int) -> tuple[set[int], int, set[int]]:
    """Return the ring's countries, its device and its merchants after so many moves."""
    chance = np.random.default_rng([seed, 1, move])
    countries = set(chance.choice(6, size=3, replace=False).tolist())
    return countries, int(chance.integers(len(DEVICES))), {int(chance.integers(20))}
