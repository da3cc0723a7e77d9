"""What there is to say of a run, as plain values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stream_llsvm.engine.engine import Engine


def report_of(engine: Engine) -> dict[str, Any]:
    """Return counts and scores of a run, and what could not be kept."""
    late, rejects, beside = engine.late, engine.rejects, engine.challengers
    return {
        **engine.progress.report(),
        "rejected": dict(rejects.counts),
        "bad_fields": dict(rejects.bad_fields),
        "deletes": rejects.deletes,
        "columns": engine.census.report(),
        "input": None if engine.inputs is None else engine.inputs.report(),
        **({} if late is None else {"waiting": late.waiting.report()}),
        "champion": beside.champion,
        "challengers": [one._asdict() for one in beside.rivals()],
        "dropped": dict(beside.dropped),
        "lost": None if engine.lost is None else engine.lost._asdict(),
    }
