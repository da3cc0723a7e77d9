"""What several learners cost: rounds that one learns again, in order."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any

import pytest

from stream_llsvm import LLSVMRegressor, SAPLClassifier
from stream_llsvm.cluster import ClusterEngine
from stream_llsvm.cluster.host import InlineHost
from stream_llsvm.cluster.plan import Slice, slices
from stream_llsvm.cluster.rounds import Lesson, Setup, Worker
from stream_llsvm.connectors.list_source import ListSource
from tests.cluster.streams import digest, records, source_of

N = 8_000


def engine_of(**options: Any) -> ClusterEngine:
    given_options: dict[str, Any] = {"cluster": "local", "workers": 3, "slice": 1_000} | options
    return ClusterEngine(source_of(N), SAPLClassifier(), **given_options)


def test_audits_change_nothing() -> None:
    some, none = engine_of(audit=0.5), engine_of(audit=0)
    told, expected = some.run(), none.run()
    assert digest(some.model) == digest(none.model)
    assert told["scores"] == expected["scores"]
    audit = told["cluster"]["audit"]
    assert (audit["rounds"], audit["records"], audit["failed"]) == (1, 3_000, 0)
    assert expected["cluster"]["audit"]["price"] is None


def test_the_price_is_what_one_would_have_had_right() -> None:
    """Each learner of a slice answers as a learner that has not seen the slices before its own."""
    engine = engine_of(audit=1)
    engine.run(max_records=2_000)
    start = digest(engine.model)
    audit = engine_of(audit=1, workers=2)
    assert audit.run(max_records=2_000)["cluster"]["audit"]["rounds"] == 0  # one learner so far
    worker = Worker(Setup(source_of(N).description))
    borders = [{"records": n} for n in (2_000, 3_000, 4_000, 5_000)]
    parts = slices(borders)

    def right(*lessons: tuple[Slice, ...]) -> int:
        told = [one for part in lessons for one in worker.learn(start, Lesson(0, part)).answered]
        return sum(
            label == said
            for one in told
            for label, said in zip(one.labels, one.answers.labels, strict=True)
        )

    alone, together = right(tuple(parts)), right(*((part,) for part in parts))
    again = engine_of(audit=1)
    report = again.run(max_records=5_000)["cluster"]["audit"]
    assert report["records"] == 3_000
    assert report["alone"] == pytest.approx(alone / 3_000)
    assert report["together"] == pytest.approx(together / 3_000)
    assert report["price"] == pytest.approx((alone - together) / 3_000)


def test_of_numbers_the_price_is_an_error() -> None:
    rows = [{**one, "y": one["a"] + 2 * one["b"]} for one in records(6_000)]
    source = ListSource(rows, label="y", key="id")
    engine = ClusterEngine(
        source, LLSVMRegressor(), workers=2, cluster="local", slice=1_000, audit=1
    )
    audit = engine.run()["cluster"]["audit"]
    assert audit["score"] == "mae"
    assert audit["rounds"] == 2
    assert audit["price"] == pytest.approx(audit["together"] - audit["alone"])


class Late(InlineHost):
    """Learners of whom the one who audits never answers, or fails."""

    def __init__(self, setup: Setup, error: Exception | None) -> None:
        super().__init__(lambda: Worker(setup))
        self.error = error

    def call(self, rank: int, name: str, *arguments: Any) -> Future[Any]:
        if rank < 3:
            return super().call(rank, name, *arguments)
        answer: Future[Any] = Future()
        if self.error is not None:
            answer.set_exception(self.error)
        return answer


@pytest.mark.parametrize("error", [None, OSError("gone")])
def test_nobody_waits_for_an_audit(
    error: Exception | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    from stream_llsvm.cluster import auditor

    monkeypatch.setattr(auditor, "_PATIENCE", 0.01)
    source = source_of(N)
    engine = ClusterEngine(
        source, SAPLClassifier(), workers=3, slice=1_000, audit=1,
        host=Late(Setup(source.description), error),
    )  # fmt: skip
    report = engine.run()
    assert report["learned"] == N
    assert report["cluster"]["audit"]["failed"] == (2 if error else 1)


def test_a_share_is_one() -> None:
    with pytest.raises(ValueError, match="audit is a share of the rounds, from 0 to 1; got 2"):
        engine_of(audit=2)
