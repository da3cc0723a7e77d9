"""What came too late for its order is counted, told of, and kept."""

from __future__ import annotations

from pathlib import Path

from stream_llsvm import Engine, PegasosClassifier
from stream_llsvm.connectors import ListSource
from stream_llsvm.connectors.base import Batch, Disorder
from stream_llsvm.engine.checkpoints import Checkpoints

RECORDS = [{"x": float(i % 7), "y": i % 2} for i in range(300)]


class Disordered(ListSource):
    """Says of its second and third hundred that they were not in order."""

    def poll(self, max_records: int, timeout: float) -> Batch | None:
        batch = super().poll(max_records, timeout)
        if batch is not None:
            late = 0 if self._next <= 100 else 7
            gave_up = ("t/3",) if self._next == 200 else ()
            batch.disorder = Disorder(late, gave_up, 0.25)
        return batch


def test_it_is_counted_and_told_and_survives(tmp_path: Path) -> None:
    for records, late, waits in ((100, 0, 0), (200, 14, 1)):
        engine = Engine(
            Disordered(RECORDS, label="y"),
            PegasosClassifier(),
            checkpoints=Checkpoints(tmp_path),
            max_batch=100,
        )
        report = engine.run(records)
        assert (report["late"], report["gave_up"]) == (late, waits)
        engine.source.close()
        assert engine.checkpoints is not None
        engine.checkpoints.close()
    told = {one["kind"]: one["text"] for one in engine.progress.events}
    assert told["out of order"].startswith("t/3 has more")
    assert told["too late"].startswith("7 records")  # and the rest at the end of the minute
    assert engine.order.waited == 0.5
    again = Engine(Disordered(RECORDS, label="y"), checkpoints=Checkpoints(tmp_path))
    assert again.report()["late"] == 14
