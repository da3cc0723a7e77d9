"""What an engine tells those who watch it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from stream_llsvm.connectors.base import Batch
from stream_llsvm.engine.learner import Answers

if TYPE_CHECKING:
    from stream_llsvm.engine.engine import Engine


class Observer(Protocol):
    """Who is told how a run goes, by the thread that runs it and may touch the model just then.

    The run waits meanwhile: an observer copies what it needs and leaves the rest to a thread of
    its own.
    """

    def began(self, engine: Engine) -> None:
        """Be told that the run begins."""

    def took(self, engine: Engine, batch: Batch, answers: Answers, seconds: float) -> None:
        """Be told of a batch that was answered, and learned where it had labels, in so long."""

    def turned(self, engine: Engine) -> None:
        """Be told that the loop goes on: after every batch, and some times a second without any."""

    def ended(self, engine: Engine, error: BaseException | None) -> None:
        """Be told that the run has ended, and of what it died if it did."""
