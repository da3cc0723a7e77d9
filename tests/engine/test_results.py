"""What is written of a prediction: which model made it, and every probability if wanted."""

from __future__ import annotations

from typing import Any

import pytest

from stream_llsvm import Engine, __version__
from tests.engine.test_engine import Columns, Kept, model, rows, source


@pytest.mark.parametrize("kind", ["records", "columns"])
@pytest.mark.parametrize("size", [1, 30, 200])
def test_every_probability_is_that_of_the_model_then(kind: str, size: int) -> None:
    data, sink, alone = rows(120), Kept(), model()
    for i, row in enumerate(data):
        row["y"] = f"c{row['y']}" if i > 40 else "c0"  # further classes come late
        if i % 5 == 4:
            row["y"] = None
    read: Any = Columns if kind == "columns" else source
    given = read(data, label="y", key="id")
    Engine(given, model(), sink=sink, max_batch=size, probabilities="all").run()
    learned = 0
    for row, result in zip(data, sink.results, strict=True):
        x = {k: row[k] for k in "abc"}
        expected = alone.predict_proba_one(x)
        assert result.probabilities == (pytest.approx(expected) if expected else None)
        if expected:
            assert result.probability == pytest.approx(max(expected.values()))
        assert result.records_learned == learned
        assert result.model_version == __version__
        if row["y"] is not None:
            alone.learn_one(x, row["y"])
            learned += 1


def test_only_the_likeliest_is_written_unless_all_are_asked_for() -> None:
    sink = Kept()
    Engine(source(rows(60)), model(), sink=sink, clock=lambda: 7.0).run()
    assert all(one.probabilities is None for one in sink.results)
    assert sink.results[0].probability is None and sink.results[-1].probability is not None
    assert {one.time for one in sink.results} == {7.0}
    with pytest.raises(ValueError, match='"top" or "all"'):
        Engine(source([]), model(), probabilities="some")


def test_what_the_model_refused_counts_as_not_learned() -> None:
    data, sink = rows(30), Kept()
    data[10]["a"] = b"text"
    Engine(source(data), model(), sink=sink, max_batch=30).run()
    assert [one.records_learned for one in sink.results] == list(range(29))
    assert [one.key for one in sink.results] == [i for i in range(30) if i != 10]


def test_a_cell_of_a_notebook_may_be_run_twice(tmp_path: Any) -> None:
    from stream_llsvm.connectors import FileSink
    from stream_llsvm.engine.checkpoints import CheckpointError, Checkpoints

    data, folder, path = rows(100), tmp_path / "kept", tmp_path / "out.jsonl"

    def cell() -> Engine:
        return Engine(
            source(data), model(), sink=FileSink(path), checkpoints=Checkpoints(folder),
            max_batch=10,
        )  # fmt: skip

    engines: list[Engine] = []  # a notebook keeps what it has shown

    engines.append(cell())
    engines[0].run(40)
    engines.append(cell())
    assert engines[1].run()["learned"] == 100
    assert len(path.read_text().splitlines()) == 100
    with pytest.raises(CheckpointError, match="another run went on"):
        engines[0].run()
    engines.append(cell())  # which was never run
    engines.append(cell())
    assert engines[3].run()["learned"] == 100
    sink = engines[3].sink
    assert sink is not None
    sink.close()
