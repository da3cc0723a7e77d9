"""Streams and hosts for tests of clusters."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import Any

import numpy as np

from stream_llsvm import KeyedClassifier
from stream_llsvm.cluster.host import Died, InlineHost
from stream_llsvm.cluster.rounds import Setup, Worker, model_bytes
from stream_llsvm.connectors.base import Batch, Position, Sliced
from stream_llsvm.connectors.list_source import ListSource


def records(n: int, seed: int = 0) -> list[dict[str, Any]]:
    """Return records in an order: what is right changes slowly."""
    random = np.random.default_rng(seed)
    xs = random.normal(size=(n, 3))
    turn = np.arange(n) / n * np.pi
    y = xs[:, 0] * np.cos(turn) + xs[:, 1] * np.sin(turn) > 0
    return [
        {"a": float(a), "b": float(b), "c": float(c), "id": i, "y": "yes" if up else "no"}
        for i, ((a, b, c), up) in enumerate(zip(xs, y, strict=True))
    ]


def source_of(n: int, seed: int = 0) -> ListSource:
    return ListSource(records(n, seed), label="y", key="id")


def digest(model: Any) -> bytes:
    """Return what two models that are the same have in common."""
    return model_bytes(model)


def seen_of(learned: KeyedClassifier) -> dict[str, Any]:
    """Return all that a model knows, key by key."""
    bank = learned._bank
    own = {
        key: tuple(part[place].tobytes() for part in (bank.matrix, bank.facts, bank.clocks))
        for key, place in bank.places.items()
    }
    head = [getattr(bank, name).tobytes() for name in ("trust", "tallies", "statistics")]
    state = learned.model._state
    assert state is not None
    return {"keys": own, "head": head, "model": state.state.tobytes()}


class Mortal:
    """A source at which its learner dies: amid a slice, when it is told to."""

    def __init__(self, source: Sliced, dies: Callable[[], bool]) -> None:
        self._source, self._dies = source, dies

    def __getattr__(self, name: str) -> Any:
        return getattr(self._source, name)

    def between(self, begin: Position, end: Position) -> Iterator[Batch]:
        for batch in self._source.between(begin, end):
            yield batch
            if self._dies():
                raise Died


class FaultyHost(InlineHost):
    """Learners in this process that die when they are told to, and do old rounds again.

    Parameters
    ----------
    setup
        What learners are told.
    faults
        What happens at the call of a number: "before", "during" or "after" its learner dies,
        "late" lets an earlier lesson be learned again, whose answer nobody waits for.

    """

    def __init__(self, setup: Setup, faults: dict[int, str]) -> None:
        super().__init__(lambda: self._mortal(setup))
        self.faults, self.called = dict(faults), 0
        self.learned: list[int] = []  # the epoch of each time that a lesson was learned
        self._past: list[tuple[int, tuple[Any, ...]]] = []
        self._during = False

    def _mortal(self, setup: Setup) -> Worker:
        worker = Worker(setup)
        worker._source = Mortal(worker.source, self._now)
        return worker

    def _now(self) -> bool:
        now, self._during = self._during, False
        return now

    def call(self, rank: int, name: str, *arguments: Any) -> Future[Any]:
        if name == "learn":
            self.called += 1
            if self.faults.get(self.called) == "late" and self._past:
                old, lesson = self._past[0]
                super()._once(old, name, *lesson)
            self._past.append((rank, arguments))
        return super().call(rank, name, *arguments)

    def _once(self, rank: int, name: str, *arguments: Any) -> Any:
        if name != "learn":
            return super()._once(rank, name, *arguments)
        self.learned.append(arguments[1].epoch)
        fault = self.faults.pop(self.called, "")
        if fault == "before":
            raise Died
        self._during = fault == "during"
        done = super()._once(rank, name, *arguments)
        if fault == "after":
            raise Died
        return done
