"""What a server tells Prometheus beside what each run does: the requests that it refused."""

from __future__ import annotations

from stream_llsvm.dashboard.metrics import Family, Metric, families
from stream_llsvm.serve.served import ServedModel


def refusals(model: ServedModel) -> dict[str, Family]:
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
