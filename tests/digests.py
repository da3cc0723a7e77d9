"""What every learner's state is after 2,000 records, in a few letters: the net under refactorings.

``python -m tests.digests`` prints a digest for each learner and each way that records can reach it;
``python -m tests.digests --write`` keeps them in ``tests/digests.json``. A digest covers the bits
of all sections of the state, whatever they are called and wherever in the block they lie: so code
may be moved and renamed, and what is learned may not change. Machine code differs between kinds of
processors, and so do last bits: the file says on which kind it was made.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

import stream_llsvm
from stream_llsvm import load_model
from stream_llsvm.learners.registry import KEYED, LEARNERS
from tests.learners.support import SMALL

FILE = Path(__file__).with_name("digests.json")
N, FEATURES, CLASSES = 2_000, 5, 3
#: Options that keep a model small; learners that are not named have their usual ones.
OPTIONS: dict[str, dict[str, Any]] = {
    **{kind.__name__: options for kind, options in SMALL.items()},
    "CommitteeClassifier": {},
    "LLSVMRegressor": {"n_anchors": 12, "n_neighbors": 4},
}
Data = tuple[np.ndarray[Any, np.dtype[np.float64]], np.ndarray[Any, Any], list[int]]


def data(name: str) -> Data:
    """Return records with holes in them, and what is to be learned: a grid of classes, a sum."""
    rng = np.random.default_rng(7)
    x = np.round(rng.normal(size=(N, FEATURES)), 3)
    if name == "ContextsClassifier":
        x = np.round(8 * x)  # so that some numbers are codes
    cells = (x[:, 0] > 0).astype(int) + 2 * (x[:, 1] * x[:, 2] > 0).astype(int)
    x[rng.random(x.shape) < 0.02] = np.nan
    # As the columns of an array are called: where contexts lie hangs on the names of fields.
    names = list(range(FEATURES))
    if name.endswith("Regressor"):
        return x, np.round(np.nan_to_num(x) @ np.arange(FEATURES) + rng.normal(size=N), 3), names
    if name == KEYED:  # half of the keys have classes of their own
        x[:, 0] = rng.zipf(1.3, N) % 150
        cells += x[:, 0].astype(int) % 2
    return x, (cells + (rng.random(N) < 0.05)) % CLASSES, names


def made(name: str, **options: Any) -> Any:
    if name == KEYED:  # by one of the fields, and more of them than are kept
        return stream_llsvm.KeyedClassifier(
            made("SAPLClassifier"), **({"key": 0, "max_keys": 100} | options)
        )
    return getattr(stream_llsvm, name)(**(OPTIONS.get(name, {}) | options))


def one_by_one(name: str) -> Any:
    model, (x, y, names) = made(name), data(name)
    for row, label in zip(x.tolist(), y.tolist(), strict=True):
        record = dict(zip(names, row, strict=True))
        model.predict_one(record)
        model.learn_one(record, label)
    return model


def batches(name: str, **options: Any) -> Any:
    model, (x, y, _) = made(name, **options), data(name)
    for first in range(0, N, 97):
        model.learn_many(x[first : first + 97], y[first : first + 97])
    return model


def threads(name: str) -> Any:
    return batches(name, threads=2)


def sparse(name: str) -> Any:
    model, (x, y, _) = made(name), data(name)
    x = np.where(np.abs(np.nan_to_num(x)) < 0.7, 0.0, np.nan_to_num(x))
    for first in range(0, N, 97):
        model.learn_many(scipy.sparse.csr_matrix(x[first : first + 97]), y[first : first + 97])
    return model


def grown(name: str) -> Any:
    """Features and classes come one after the other."""
    model, (x, y, names) = made(name), data(name)
    for i, (row, label) in enumerate(zip(x.tolist(), y.tolist(), strict=True)):
        known = 2 + i // 400
        third_class_is_new = not name.endswith("Regressor") and i < 700
        record = dict(zip(names[:known], row[:known], strict=True))
        model.learn_one(record, label % 2 if third_class_is_new else label)
    return model


def warm(name: str) -> Any:
    model, (x, y, _) = made(name), data(name)
    model.warm_start(x[:1_000], y[:1_000])
    model.learn_many(x[1_000:], y[1_000:])
    return model


def reloaded(name: str) -> Any:
    model, (x, y, _) = made(name), data(name)
    model.learn_many(x[:1_000], y[:1_000])
    with tempfile.TemporaryDirectory() as folder:
        model.save(f"{folder}/model")
        model = load_model(f"{folder}/model")
    model.learn_many(x[1_000:], y[1_000:])
    return model


def weighted(name: str) -> Any:
    model, (x, y, _) = made(name), data(name)
    model.learn_many(x, y, np.linspace(0.0, 2.0, N))
    return model


def wide(name: str) -> Any:
    """So many features that zeros are passed over, and rows are answered together."""
    model, (x, y, _) = made(name), data(name)
    rng = np.random.default_rng(8)
    filling = np.where(rng.random((N // 4, 150)) < 0.8, 0.0, rng.normal(size=(N // 4, 150)))
    x = np.hstack([np.nan_to_num(x[: N // 4]), filling])
    for first in range(0, len(x), 50):
        model.predict_many(x[first : first + 50])
        model.learn_many(x[first : first + 50], y[first : first + 50])
    return model


def late(name: str) -> Any:
    """Each label comes 20 records after its record was predicted."""
    model, (x, y, names) = made(name), data(name)
    waiting: list[tuple[dict[int, float], Any]] = []
    for row, label in zip(x.tolist(), y.tolist(), strict=True):
        waiting.append((dict(zip(names, row, strict=True)), label))
        model.predict_one(waiting[-1][0])
        if len(waiting) > 20:
            model.learn_one(*waiting.pop(0))
    return model


WAYS: dict[str, Callable[[str], Any]] = {
    "one by one": one_by_one,
    "batches": batches,
    "sparse": sparse,
    "grown": grown,
    "warm": warm,
    "reloaded": reloaded,
    "threads": threads,
    "weighted": weighted,
    "wide": wide,
    "late": late,
}


def has_way(name: str, way: str) -> bool:
    """Whether a learner can be taught that way."""
    kind = getattr(stream_llsvm, name)
    if way == "warm":
        return hasattr(kind, "warm_start")
    if way == "sparse" and name == KEYED:
        return False  # a sparse matrix has no column of keys
    return way != "threads" or name == "CommitteeClassifier"


CASES = [(name, way) for name in (*LEARNERS, KEYED) for way in WAYS if has_way(name, way)]


def digest_of(model: Any) -> str:
    """Digest the bits of all sections of a model's state, in no order."""
    sections = sorted(
        hashlib.blake2b(np.ascontiguousarray(view).tobytes(), digest_size=16).digest()
        for view in sections_of(model)
    )
    return hashlib.blake2b(b"".join(sections), digest_size=16).hexdigest()


