"""The metrics of all models of a server."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from stream_llsvm.dashboard.app import metrics_answer
from stream_llsvm.dashboard.guard import Guard, refusal
from stream_llsvm.serve.served import ServedModel


class Metrics:
    """Tells Prometheus how models are doing, each with its name as a label.

    Parameters
    ----------
    models
        The models.

    """

    def __init__(self, models: Collection[ServedModel]) -> None:
        self._models = models

    def app(self, tokens: Sequence[str], cookie: str) -> ASGIApp:
        """Return it as an application, guarded."""
        return Guard(self._answer, tokens, cookie, {"X-Content-Type-Options": "nosniff"})

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        answer: Response
        if Request(scope).method in ("GET", "HEAD"):
            answer = metrics_answer(one.page.metrics() for one in self._models)
        else:
            answer = refusal(405, "/metrics takes GET", headers={"Allow": "GET"})
        await answer(scope, receive, send)
