"""Where learners live: what the coordinator asks of that, and the plainest one, this process."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Protocol

from stream_llsvm.cluster.rounds import Worker


class Died(Exception):
    """A learner has died; another one is made in its place, and does the same again."""


class Host(Protocol):
    """Where learners live, each known by its rank."""

    def start(self, n: int) -> None:
        """See that there are learners of rank 0 to n - 1; more may go on living."""

    def share(self, data: bytes) -> Any:
        """Return what stands for this among the arguments of many calls."""

    def call(self, rank: int, name: str, *arguments: Any) -> Future[Any]:
        """Let a learner do something by name; return what will hold the answer.

        A learner that dies meanwhile is replaced, and the new one does it. What the learner itself
        raises is raised by the answer.
        """

    def restarted(self, rank: int) -> int:
        """Return how often a learner was replaced."""

    def room(self) -> int | None:
        """Return how many of the learners there is room for now; None for all."""

    def close(self) -> None:
        """End all learners."""


class InlineHost:
    """Learners in this process: each does at once what it is asked to, one after the other.

    Parameters
    ----------
    make
        Makes a learner.

    """

    def __init__(self, make: Callable[[], Worker]) -> None:
        self._make = make
        self._workers: list[Worker] = []
        self._restarted: list[int] = []

    def start(self, n: int) -> None:
        """See that there are so many learners."""
        while len(self._workers) < n:
            self._workers.append(self._make())
            self._restarted.append(0)

    def share(self, data: bytes) -> bytes:
        """Return it as it is."""
        return data

    def call(self, rank: int, name: str, *arguments: Any) -> Future[Any]:
        """Let a learner do something, until one has lived to the end of it."""
        answer: Future[Any] = Future()
        while True:
            try:
                answer.set_result(self._once(rank, name, *arguments))
            except Died:
                self._workers[rank].close()
                self._workers[rank] = self._make()
                self._restarted[rank] += 1
                continue
            except Exception as error:
                answer.set_exception(error)
            return answer

    def _once(self, rank: int, name: str, *arguments: Any) -> Any:
        return getattr(self._workers[rank], name)(*arguments)

    def restarted(self, rank: int) -> int:
        """Return how often a learner was replaced."""
        return self._restarted[rank]

    def room(self) -> int | None:
        """Return that there is room for all."""
        return None

    def close(self) -> None:
        """Let go of what learners hold."""
        for worker in self._workers:
            worker.close()
        self._workers.clear()
        self._restarted.clear()
