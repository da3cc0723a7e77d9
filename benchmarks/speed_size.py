"""How much memory a model takes."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import peers
import results
from timing import Effort, Section

# Of electricity, covtype and mnist.
SHAPES = ((8, 2), (54, 7), (784, 10))
ROWS = 1_000


def size(learner: str, data: Path | None, effort: Effort) -> Section:
    """Weigh a model: its state, what it works with besides, and the file that it is saved in."""
    rng = np.random.default_rng(0)
    lines = []
    for features, classes in SHAPES:
        model = peers.ours(learner)
        X = rng.standard_normal((ROWS, features), dtype=np.float32)
        model.learn_many(X, np.arange(ROWS) % classes)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.llsvm"
            model.save(path)
            sizes = model._state.state.nbytes, model._state.n_bytes, path.stat().st_size
        megabytes = (results.figure(n_bytes / 2**20, 2) for n_bytes in sizes)
        lines.append([features, classes, *megabytes])
    header = ["features", "classes", "state, MB", "with scratch, MB", "saved, MB"]
    note = (
        f"`{learner}` with its defaults after {ROWS:,} records; it grows only when a feature or a "
        "class appears."
    )
    return Section("Size of a model", results.table(header, lines) + "\n\n" + note)
