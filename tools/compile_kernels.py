"""Compile kernels into the cache, or into the package, so that nobody has to wait for them.

``python tools/compile_kernels.py`` compiles those of all learners, ``... CommitteeClassifier``
those of the learners that are named; and always what reads CSV, JSON and Kafka's messages. They are
kept where kernels are kept: an image brings them along so, see docs/containers.md. ``--ship`` puts
them into the package as well, for a wheel to hold them: ``make kernels``.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

import stream_llsvm
from stream_llsvm import Engine, KeyedClassifier
from stream_llsvm.connectors import FileSource
from stream_llsvm.connectors.flat.message_sets import COLUMNS, locate
from stream_llsvm.kernels.cache import SHIPPED, caches
from stream_llsvm.kernels.inside_numba import processor
from stream_llsvm.kernels.scaling import MANY
from stream_llsvm.learners.registry import CLASSIFIERS, LEARNERS

RECORDS = 2_000  # several blocks: not all of the first is read by compiled loops


def use_as_an_object(name: str) -> None:
    """Let a learner learn dicts, matrices and sparse matrices, narrow and wide, and answer."""
    rng = np.random.default_rng(0)
    numbers = name.endswith("Regressor")
    for width in (4, MANY):
        model = getattr(stream_llsvm, name)()
        x = rng.normal(size=(64, width))
        y: Any = x[:, 0] if numbers else (x[:, 0] > 0).astype(int)
        model.learn_many(x, y)
        model.predict_many(x)
        model.learn_many(scipy.sparse.csr_matrix(np.where(x > 1, x, 0)), y)
    model = getattr(stream_llsvm, name)()
    for i in range(20):
        record = {"x": i % 7, "name": f"n{i % 3}", "text": "a b", "words": ["a", f"w{i}"]}
        model.predict_one(record)
        model.learn_one(record, float(i) if numbers else i % 2)


def use_in_the_engine(name: str) -> None:
    """Let a learner learn from files."""
    values = [(i % 7, f"n{i % 11}", i % 2) for i in range(RECORDS)]
    texts = {
        "csv": "x,z,y\n" + "".join(f"{x},{z},{y}\n" for x, z, y in values),
        "jsonl": "".join(f'{{"x": {x}, "z": "{z}", "y": {y}}}\n' for x, z, y in values),
    }
    for suffix, text in texts.items():
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"data.{suffix}"
            path.write_text(text)
            Engine(FileSource(path, label="y"), getattr(stream_llsvm, name)()).run()


def use_for_each_key(name: str) -> None:
    """Let keys correct a learner."""
    model = KeyedClassifier(getattr(stream_llsvm, name)(), key="key")
    for i in range(4):
        model.learn_one({"key": i % 2, "x": i}, i % 2)
    model.explain_one({"key": 0, "x": 1})


def ship() -> None:
    """Put what is kept of all kernels of this process into the package."""
    for old in SHIPPED.glob("*.nb?"):
        old.unlink()
    found = sum(one.ship() for one in caches)
    size = sum(file.stat().st_size for file in SHIPPED.iterdir())
    print(f"{found} kernels for {' '.join(processor()).strip()}, {size / 1e6:.1f} MB, in {SHIPPED}")


def main() -> None:
    """Use everything once."""
    parser = argparse.ArgumentParser(description="Compile kernels ahead.")
    parser.add_argument("--ship", action="store_true", help="put them into the package, too")
    parser.add_argument("names", nargs="*", default=[], help="of these learners only")
    asked = parser.parse_args()
    for name in asked.names or LEARNERS:
        use_as_an_object(name)
        use_in_the_engine(name)
    use_for_each_key(next((n for n in asked.names if n in CLASSIFIERS), "PegasosClassifier"))
    message = np.frombuffer(bytes(1), dtype=np.uint8)
    locate(message, 0, 0, 0, 0, np.empty((0, COLUMNS), dtype=np.int64))
    if asked.ship:
        ship()


if __name__ == "__main__":
    main()
