"""Labels that are no classes are rejected by themselves, however they come."""

from __future__ import annotations

import pytest

from stream_llsvm import Engine, LLSVMClassifier, LLSVMRegressor
from stream_llsvm.connectors import ListSource
from stream_llsvm.engine import Waiting


def rows(n: int, labels: int) -> list[dict[str, object]]:
    return [{"x": float(i % 7), "y": f"c{i % labels}"} for i in range(n)]


@pytest.mark.parametrize("max_batch", [1, 7, 1_000])
def test_a_class_too_many_is_rejected_and_the_run_goes_on(max_batch: int) -> None:
    source = ListSource([*rows(300, 100), *rows(200, 3)], label="y")
    engine = Engine(source, LLSVMClassifier(), max_classes=3, max_batch=max_batch)
    report = engine.run()
    assert report["classes"] == ["c0", "c1", "c2"]
    assert (report["learned"], report["rejected"]) == (209, {"too many classes": 291})
    first = engine.rejects.first[0]
    assert first.place.number == 4 and "'c3' is new, and max_classes is 3" in first.detail


def test_a_label_that_is_far_too_long_is_none() -> None:
    source = ListSource([*rows(20, 2), {"x": 1.0, "y": "c" * 1_001}], label="y")
    report = Engine(source, LLSVMClassifier()).run()
    assert (report["learned"], report["rejected"]) == (20, {"odd label": 1})


@pytest.mark.parametrize("early", [False, True])
def test_late_labels_bring_no_more_classes_either(early: bool) -> None:
    keyed = [{"x": float(i), "id": i} for i in range(10)]
    labels = [{"id": i, "y": f"c{i}"} for i in range(10)]
    source = ListSource(keyed, label="y", key="id")
    late = ListSource(labels, label="y", key="id")
    engine = Engine(
        source, LLSVMClassifier(), labels=late, waiting=Waiting(), max_classes=3,
        max_batch=2 if early else 1_000,
    )  # fmt: skip
    report = engine.run()
    assert (report["learned"], len(report["classes"])) == (3, 3)


def test_numbers_are_no_classes() -> None:
    numbers = [{"x": float(i), "y": i / 3} for i in range(50)]
    report = Engine(ListSource(numbers, label="y"), LLSVMRegressor(), max_classes=3).run()
    assert (report["learned"], report["rejected"]) == (50, {})
