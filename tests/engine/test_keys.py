"""A model for each key in the engine: where keys come from, those that are none, late labels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stream_llsvm import Engine, EngineError, KeyedClassifier, SAPLClassifier
from stream_llsvm.connectors import FileSource, ListSource
from stream_llsvm.engine.checkpoints import Checkpoints
from stream_llsvm.model.packing import pack

N = 3_000


def model(**options: Any) -> KeyedClassifier:
    return KeyedClassifier(SAPLClassifier(n_anchors=8, n_neighbors=3), key="customer", **options)


@pytest.fixture(scope="module")
def records() -> list[dict[str, Any]]:
    """Return customers of two kinds, who like the opposite."""
    rng = np.random.default_rng(0)
    found = []
    for i in range(N):
        who = int(rng.integers(40))
        a, b = rng.normal(size=2).round(4).tolist()
        taken = (a + 0.3 * b > 0) == bool(who % 2)
        found.append({"customer": f"c{who}", "a": a, "b": b, "id": i, "y": int(taken)})
    return found


@pytest.fixture(scope="module")
def data(records: list[dict[str, Any]], tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "stream.csv"
    rows = [",".join(map(str, x.values())) for x in records]
    path.write_text("customer,a,b,id,y\n" + "\n".join(rows) + "\n")
    return path


@pytest.fixture(scope="module")
def alone(records: list[dict[str, Any]]) -> tuple[bytes, int]:
    """Return what a model knows that learned the records one by one, and how many it had right."""
    learned, right = model(), 0
    for record in records:
        x = {name: record[name] for name in ("a", "b", "customer")}
        right += learned.predict_one(x) == record["y"]
        learned.learn_one(x, record["y"])
    return pack(learned._payload()), right


def test_keys_of_the_source_and_of_a_field_are_alike(data: Path, alone: tuple[bytes, int]) -> None:
    for key in ("customer", None):
        engine = Engine(FileSource([data], label="y", key=key, ignore=["id"]), model())
        report = engine.run()
        assert report["learned"] == N
        assert pack(engine.model._payload()) == alone[0]
        assert report["scores"]["cumulative"]["accuracy"] * (N - 1) == pytest.approx(alone[1])
    assert alone[1] / N > 0.75


def test_records_that_differ_in_their_fields_have_keys_too(
    records: list[dict[str, Any]],
) -> None:
    some = [
        {name: value for name, value in x.items() if name != "id" and not (name == "b" and i % 3)}
        for i, x in enumerate(records[:500])
    ]
    told = Engine(ListSource(some, label="y", key="customer"), model())
    field = Engine(ListSource(some, label="y"), model())
    assert told.run()["learned"] == field.run()["learned"] == 500
    assert pack(told.model._payload()) == pack(field.model._payload())
    assert told.model.n_keys == 40


def test_what_has_no_key_is_rejected_and_counted(records: list[dict[str, Any]]) -> None:
    some: list[dict[str, Any]] = [dict(x) for x in records[:400]]
    for i, key in ((3, None), (50, float("nan")), (51, "x" * 2_000), (399, None)):
        some[i]["customer"] = key
    good = [x for i, x in enumerate(some) if i not in (3, 50, 51, 399)]
    engine = Engine(ListSource(some, label="y", key="customer"), model())
    report = engine.run()
    assert report["learned"] == 396 and report["records"] == 400
    assert report["rejected"] == {"no key": 3, "long key": 1}
    expected = Engine(ListSource(good, label="y", key="customer"), model())
    expected.run()
    assert pack(engine.model._payload()) == pack(expected.model._payload())


def test_late_labels_find_the_key_of_their_record(records: list[dict[str, Any]]) -> None:
    asked = [{n: v for n, v in x.items() if n != "y"} for x in records]
    labels = [{"id": x["id"], "y": x["y"]} for x in records]
    late = ListSource(labels, key="id", label="y")
    engine = Engine(ListSource(asked, label="y", key="id"), model(), labels=late, max_batch=50)
    report = engine.run()
    assert report["learned"] == N and report["waiting"]["matched"] == N
    assert engine.model.n_keys == 40
    assert sum(age.answers for age in engine.model.ages) == N
    assert engine.model.ages[-5].right / engine.model.ages[-5].answers > 0.75


def test_a_run_goes_on_with_its_keys_and_not_without(data: Path, tmp_path: Path) -> None:
    def engine(learner: Any) -> Engine:
        source = FileSource([data], label="y", key="customer", ignore=["id"])
        return Engine(source, learner, checkpoints=Checkpoints(tmp_path / "kept"))

    engine(model()).run(1_000)
    kept = Checkpoints(tmp_path / "kept")
    source = FileSource([data], label="y", key="customer", ignore=["id"])
    with pytest.raises(EngineError, match="a model for each 'customer', not one model for all"):
        Engine(source, SAPLClassifier(), checkpoints=kept)
    kept.close()
    rest = engine(model())
    assert rest.model.n_keys == 40
    rest.run()
    whole = Engine(FileSource([data], label="y", key="customer", ignore=["id"]), model())
    whole.run()
    assert pack(rest.model._payload()) == pack(whole.model._payload())
