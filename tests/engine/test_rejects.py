"""Records that could not be used: counted, kept, and bounded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from stream_llsvm import Engine, LLSVMClassifier
from stream_llsvm.connectors import FileSource
from stream_llsvm.connectors.base import BadField, Place
from stream_llsvm.connectors.list_source import ListSource
from stream_llsvm.engine.rejects import Rejects
from stream_llsvm.model.file import dumps
from tests.engine.test_progress import records


def test_the_first_rejected_records_are_kept_without_their_bytes() -> None:
    rows = records("ab" * 60)
    for row in rows[:45]:
        row["x"] = b"text"
    run = Engine(ListSource(rows, "y"), LLSVMClassifier(), max_batch=120)
    run.run()
    assert len(run.rejects.first) == 20
    assert [one.place.number for one in run.rejects.first] == list(range(1, 21))
    assert all(one.raw == b"" for one in run.rejects.first)


def test_the_names_of_fields_that_could_not_be_read_are_bounded() -> None:
    rejects, again = Rejects(None, 0.5), Rejects(None, 0.5)
    for i in range(3_000):
        rejects.take((), [BadField(Place("f", None, i), f"k{i}", "odd value", "{}")])
    again.add(rejects)
    for one in (rejects, again):
        assert len(one.bad_fields) == 1_001
        assert one.bad_fields["(others)"] == 2_000
        assert one.bad_fields.total() == 3_000


@pytest.mark.parametrize("size", [1, 7, 100])
@pytest.mark.parametrize(
    ("some", "features"),
    [
        ({"meta": [{"a": 1}]}, ("x",)),  # the same in each, and never read
        ({"meta%d": [{"a": 1}]}, ("x",)),
        ({"meta%d": [{"a": 1}], "late": [{}]}, ("x", "late")),
    ],
)
def test_a_field_is_a_feature_from_its_first_value_on(
    tmp_path: Path, size: int, some: dict[str, Any], features: tuple[str, ...]
) -> None:
    rows: list[dict[str, Any]] = [{"x": float(i % 7), "y": i % 7 > 3} for i in range(60)]
    plain = [dict(row) for row in rows]
    for i, row in enumerate(rows):
        row |= {name.replace("%d", str(i)): value for name, value in some.items()}
        if "late" in row and i >= 30:
            row["late"] = plain[i]["late"] = None if i == 33 else float(i)
    models: list[Any] = []
    for several in (rows, plain):
        path = tmp_path / f"{len(models)}.jsonl"
        path.write_text("".join(f"{json.dumps(one)}\n" for one in several))
        run = Engine(FileSource([str(path)], label="y"), LLSVMClassifier(), max_batch=size)
        run.run()
        models.append(run.model)
    assert models[0].features == models[1].features == features
    assert dumps(models[0]._payload()) == dumps(models[1]._payload())
