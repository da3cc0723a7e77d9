"""Records that are only predicted: after what was in the log, and never at the run's cost."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from stream_llsvm import Engine, LLSVMClassifier
from stream_llsvm.connectors.log.source import LogSource
from stream_llsvm.connectors.log.writer import LogWriter
from stream_llsvm.serve.answers import Ticket, Told
from stream_llsvm.serve.predictions import Predictions, Question

BODY = b'{"a": 1.0, "id": "x"}'


class Asked:
    """An engine that has learned a little, and what its thread is asked."""

    def __init__(self, folder: Path) -> None:
        self.log = LogWriter(folder)
        some = [(0, b'{"a": %d, "y": "%s"}' % (i, b"up" if i % 2 else b"down")) for i in range(20)]
        self.log.append(some)
        self.log.close()
        source = LogSource(folder, label="y", key="id")
        self.engine = Engine(source, LLSVMClassifier())
        self.engine.run()
        self.done = 0
        self.told = list[tuple[list[bytes], Told | Exception]]()
        self.predictions = Predictions(source.codec(), lambda: self.done, self._tell)
        self._loop = asyncio.new_event_loop()

    def _tell(self, asked: Sequence[Question], told: Told | Exception) -> None:
        self.told.append(([body for one in asked for body in one.bodies.values()], told))

    def ask(self, bodies: Sequence[bytes], after: int) -> None:
        """Ask, once so much of the log is learned."""
        ticket = Ticket([False] * len(bodies), self._loop.create_future())
        question = Question(ticket, dict(enumerate(bodies)), after)
        self.predictions.ask(self.engine, question)

    def close(self) -> None:
        """Let go of it."""
        self.engine.source.close()
        self._loop.close()


@pytest.fixture
def asked(tmp_path: Path) -> Iterator[Asked]:
    made = Asked(tmp_path / "log")
    yield made
    made.close()


def test_what_was_in_the_log_is_learned_first(asked: Asked) -> None:
    asked.ask([BODY, b'{"a": '], after=10)
    asked.ask([BODY], after=20)
    told: list[list[bytes]] = []
    for done in (9, 10, 19, 20, 20):
        asked.done = done
        asked.predictions.on_turn(asked.engine)
        told.append([body for bodies, _ in asked.told for body in bodies])
    assert list(map(len, told)) == [0, 2, 2, 3, 3]
    answers: list[Any] = [dict(one.answers()) for _, one in asked.told if isinstance(one, Told)]
    assert answers[0][0]["prediction"] in ("up", "down")
    assert answers[0][1]["error"].startswith("invalid JSON")
    assert answers[1][0] == answers[0][0]


def test_a_fault_is_the_request_s_own(asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise RecursionError("too deep")

    asked.ask([BODY], after=0)
    with monkeypatch.context() as patched:
        patched.setattr(asked.engine.learner, "ask", broken)
        asked.predictions.on_turn(asked.engine)
    (first,) = asked.told
    assert isinstance(first[1], RecursionError)
    asked.ask([BODY] * 1_500, after=0)
    asked.ask([BODY], after=0)
    asked.predictions.on_turn(asked.engine)
    assert len(asked.told[-1][0]) == 1_500, "a request is answered whole, and the next later"
    asked.predictions.on_turn(asked.engine)
    assert len(asked.told[-1][0]) == 1
