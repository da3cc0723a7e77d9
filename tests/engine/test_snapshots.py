"""A run puts its model where readers find it, and goes on learning if it cannot."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from stream_llsvm import Engine, LLSVMClassifier
from stream_llsvm.connectors import ListSource
from stream_llsvm.connectors.base import Batch
from stream_llsvm.engine.learner import Answers
from stream_llsvm.engine.snapshots import PublishedFiles, Publisher, published
from stream_llsvm.engine.watchers import Watcher
from stream_llsvm.model.file import ModelFileError

RECORDS = [{"x": float(i % 7), "y": i % 7 > 3} for i in range(400)]


def engine(*watchers: Watcher) -> Engine:
    source = ListSource(RECORDS, label="y")
    return Engine(source, LLSVMClassifier(), detector=None, max_batch=100, watchers=watchers)


def test_the_newest_few_are_kept_and_each_is_read_once(tmp_path: Path) -> None:
    run = engine(Publisher(tmp_path, every=0, keep=2))
    run.run(150)
    assert published(tmp_path)[0][0] == 150
    run.run()
    found = published(tmp_path)
    assert found[0][0] == 400 and len(found) <= 2
    files = PublishedFiles(tmp_path)
    snapshot = files.newer()
    assert snapshot is not None and snapshot.learned == 400
    assert snapshot.time == found[0][1].stat().st_mtime
    assert snapshot.model._payload().keys() == run.model._payload().keys()
    for x in RECORDS[:20]:
        one = {"x": x["x"]}
        assert snapshot.model.predict_proba_one(one) == run.model.predict_proba_one(one)
    assert files.newer() is None
    # A process that was killed on the way leaves what has no such name, and readers pass it over.
    shutil.copy(found[0][1], tmp_path / ".model-0.tmp")
    assert files.newer() is None


class Spoils(Watcher):
    """Puts a file where the folder was, once something has been learned."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def on_batch(self, engine: Engine, batch: Batch, answers: Answers, seconds: float) -> None:
        if self._folder.is_dir():
            shutil.rmtree(self._folder)
            self._folder.touch()


def test_what_cannot_be_published_is_told_once_and_learned_all_the_same(tmp_path: Path) -> None:
    folder = tmp_path / "published"
    run = engine(Spoils(folder), Publisher(folder, every=0))
    assert run.run()["learned"] == 400
    told = [one["text"] for one in run.progress.events if one["kind"] == "publishing failed"]
    assert len(told) == 1 and "readers answer from older ones" in told[0]


def test_a_damaged_file_is_an_error_until_there_is_a_good_one(tmp_path: Path) -> None:
    engine(Publisher(tmp_path)).run()
    (_, path), *_ = published(tmp_path)
    whole, files = path.read_bytes(), PublishedFiles(tmp_path)
    path.write_bytes(whole[:-9])
    with pytest.raises(ModelFileError, match="truncated"):
        files.newer()
    path.write_bytes(whole)
    os.utime(path, (1_000.0, 1_000.0))
    snapshot = files.newer()
    assert snapshot is not None and snapshot.time == 1_000.0
