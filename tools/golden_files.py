"""Write files of this version that every later one must be able to load.

``python tools/golden_files.py`` makes ``tests/golden/<format>-<version>/``: small models of every
kind, a folder of checkpoints of a run with late labels and a challenger, and ``answers.json`` with
what each answers. It is run once for a version, when it is released, and what it made is never
changed afterwards.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from river.base import Regressor

import stream_llsvm as ours
from stream_llsvm import Engine, load_model
from stream_llsvm.connectors import ListSource
from stream_llsvm.engine.checkpoints import Checkpoints
from stream_llsvm.engine.late_labels import Waiting
from stream_llsvm.model.file import VERSION
from stream_llsvm.version import __version__

FOLDER = Path(__file__).resolve().parents[1] / "tests" / "golden"
ANSWERS, RUN, KEYED = "answers.json", "run", "keyed"
#: Decimals that answers must have in common: processors differ in the last bits.
DIGITS = 4
_RECORDS, _ASKED = 200, 20
#: Labels of the run come so many records later.
_DELAY = 50

#: All kinds of members, as small as they can be.
_MEMBERS = (
    "anchors:1", "additive", "memory:100", "prior", "waves:16", "trees:2", "ferns:4", "contexts",
    "words",
)  # fmt: skip
_SMALL: dict[str, Any] = {"n_anchors": 8, "n_neighbors": 3}

#: How the models are made, by the names of their files.
MODELS: dict[str, Callable[[], Any]] = {
    "additive": ours.AdditiveSVMClassifier,
    "budget": partial(ours.BudgetedPegasosClassifier, budget=20),
    "committee": partial(ours.CommitteeClassifier, members=_MEMBERS),
    "contexts": partial(ours.ContextsClassifier, n_cells=4096),
    "csvm": ours.CSVMClassifier,
    "ferns": partial(ours.FernsClassifier, n_ferns=4),
    KEYED: lambda: ours.KeyedClassifier(ours.SAPLClassifier(**_SMALL), key="user"),
    "l3svm": ours.L3SVMClassifier,
    "lcc": partial(ours.LCCClassifier, **_SMALL),
    "llsvm": partial(ours.LLSVMClassifier, **_SMALL),
    "local": partial(ours.LocalSVMClassifier, window=100),
    "memory": partial(ours.MemoryClassifier, window=100),
    "pegasos": ours.PegasosClassifier,
    "pegasos_regressor": ours.PegasosRegressor,
    "regressor": partial(ours.LLSVMRegressor, **_SMALL),
    "sapl": partial(ours.SAPLClassifier, **_SMALL),
    "trees": partial(ours.BoostedTreesClassifier, n_trees=2),
}


def records(n: int, seed: int) -> list[dict[str, Any]]:
    """Return records with numbers, a name, what is missing and a key, and what is to be learned."""
    rng = np.random.default_rng(seed)
    made = []
    for i in range(n):
        a, b = (round(float(v), 3) for v in rng.normal(size=2))
        city = ("Oslo", "Rome", "Lima")[int(rng.integers(3))]
        x: dict[str, Any] = {"a": a, "b": b, "city": city, "user": f"u{i % 7}"}
        if i % 11 == 0:
            del x["b"]
        made.append(x | {"label": ("no", "yes")[a * b + (city == "Rome") > 0.3], "id": i})
    return made


def features(record: Mapping[str, Any], *, key: bool) -> dict[Any, Any]:
    """Return what a model is asked."""
    left_out = {"label", "id"} if key else {"label", "id", "user"}
    return {name: value for name, value in record.items() if name not in left_out}


def target(model: Any, record: Mapping[str, Any]) -> Any:
    """Return what a model learns of a record."""
    return 3.0 * record["a"] if isinstance(model, Regressor) else record["label"]


def made(name: str) -> Any:
    """Return a model of this name, taught."""
    model = MODELS[name]()
    for record in records(_RECORDS, 0):
        model.learn_one(features(record, key=name == KEYED), target(model, record))
    return model


def answers(name: str, model: Any) -> list[Any]:
    """Return what a model answers, before it goes on learning and afterwards."""
    found: list[Any] = []
    for record in records(_ASKED, 1):
        x = features(record, key=name == KEYED)
        if isinstance(model, Regressor):
            found.append(round(float(model.predict_one(x)), DIGITS))
        else:
            told = model.predict_proba_one(x)
            found.append({str(k): round(float(v), DIGITS) for k, v in sorted(told.items())})
        model.learn_one(x, target(model, record))
    return found


def run(folder: Path, n: int) -> dict[str, Any]:
    """Run so many records with late labels in a folder; return what it says at the end."""
    all_records = [features(r, key=False) | {"id": r["id"]} for r in records(n, 0)]
    labels = [{"id": r["id"], "label": r["label"]} for r in records(max(0, n - _DELAY), 0)]
    checkpoints = Checkpoints(folder)
    engine = Engine(
        ListSource(all_records, "label", "id"),
        ours.SAPLClassifier(**_SMALL),
        challengers={"linear": ours.PegasosClassifier()},
        labels=ListSource(labels, "label", "id"),
        waiting=Waiting(1_000, 1e9),
        checkpoints=checkpoints,
        clock=lambda: 1_700_000_000.0,
    )
    try:
        report = engine.run()
    finally:
        checkpoints.close()
    counted = {name: report[name] for name in ("records", "predicted", "learned")}
    return counted | {
        "waiting": len(engine.late.waiting.records) if engine.late is not None else 0,
        "answers": answers("sapl", engine.model),
    }


def write(folder: Path) -> None:
    """Write all files of this version into a folder."""
    folder.mkdir(parents=True)
    told: dict[str, Any] = {"version": __version__, "format": VERSION, "digits": DIGITS}
    for name in MODELS:
        path = folder / f"{name}.llsvm"
        made(name).save(path)
        told[name] = answers(name, load_model(path))
    run(folder / RUN, _RECORDS)
    for rest in [*(folder / RUN).glob("lock*"), *(folder / RUN).glob("term-*")]:
        rest.unlink()
    told[RUN] = look(folder)[RUN]
    (folder / ANSWERS).write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")


def look(folder: Path) -> dict[str, Any]:
    """Return what the files of a folder answer now; they stay as they are."""
    found: dict[str, Any] = {
        name: answers(name, load_model(folder / f"{name}.llsvm")) for name in MODELS
    }
    with tempfile.TemporaryDirectory() as copy:
        shutil.copytree(folder / RUN, Path(copy, RUN))
        found[RUN] = run(Path(copy, RUN), _RECORDS + _ASKED)
    return found


def differences(told: Any, found: Any, where: str = "") -> list[str]:
    """Return where two answers differ by more than a unit of the last digit.

    Examples
    --------
    >>> differences({"a": [0.5, 0.25]}, {"a": [0.50001, 0.35]})
    ['a 1: 0.25 and 0.35']

    """
    if isinstance(told, dict) and isinstance(found, dict) and told.keys() == found.keys():
        parts = [(f"{where} {key}", told[key], found[key]) for key in told]
    elif isinstance(told, list) and isinstance(found, list) and len(told) == len(found):
        parts = [(f"{where} {i}", a, b) for i, (a, b) in enumerate(zip(told, found, strict=True))]
    elif type(told) is float and type(found) is float:
        near = abs(told - found) <= 1.01 * 10**-DIGITS * max(1.0, abs(told))
        return [] if near else [f"{where.strip()}: {told} and {found}"]
    else:
        return [] if told == found else [f"{where.strip()}: {told!r} and {found!r}"]
    return [one for part in parts for one in differences(part[1], part[2], part[0])]


def main() -> None:
    """Write the files of this version, unless they are there."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    name = f"{VERSION}-{__version__}"
    parser.add_argument("--into", type=Path, default=FOLDER / name)
    folder = parser.parse_args().into
    if folder.exists():
        sys.exit(f"{folder} is there: files of a version are made once")
    write(folder)
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    print(f"{folder}: {size:,} bytes")


if __name__ == "__main__":
    main()
