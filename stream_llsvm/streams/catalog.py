"""Streams by name: the moving bananas, payments, and what comes with river without a download."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import cycle, islice
from typing import NamedTuple

from stream_llsvm.connectors.base import Source
from stream_llsvm.streams.bananas import MovingBananas
from stream_llsvm.streams.pairs import Pair, PairSource
from stream_llsvm.streams.payments import payments

_AGAIN = "over and over, so from the second round on it is no news"


class Stream(NamedTuple):
    """A stream: what it is, and how to make it.

    ``make`` takes a seed, the records before the first sudden change, and those between two.
    """

    about: str
    make: Callable[[int, int, int], Source]


def _bananas(seed: int, first: int, every: int) -> Source:
    return MovingBananas(seed, every, first)


def _payments(seed: int, first: int, every: int) -> Source:
    return PairSource("payments", lambda: payments(seed, first, every), loop=False)


def _bundled(name: str, of_river: str) -> Callable[[int, int, int], Source]:
    def make(seed: int, first: int, every: int) -> Source:
        from river import datasets

        return PairSource(name, getattr(datasets, of_river), loop=True)

    return make


def alternating(concepts: list[Iterable[Pair]], first: int, every: int) -> Iterator[Pair]:
    """Yield from endless streams in turn: ``first`` from the first one, then so many from each."""
    endless = [iter(concept) for concept in concepts]
    yield from islice(endless[0], first)
    for one in cycle([*endless[1:], endless[0]]):
        yield from islice(one, every)


def _sea(seed: int, first: int, every: int) -> Source:
    from river.datasets import synth

    def make() -> Iterator[Pair]:
        variants = [synth.SEA(variant, noise=0.05, seed=seed + variant) for variant in range(4)]
        return alternating(list(variants), first, every)

    return PairSource("sea", make, loop=False)


def _agrawal(seed: int, first: int, every: int) -> Source:
    from river.datasets import synth

    def make() -> Iterator[Pair]:
        functions = [synth.Agrawal(f, seed=seed + f, perturbation=0.05) for f in range(10)]
        return alternating(list(functions), first, every)

    return PairSource("agrawal", make, loop=False)


def _led(seed: int, first: int, every: int) -> Source:
    from river.datasets import synth

    def make() -> Iterator[Pair]:
        swapped = [synth.LEDDrift(seed, 0.1, True, n_drift_features=n) for n in (0, 3, 5, 7)]
        return alternating(list(swapped), first, every)

    return PairSource("led", make, loop=False)


def _rbf(seed: int, first: int, every: int) -> Source:
    from river.datasets import synth

    def make() -> Iterable[Pair]:
        stream: Iterable[Pair] = synth.RandomRBFDrift(
            seed, seed + 1, n_classes=4, n_features=8, n_centroids=30,
            change_speed=0.0005, n_drift_centroids=30,
        )  # fmt: skip
        return stream

    return PairSource("rbf", make, loop=False)


def _hyperplane(seed: int, first: int, every: int) -> Source:
    from river.datasets import synth

    def make() -> Iterable[Pair]:
        stream: Iterable[Pair] = synth.Hyperplane(seed, n_drift_features=5, mag_change=0.0005)
        return stream

    return PairSource("hyperplane", make, loop=False)


STREAMS: dict[str, Stream] = {
    "bananas": Stream("two bananas that drift, turn, and are thrown about", _bananas),
    "payments": Stream("card payments: names, numbers, times, and a ring that moves on", _payments),
    "segments": Stream(
        f"river's ImageSegments: 2,310 records, {_AGAIN}", _bundled("segments", "ImageSegments")
    ),
    "phishing": Stream(
        f"river's Phishing: 1,250 records, {_AGAIN}", _bundled("phishing", "Phishing")
    ),
    "still-bananas": Stream(
        f"river's Bananas: 5,300 records, {_AGAIN}", _bundled("still-bananas", "Bananas")
    ),
    "sea": Stream("river's SEA: three features, another threshold now and then", _sea),
    "agrawal": Stream("river's Agrawal: who gets a loan, by another rule now and then", _agrawal),
    "led": Stream("river's LED: digits, whose segments are swapped now and then", _led),
    "rbf": Stream("river's RandomRBFDrift: four classes of blobs that wander", _rbf),
    "hyperplane": Stream("river's Hyperplane: a border that turns slowly", _hyperplane),
}
