"""A run as Prometheus reads it."""

from __future__ import annotations

from typing import Any

from stream_llsvm.dashboard.look import Look

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


def metrics(look: Look, health: dict[str, Any] | None) -> str:
    """Return the text of the metrics."""
    return ""
