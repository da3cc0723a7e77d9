"""Whether a run lives, and whether it can do its work now: two questions, asked by machines.

Who asks needs no token, so answers name nothing of what the run reads: no hosts, no files.
"""

from __future__ import annotations

from typing import Any

from stream_llsvm.dashboard.monitor import Monitor

SILENT = 10.0  # seconds without a turn after which a run is not well
COMPILING = 300.0  # the same while kernels are compiled
_MISSING = {
    "starting": {"run": "it is starting"},
    "compiling": {"model": "its kernels are being compiled"},
    "recovering": {"source": "it cannot be read; the page and the log say why"},
    "stopped": {"run": "it is over"},
    "failed": {"run": "it has failed; the page and the log say why"},
}


def state_of(monitor: Monitor) -> str:
    """Return how a run is, in a word."""
    look = monitor.look
    return "starting" if look is None else look.status.state


def alive(monitor: Monitor) -> dict[str, Any]:
    """Return whether a run lives: it has not failed, and its loop turns. If not, start it anew."""
    state, silent = state_of(monitor), monitor.silent_for
    allowed = COMPILING if state == "compiling" else SILENT
    well = state == "stopped" or (state != "failed" and silent < allowed)
    return {"ok": well, "state": state, "silent_for": round(silent, 3)}


class Readiness:
    """Says what is missing for a run to do its work now. If something is, wait.

    Parameters
    ----------
    monitor
        Who looks at the run.
    most_behind
        How many records the run may be behind its source; None if that does not matter.

    """

    def __init__(self, monitor: Monitor, most_behind: int | None = None) -> None:
        self._monitor, self._most = monitor, most_behind

    def missing(self) -> dict[str, str]:
        """Return what is not ready, in words, by what it is; empty if all is."""
        state, silent = state_of(self._monitor), self._monitor.silent_for
        found = dict(_MISSING.get(state, {}))
        if not found and silent >= SILENT:
            found["run"] = f"its loop has not turned for {silent:.0f} s"
        if self._most is not None and (why := self._behind(self._most)):
            found["lag"] = why
        return found

    def _behind(self, most: int) -> str:
        """Return that the run is too far behind its source, or that nobody knows yet."""
        lag = self._monitor.lag
        if not lag:
            return "it is not known yet how far the run is behind its source"
        behind = sum(records for parts in lag.values() for records in parts.values())
        if behind <= most:
            return ""
        return f"{behind:,} records behind the source; {most:,} are allowed"
