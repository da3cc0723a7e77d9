"""Names of version 0.2 that are gone, and what to use instead: said wherever one is still used."""

from __future__ import annotations

_LDKL = "was removed: no committee was better for it; use SAPLClassifier. 0.2.0 reads its files"
_ML3 = "was removed: SAPLClassifier was ahead of it at a third of its price. 0.2.0 reads its files"
_ALERTS = "was removed: grafana/alerts.yaml has the rules for Prometheus; see docs/alerts.md"
_HISTORY = "was removed: Prometheus keeps the metrics, and grafana/stream_llsvm.json draws them"

#: Learners, members, commands and options.
REMOVED = {
    "LDKLClassifier": _LDKL,
    "ldkl": _LDKL,
    "ML3Classifier": _ML3,
    "ml3": _ML3,
    "alerts": _ALERTS,
    "report": _HISTORY,
    "[alerts]": _ALERTS,
    "[checkpoints] history": _HISTORY,
    "diff": "was removed: compare what `stream-llsvm inspect --json` says of each",
}


def removed(name: str) -> str | None:
    """Return what to say of a name that is gone; None if it never was one."""
    return f"{name} {REMOVED[name]}" if name in REMOVED else None