def sections_of(model: Any) -> list[Any]:
    if isinstance(model, stream_llsvm.KeyedClassifier):
        bank, rows = model._bank, model._bank.rows()
        shared = [bank.trust, bank.tallies, bank.statistics]
        return [*sections_of(model.model), *shared, rows.matrix, rows.facts, rows.clocks]
    memory = model._state
    return [
        view
        for row, places in enumerate(memory._places)
        for section, view in memory.views(row).items()
        if places[section].where == "state"
    ]


def machine() -> dict[str, str]:
    """Return what last bits depend on."""
    import numba

    from stream_llsvm.kernels.inside_numba import processor

    return {
        "cpu": " ".join(processor()[1:]).strip(),
        "numba": numba.__version__,
        "numpy": np.__version__,
    }


def kept() -> Mapping[str, Any]:
    loaded: Mapping[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return loaded


def main() -> None:
    parser = argparse.ArgumentParser(description="Digests of what each learner learns.")
    parser.add_argument("--write", action="store_true", help=f"keep them in {FILE.name}")
    parser.add_argument("names", nargs="*", default=[], help="these learners only")
    asked = parser.parse_args()
    found: dict[str, dict[str, str]] = {}
    for name, way in CASES:
        if not asked.names or name in asked.names:
            digest = digest_of(WAYS[way](name))
            found.setdefault(name, {})[way] = digest
            if FILE.exists() and kept()["digests"].get(name, {}).get(way) != digest:
                print(f"{name}, {way}: another one than is kept", file=sys.stderr)
    text = json.dumps({"made on": machine(), "digests": found}, indent=1) + "\n"
    if asked.write:
        FILE.write_text(text, encoding="utf-8")
    else:
        print(text, end="")


if __name__ == "__main__":
    main()
