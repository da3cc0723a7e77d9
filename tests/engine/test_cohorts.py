"""Scores by the values of a field: bounded, late labels too, kept in checkpoints."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stream_llsvm import Engine, LLSVMClassifier, LLSVMRegressor
from stream_llsvm.connectors import FileSource, ListSource
from stream_llsvm.connectors.base import Batch
from stream_llsvm.engine import Checkpoints, Waiting
from stream_llsvm.engine.checkpoints import read_checkpoint
from stream_llsvm.engine.cohorts import _KEPT, SHOWN, Cohort, Cohorts
from stream_llsvm.engine.progress import Scored
from stream_llsvm.model.file import ModelFileError, dumps, loads

Rows = list[dict[str, Any]]


def rows(n: int) -> Rows:
    """Return records of three countries; those of DE have labels by chance."""
    chance = np.random.default_rng(0)
    found: Rows = []
    for i in range(n):
        x = float(chance.normal())
        country = ("FR", "DE", None)[i % 3]
        label = bool(chance.integers(2)) if country == "DE" else x > 0
        found.append({"x": x, "country": country, "y": "yes" if label else "no"})
    return found


def told(cohorts: Cohorts, field: str) -> dict[str, Cohort]:
    return {one.name: one for one in cohorts.all()[field]}


def batch(values: Sequence[str]) -> Batch:
    records = [{"f": value} for value in values]
    return Batch(["a"] * len(values), [], {}, records=records)


def scored(errors: Sequence[float]) -> Scored:
    return Scored(range(len(errors)), np.array(errors))


def test_a_run_scores_each_value_and_what_is_missing() -> None:
    records = rows(3_000)
    engine = Engine(ListSource(records, label="y"), LLSVMClassifier(), slices=["country", "none"])
    report = engine.run()
    found = told(engine.progress.cohorts, "country")
    assert set(found) == {"FR", "DE", "(missing)"}
    assert sum(one.records for one in found.values()) == engine.progress.scores.n
    assert found["DE"].error > 0.4
    assert found["FR"].error < 0.1
    assert found["DE"].recent == pytest.approx(found["DE"].error, abs=0.1)
    assert 0.5 <= (found["FR"].majority or 0) < 0.6
    whole = sum(one.records * one.error for one in found.values())
    accuracy = report["scores"]["cumulative"]["accuracy"]
    assert whole == pytest.approx((1 - accuracy) * engine.progress.scores.n)
    assert [one["value"] for one in report["slices"]["none"]] == ["(missing)"]
    (of_none,) = report["slices"]["none"]
    assert of_none["accuracy"] == pytest.approx(accuracy)


def test_labels_that_come_later_count_by_the_record_that_waited() -> None:
    records = [{**one, "id": i} for i, one in enumerate(rows(900))]
    labels = [{"id": one["id"], "y": one["y"]} for one in records]
    asked = [{k: v for k, v in one.items() if k != "y"} for one in records]
    engine = Engine(
        ListSource(asked, label="y", key="id"), LLSVMClassifier(), slices=["country"],
        labels=ListSource(labels, label="y", key="id"), waiting=Waiting(),
        max_batch=50,
    )  # fmt: skip
    engine.run()
    found = told(engine.progress.cohorts, "country")
    assert {name: one.records > 200 for name, one in found.items()} == dict.fromkeys(
        ("FR", "DE", "(missing)"), True
    )
    assert sum(one.records for one in found.values()) == engine.progress.scores.n


def test_numbers_have_mean_absolute_errors() -> None:
    records: Rows = [{"x": float(i % 5), "big": f"{i % 2}", "y": float(i % 5)} for i in range(600)]
    for one in records[1::2]:
        one["y"] += 100.0 * (one["x"] - 2)
    engine = Engine(ListSource(records, label="y"), LLSVMRegressor(), slices=["big"])
    report = engine.run()
    found = told(engine.progress.cohorts, "big")
    assert found["1"].error > 2 * found["0"].error
    assert found["1"].majority is None
    assert set(report["slices"]["big"][0]) == {"value", "records", "error", "recent_error"}
    mean = sum(one.records * one.error for one in found.values()) / engine.progress.scores.n
    assert mean == pytest.approx(report["scores"]["cumulative"]["mae"])


def test_rows_of_numbers_and_names_are_told_as_they_are_read(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    lines = [f"{i % 2},{'Oslo' if i % 3 else ''},{i % 2}" for i in range(300)]
    path.write_text("x,city,y\n" + "\n".join(lines) + "\n")
    engine = Engine(FileSource([path], label="y"), LLSVMClassifier(), slices=["city", "x"])
    engine.run()
    assert set(told(engine.progress.cohorts, "city")) == {"Oslo", "(missing)"}
    assert set(told(engine.progress.cohorts, "x")) == {"0", "1"}


def test_memory_is_bounded_and_the_frequent_values_stay() -> None:
    cohorts = Cohorts(["f"])
    frequent = [f"often {i}" for i in range(SHOWN)]
    for i in range(200):
        values = [*frequent, *(f"once {i} {j}" for j in range(50))]
        cohorts.take(batch(values), scored([0.0] * SHOWN + [1.0] * 50))
    found = cohorts.all()["f"]
    assert {one.value for one in found[:-1]} == set(frequent)
    assert all(one.records == 200 and one.error == 0.0 for one in found[:-1])
    rest = found[-1]
    assert (rest.rest, rest.name, rest.records, rest.error) == (True, "(the rest)", 10_000, 1.0)
    assert len(cohorts._fields["f"].known) <= _KEPT
    assert len(dumps(cohorts.payload())) < 100_000


def test_where_batches_end_changes_nothing() -> None:
    chance = np.random.default_rng(1)
    values = [f"{v}" for v in chance.zipf(1.3, 5_000)]
    errors = chance.integers(0, 2, 5_000).astype(float).tolist()
    one, many = Cohorts(["f"]), Cohorts(["f"])
    one.take(batch(values), scored(errors))
    for i in range(0, 5_000, 37):
        many.take(batch(values[i : i + 37]), scored(errors[i : i + 37]))
        kept = Cohorts(["f"])
        kept.restore(loads(dumps(many.payload())))
        many = kept
    assert one.all() == many.all()


def test_a_run_goes_on_with_what_a_checkpoint_holds(tmp_path: Path) -> None:
    records = rows(2_000)
    straight = Engine(ListSource(records, label="y"), LLSVMClassifier(), slices=["country"])
    straight.run()
    for most in (700, None):
        with closing(Checkpoints(tmp_path)) as kept:
            engine = Engine(
                ListSource(records, label="y"), LLSVMClassifier(), slices=["country"],
                checkpoints=kept,
            )  # fmt: skip
            engine.run(most)
    assert engine.progress.cohorts.all() == straight.progress.cohorts.all()
    with closing(
        Checkpoints(tmp_path)
    ) as kept:  # another field begins, and one that is left out goes
        engine = Engine(
            ListSource(records, label="y"), LLSVMClassifier(), slices=["x"], checkpoints=kept
        )
        assert engine.progress.cohorts.all() == {"x": []}


def test_a_checkpoint_of_before_is_gone_on_from(tmp_path: Path) -> None:
    records = rows(600)
    with closing(Checkpoints(tmp_path)) as kept:
        Engine(ListSource(records, label="y"), LLSVMClassifier(), checkpoints=kept).run(300)
        path = kept.path(kept.number)
    payload = read_checkpoint(path)
    del payload["progress"]["cohorts"]
    path.write_bytes(dumps(payload))
    with closing(Checkpoints(tmp_path)) as kept:
        engine = Engine(
            ListSource(records, label="y"), LLSVMClassifier(), slices=["country"],
            checkpoints=kept,
        )  # fmt: skip
        engine.run()
    found = told(engine.progress.cohorts, "country")
    assert sum(one.records for one in found.values()) == 300


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ([f"f{i}" for i in range(6)], "slices are at most 5 fields; got 6"),
        (["a", "a"], "slices name a field twice: a, a"),
        ("country", "names of fields, as in"),
        ([7], "names of fields, as in"),
        ([""], "names of fields, as in"),
    ],
)
def test_what_cannot_be_asked_for(fields: Any, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        Engine(ListSource([], label="y"), LLSVMClassifier(), slices=fields)


def test_what_does_not_fit_is_refused() -> None:
    cohorts = Cohorts(["f"])
    cohorts.take(batch(["a", "b"]), scored([0.0, 1.0]))

    def spoilt(change: Any) -> None:
        payload = loads(dumps(cohorts.payload()))
        change(payload["f"])
        with pytest.raises(ModelFileError):
            Cohorts(["f"]).restore(payload)

    spoilt(lambda one: one.pop("rest"))
    spoilt(lambda one: one["known"].append(("c", None)))
    spoilt(lambda one: one["known"][0][1].update(n=0))
    spoilt(lambda one: one["known"][0][1].update(error=float("nan")))
    spoilt(lambda one: one["known"][0][1].update(labels=[(["a"], 1)]))
    spoilt(lambda one: one["known"].extend([one["known"][0]] * _KEPT))
