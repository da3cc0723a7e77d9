"""Records that are only to be predicted: by the engine's thread, and without a trace.

They are not logged, their ids are not looked at, and no label can come for them. The engine's
thread answers them between two batches, with the model as it is then: it has learned all that was
in the log when they were asked.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple

from stream_llsvm.connectors.codec import Codec
from stream_llsvm.connectors.columns import Places
from stream_llsvm.engine.engine import Engine
from stream_llsvm.engine.watchers import Watcher
from stream_llsvm.serve.answers import Ticket, Told, told_of

_AT_ONCE = 1_000  # records of one turn, unless one request has more


class Question(NamedTuple):
    """A request's records, by their places in it; the log before ``after`` is learned first."""

    ticket: Ticket
    bodies: dict[int, bytes]
    after: int


class Predictions(Watcher):
    """Answers questions, as the engine's watcher.

    Parameters
    ----------
    codec
        Reads records as the engine's source does; nobody else uses it.
    done
        Says how much of the log the model has learned.
    tell
        Is called with what became of some questions, by the engine's thread.

    """

    def __init__(
        self,
        codec: Codec,
        done: Callable[[], int],
        tell: Callable[[Sequence[Question], Told | Exception], None],
    ) -> None:
        self._codec, self._done, self._tell = codec, done, tell
        self._questions: deque[Question] = deque()
        self._woken = False

    def ask(self, engine: Engine, question: Question) -> None:
        """Take a question, and wake the engine if it waits."""
        self._questions.append(question)
        if not self._woken:
            self._woken = True
            engine.wake()

    def on_turn(self, engine: Engine) -> None:
        """Answer what can be answered by now."""
        self._woken = False  # first: what is asked from here on may be missed
        asked, records, done = list[Question](), 0, self._done()
        while self._questions and self._questions[0].after <= done and records < _AT_ONCE:
            asked.append(self._questions.popleft())
            records += len(asked[-1].bodies)
        if asked:
            try:
                self._tell(asked, self._answered(engine, asked))
            except Exception as error:  # a record that cannot be predicted must not end the run
                self._tell(asked, error)
        if self._questions and self._questions[0].after <= done:
            engine.wake()

    def _answered(self, engine: Engine, asked: Sequence[Question]) -> Told:
        bodies = [body for one in asked for body in one.bodies.values()]
        places = Places("request", None, range(len(bodies)))
        batch = engine.learner.readable(self._codec.decode(bodies, places, {}, blanks=False))
        errors = {one.place.number: f"{one.reason}: {one.detail}" for one in batch.rejected}
        told = told_of(batch, engine.learner.ask(batch)) if len(batch) else Told()
        return told._replace(errors={**told.errors, **errors})
