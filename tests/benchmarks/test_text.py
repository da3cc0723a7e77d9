"""Texts as words: streams that are drawn, files that are read, and the table."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
import text
import text_streams

SVMLIGHT = "+1 qid:3 2:1 7:0.5 # a note\n-1 7:2\n"


@pytest.mark.parametrize("name", text_streams.DRAWN)
def test_streams_are_the_same_each_time_and_name_few_of_many(name: str) -> None:
    first, again = (text_streams.DRAWN[name](200) for _ in range(2))
    assert first == again and len(first.labels) == 200
    assert len(set(first.labels)) == (8 if name == "topics" else 2)
    assert 20 < first.named() < 100 and first.words() > 2_000 * (name != "names")


def test_new_names_come_with_each_record() -> None:
    stream = text_streams.new_names(300)
    assert stream.words() == 300 * text_streams.NEW
    known: set[object] = set()
    for record in stream.records:
        assert len(set(record) - known) == text_streams.NEW
        known |= set(record)


def test_files_are_read(tmp_path: Path) -> None:
    (tmp_path / "a.svm").write_text(SVMLIGHT)
    found = text_streams.read(tmp_path / "a.svm", None)
    assert found == ("a", [{2: 1.0, 7: 0.5}, {7: 2.0}], ["+1", "-1"])
    with gzip.open(tmp_path / "b.csv.gz", "wt") as file:
        file.write("label,message\nspam,Win a prize: WIN\nham,\n")
    found = text_streams.read(tmp_path / "b.csv.gz", None)
    assert found == ("b", [{"win": 2.0, "a": 1.0, "prize": 1.0}, {}], ["spam", "ham"])
    np.savez(
        tmp_path / "c.npz",
        X_train_indptr=np.array([0, 2, 3]),
        X_train_indices=np.array([4, 9, 4]),
        y_train=np.array([1, -1]),
    )
    found = text_streams.read(tmp_path / "c.npz", 1)
    assert found == ("c", [{4: 1.0, 9: 1.0}], [1])


def test_a_learner_is_measured_beside_rivers() -> None:
    stream = text_streams.zipf(60)
    found = text.measure(stream, ["river LR", text.ALONE])
    assert found["river LR"].bytes_a_name is None
    ours = found[text.ALONE]
    assert 0 <= ours.accuracy <= 100 and ours.micros > 0 and ours.slowest > 0
    assert ours.bytes_a_name is not None and ours.bytes_a_name > 32
    table = text.report([(stream, found)], "note")
    assert table.count("zipf, 60 records") == 1 and "1.0x" in table
