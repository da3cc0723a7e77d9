"""The metrics of all models of a server."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from stream_llsvm.dashboard.app import metrics_answer
from stream_llsvm.dashboard.guard import Guard, refusal
from stream_llsvm.dashboard.metrics import Family, Metric, families
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
            answer = metrics_answer(one.page.metrics() | _refusals(one) for one in self._models)
        else:
            answer = refusal(405, "/metrics takes GET", headers={"Allow": "GET"})
        await answer(scope, receive, send)


def _refusals(model: ServedModel) -> dict[str, Family]:
    """Return what was refused of the requests to a model."""
    refused = model.refusals
    requests = [({"status": str(status)}, n) for status, n in sorted(refused.counts.items())]
    return families(
        [
            Metric("refused_total", "counter", "Requests that were refused, by status.", requests),
            Metric(
                "refused_records_total",
                "counter",
                "Records and labels that were refused by themselves, before the log.",
                [({}, refused.records)],
            ),
        ],
        {"model": model.name},
    )
