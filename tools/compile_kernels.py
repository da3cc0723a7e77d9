"""Compile kernels into the cache, so that an image brings them along: docs/containers.md.

``python tools/compile_kernels.py`` does it for all classifiers, ``... CommitteeClassifier`` for
those that are named; and always for what reads CSV, JSON and Kafka's messages.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np

import stream_llsvm
from stream_llsvm import Engine
from stream_llsvm.connectors import FileSource
from stream_llsvm.connectors.flat.message_sets import COLUMNS, locate

RECORDS = 2_000  # several blocks: not all of the first is read by compiled loops


def main(names: list[str]) -> None:
    """Use everything once."""
    chosen = names or [one for one in stream_llsvm.__all__ if one.endswith("Classifier")]
    values = [(i % 7, i % 11, i % 2) for i in range(RECORDS)]
    texts = {
        "csv": "x,z,y\n" + "".join(f"{x},{z},{y}\n" for x, z, y in values),
        "jsonl": "".join(f'{{"x": {x}, "z": {z}, "y": {y}}}\n' for x, z, y in values),
    }
    for name in chosen:
        for suffix, text in texts.items():
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / f"data.{suffix}"
                path.write_text(text)
                model = getattr(stream_llsvm, name)()
                Engine(FileSource(path, label="y"), model).run()
                model.predict_one({"x": 1.0})
    message = np.frombuffer(bytes(1), dtype=np.uint8)
    locate(message, 0, 0, 0, 0, np.empty((0, COLUMNS), dtype=np.int64))


if __name__ == "__main__":
    main(sys.argv[1:])
