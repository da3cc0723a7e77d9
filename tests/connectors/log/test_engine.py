"""A model depends on nothing but the log: not on batches, stops, or when labels were read."""

from __future__ import annotations

import random
from pathlib import Path

import orjson
import pytest

from stream_llsvm import CommitteeClassifier, Engine, LLSVMRegressor
from stream_llsvm.connectors.log.segments import LABEL, RECORD
from stream_llsvm.connectors.log.source import LogSource
from stream_llsvm.connectors.log.writer import LogWriter
from stream_llsvm.engine import Checkpoints, EngineError, Waiting

RECORDS = 1_500


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write records with a label, with one that comes later, or without; some cannot be read."""
    folder = tmp_path_factory.mktemp("log")
    chance = random.Random(0)
    writer = LogWriter(folder, segment_bytes=20_000)
    waiting: list[tuple[int, int]] = []
    for i in range(RECORDS):
        a, b = chance.gauss(0, 1), chance.gauss(0, 1)
        fields = {"a": round(a, 3), "b": round(b, 3), "id": i}
        truth = int(a * b > 0)
        kind = chance.random()
        if kind < 0.4:
            fields["y"] = truth
        elif kind < 0.8:
            waiting.append((i, truth))
        body = orjson.dumps(fields) if kind < 0.97 else b"{"
        writer.append([(RECORD, body)])
        while waiting and chance.random() < 0.5:
            key, y = waiting.pop(chance.randrange(len(waiting)))
            writer.append([(LABEL, orjson.dumps({"id": key, "y": y}))])
    writer.close()
    return folder


def engine(
    log: Path, regression: bool = False, folder: Path | None = None, most: int = 1_000
) -> Engine:
    model = LLSVMRegressor() if regression else CommitteeClassifier()
    return Engine(
        LogSource(log, label="y", key="id"),
        model,
        waiting=Waiting(most=100, longest=3_600.0),
        checkpoints=None if folder is None else Checkpoints(folder),
        max_batch=most,
    )


def learned(one: Engine, path: Path) -> bytes:
    one.model.save(path)
    one.source.close()
    return path.read_bytes()


@pytest.mark.parametrize("regression", [False, True])
def test_batches_and_stops_change_nothing(log: Path, tmp_path: Path, regression: bool) -> None:
    calm = engine(log, regression)
    report = calm.run()
    assert report["waiting"]["matched"] > 400
    assert report["rejected"] == {"invalid JSON": report["records"] - report["predicted"]}
    assert report["learned"] > 900
    expected = learned(calm, tmp_path / "calm.llsvm")
    for most in (1, 37):
        other = engine(log, regression, most=most)
        again = other.run()
        assert again["learned"] == report["learned"]
        assert again["waiting"] == report["waiting"]
        assert learned(other, tmp_path / "other.llsvm") == expected
    chance = random.Random(1)
    for _ in range(8):
        stopped = engine(log, regression, tmp_path / "kept", most=chance.randint(1, 90))
        stopped.run(max_records=chance.randint(50, 300))
        stopped.source.close()
        assert stopped.checkpoints is not None
        stopped.checkpoints.close()
    last = engine(log, regression, tmp_path / "kept")
    assert last.run()["waiting"] == report["waiting"]
    assert learned(last, tmp_path / "last.llsvm") == expected
    assert last.checkpoints is not None
    last.checkpoints.close()


def test_a_log_that_ends_before_a_checkpoint_is_refused(log: Path, tmp_path: Path) -> None:
    one = engine(log, folder=tmp_path / "kept")
    one.run()
    one.source.close()
    assert one.checkpoints is not None
    one.checkpoints.close()
    LogWriter(tmp_path / "other").close()
    with pytest.raises(EngineError, match="ends before entry 0, and the run stands before entry"):
        engine(tmp_path / "other", folder=tmp_path / "kept")
