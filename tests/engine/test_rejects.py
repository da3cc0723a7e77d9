"""Records that could not be used: counted, kept, and bounded."""

from __future__ import annotations

from stream_llsvm import Engine, LLSVMClassifier
from stream_llsvm.connectors.list_source import ListSource
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
