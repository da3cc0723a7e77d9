"""A run on Ray in a process of its own, to be killed: ``one_run.py FOLDER ADDRESS RECORDS``."""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path
from typing import Any

from stream_llsvm import SAPLClassifier
from stream_llsvm.cluster import ClusterEngine
from stream_llsvm.cluster.rounds import model_bytes
from stream_llsvm.connectors.list_source import ListSource
from stream_llsvm.engine.checkpoints import Checkpoints
from tests.cluster.streams import records

SLICE = 1_000


def source_of(n: int) -> ListSource:
    """Return records with seven labels, so that it shows how often each was learned."""
    rows = [{**one, "y": (one["id"] + (one["y"] == "yes")) % 7} for one in records(n)]
    return ListSource(rows, label="y")


def engine_of(folder: Path | None, address: str, n: int, **options: Any) -> ClusterEngine:
    kept = None if folder is None else Checkpoints(folder)
    return ClusterEngine(
        source_of(n), SAPLClassifier(), workers=2, cluster=address, checkpoints=kept, slice=SLICE,
        **options,
    )  # fmt: skip


def outcome(engine: ClusterEngine) -> dict[str, Any]:
    """Return all that must be the same whatever died."""
    report = engine.report()
    confusion = engine.progress.payload()["scores"]["confusion"]
    return {
        "model": hashlib.sha256(model_bytes(engine.model)).hexdigest(),
        "position": engine.position,
        "counts": {name: report[name] for name in ("records", "learned", "predicted")},
        "rounds": report["cluster"]["rounds"],
        "scores": report["scores"],
        "confusion": confusion.tolist(),
    }


if __name__ == "__main__":
    engine = engine_of(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
    engine.run()
    told = outcome(engine) | {"repeated": engine.counts["repeated"]}
    print(json.dumps(told), flush=True)
