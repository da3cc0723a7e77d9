"""Who watches a run: told of all that happens, and what every run looks for itself."""

from __future__ import annotations

import pytest

from stream_llsvm import FeaturesLeftOutWarning, LLSVMClassifier
from stream_llsvm.connectors.base import Batch
from stream_llsvm.connectors.list_source import ListSource
from stream_llsvm.engine import Engine, EngineError, Watcher
from stream_llsvm.engine.learner import Answers
from tests.engine.test_engine import model, rows, source


def kinds(engine: Engine) -> list[str]:
    return [event["kind"] for event in engine.progress.events]


class Witness(Watcher):
    def __init__(self) -> None:
        self.told: list[str] = []

    def on_start(self, engine: Engine) -> None:
        self.told.append("began")

    def on_batch(self, engine: Engine, batch: Batch, answers: Answers, seconds: float) -> None:
        assert len(batch) == len(answers.labels)
        assert seconds > 0
        self.told.append(f"took {len(batch)}")

    def on_turn(self, engine: Engine) -> None:
        self.told.append(f"turned {engine.progress.counts['records']}")

    def on_end(self, engine: Engine, error: BaseException | None) -> None:
        self.told.append(f"ended {type(error).__name__}")


def test_watchers_are_told_how_a_run_goes_and_of_what_it_died() -> None:
    witness = Witness()
    records = [{"x": float(i), "y": i % 2 == 0} for i in range(5)]
    Engine(ListSource(records, label="y"), model(), max_batch=3, watchers=[witness]).run()
    assert witness.told[:5] == ["began", "took 3", "turned 3", "took 2", "turned 5"]
    assert witness.told[-1] == "ended NoneType"
    bad = [{"x": b"word", "y": True}] * 200
    witness = Witness()
    with pytest.raises(EngineError):
        Engine(ListSource(bad, label="y"), model(), watchers=[witness]).run()
    assert witness.told[0] == "began"
    assert witness.told[-1] == "ended EngineError"


class Shaky(ListSource):
    """A source that loses what it reads from twice, each time until that was noted."""

    trouble = ""
    engine: Engine

    def poll(self, max_records: int, timeout: float) -> Batch | None:
        """Return the records; then have trouble, and have none."""
        batch = super().poll(max_records, timeout)
        if batch is None:
            noted = kinds(self.engine)
            lost = noted.count("recovering") == noted.count("reconnected")
            self.trouble = "no broker answers" if lost else ""
        return batch

    @property
    def ended(self) -> bool:
        return kinds(self.engine).count("reconnected") >= 2


def test_each_trouble_of_a_source_is_noted_once_and_so_is_its_end() -> None:
    shaky = Shaky(rows(20), "y")
    engine = shaky.engine = Engine(shaky, model())
    engine.run()
    noted = [kind for kind in kinds(engine) if kind in ("recovering", "reconnected")]
    assert noted[:4] == ["recovering", "reconnected"] * 2
    texts = [e["text"] for e in engine.progress.events if e["kind"] == "recovering"]
    assert set(texts) == {"no broker answers"}


@pytest.mark.parametrize("n", [30, 250])
def test_records_that_never_have_a_label_are_told_of_once(n: int) -> None:
    engine = Engine(ListSource(rows(n), label="lable", key="id"), model(), max_batch=20)
    engine.run()
    assert kinds(engine).count("no labels") == 1
    text = engine.progress.events[0]["text"]
    assert f"none of the first {min(n, 100)} records" in text
    assert "The features are a, b, c, y" in text


def test_a_label_now_and_then_is_enough() -> None:
    data = rows(300)
    for row in data[:60] + data[61:]:
        del row["y"]
    engine = Engine(source(data), model(), max_batch=20)
    engine.run()
    assert "no labels" not in kinds(engine)
    later = Engine(source(data[61:]), model(), labels=source([]), max_batch=20)
    later.run()
    assert "no labels" not in kinds(later)


def test_features_that_are_left_out_are_an_event_and_no_warning(
    recwarn: pytest.WarningsRecorder,
) -> None:
    records = [
        {f"k{i + j}": 1.0 for j in range(50)} | {"y": i % 2 == 0} for i in range(0, 6_000, 50)
    ]
    run = Engine(ListSource(records, label="y"), LLSVMClassifier(max_mb=1), max_batch=10)
    run.run()
    assert run.model.left_out > 0
    told = [event["text"] for event in run.progress.events if event["kind"] == "features left out"]
    assert told == [
        f"max_mb=1 of the model original has room for {len(run.model.features):,} features: new "
        "ones are left out; fold them, or raise max_mb (--option max_mb=...)"
    ]
    assert [str(one.message) for one in recwarn if one.category is FeaturesLeftOutWarning] == []
