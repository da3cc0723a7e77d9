"""Rounds, merges and commits, with learners in this process that die, and coordinators that do."""

from __future__ import annotations

from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stream_llsvm import CommitteeClassifier, Engine, LLSVMRegressor, SAPLClassifier
from stream_llsvm.cluster import ClusterEngine, coordinator
from stream_llsvm.cluster.host import InlineHost
from stream_llsvm.cluster.rounds import Setup, Worker
from stream_llsvm.connectors.list_source import ListSource
from stream_llsvm.engine.checkpoints import Checkpoints
from stream_llsvm.engine.resume import EngineError
from stream_llsvm.engine.snapshots import PublishedFiles, Publisher
from tests.cluster.streams import FaultyHost, digest, records, source_of
from tests.disk import fill, small_disk

N = 9_300
TOLD = ("records", "learned", "predicted")


def engine_of(
    model: Any = None,
    faults: dict[int, str] | None = None,
    folder: Path | None = None,
    n: int = N,
    **options: Any,
) -> ClusterEngine:
    source = source_of(n)
    host = FaultyHost(Setup(source.description), faults or {})
    kept = None if folder is None else Checkpoints(folder)
    given_options: dict[str, Any] = {"workers": 2, "slice": 1_000} | options
    return ClusterEngine(
        source, model or SAPLClassifier(), checkpoints=kept, host=host, **given_options
    )


@pytest.fixture(scope="module")
def undisturbed() -> ClusterEngine:
    engine = engine_of()
    engine.run()
    return engine


def test_all_records_are_learned_once(undisturbed: ClusterEngine) -> None:
    report = undisturbed.report()
    assert [report[name] for name in TOLD] == [N, N, N]
    # Twice 1,000 by one learner, three rounds of two, one slice that is whole, and the rest.
    assert report["cluster"]["rounds"] == 7
    assert report["cluster"]["repeated"] == 0
    assert report["scores"]["cumulative"]["accuracy"] > 0.9
    assert undisturbed.position == {"records": N}


def test_one_learner_learns_what_an_engine_learns() -> None:
    """To the bit, with the same scores: rounds are only how it is told."""
    engine = engine_of(CommitteeClassifier(), workers=1, n=5_000)
    alone = Engine(source_of(5_000), CommitteeClassifier())
    report, expected = engine.run(), alone.run()
    assert digest(engine.model) == digest(alone.model)
    assert report["scores"] == expected["scores"]
    assert [report[name] for name in TOLD] == [expected[name] for name in TOLD]


def test_numbers_are_learned_by_several() -> None:
    rows = [{**one, "y": one["a"] + 2 * one["b"]} for one in records(6_000)]
    source = ListSource(rows, label="y", key="id")
    engine = ClusterEngine(source, LLSVMRegressor(), workers=2, cluster="local", slice=1_000)
    report = engine.run()
    assert report["learned"] == 6_000
    assert report["scores"]["windowed"]["r2"] > 0.9


@given(
    faults=st.dictionaries(
        st.integers(1, 10), st.sampled_from(["before", "during", "after", "late"]), max_size=6
    )
)
@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
def test_bits_are_equal_whoever_dies(undisturbed: ClusterEngine, faults: dict[int, str]) -> None:
    engine = engine_of(faults=faults)
    report = engine.run()
    assert digest(engine.model) == digest(undisturbed.model)
    expected = undisturbed.report()
    assert report["scores"] == expected["scores"]
    assert [report[name] for name in TOLD] == [expected[name] for name in TOLD]
    deaths = sum(fault != "late" for fault in faults.values())
    assert report["cluster"]["restarts"] == deaths
    assert (report["cluster"]["repeated"] > 0) == (deaths > 0)


class Killed(BaseException):
    """The coordinator has died."""


@pytest.mark.parametrize("step", ["learn", "merge", "score", "write", "written"])
@pytest.mark.parametrize("epoch", [0, 3])
def test_bits_are_equal_if_the_coordinator_dies(
    undisturbed: ClusterEngine,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    step: str,
    epoch: int,
) -> None:
    from stream_llsvm.cluster import coordinator, engine, manifest

    places: dict[str, tuple[Any, str]] = {
        "learn": (coordinator, "Lesson"),
        "merge": (coordinator.Coordinator, "_merged"),
        "score": (engine.ClusterEngine, "_take"),
        "write": (manifest, "saved"),
        "written": (engine, "begin_round"),
    }
    where, name = places[step]
    first = engine_of(folder=tmp_path / "kept")
    real = getattr(where, name)

    def dies(*arguments: Any, **options: Any) -> Any:
        if first.epoch >= epoch + (step == "write"):
            raise Killed
        return real(*arguments, **options)

    with monkeypatch.context() as patched:
        patched.setattr(where, name, dies)
        with pytest.raises(Killed):
            first.run()
    second = engine_of(folder=tmp_path / "kept")
    report = second.run()
    assert digest(second.model) == digest(undisturbed.model)
    expected = undisturbed.report()
    assert report["scores"] == expected["scores"]
    assert [report[name] for name in TOLD] == [expected[name] for name in TOLD]
    assert report["cluster"]["rounds"] == expected["cluster"]["rounds"]
    if step != "written":
        assert report["cluster"]["repeated"] >= 1


def test_a_run_that_ended_repeats_nothing(tmp_path: Path, undisturbed: ClusterEngine) -> None:
    first = engine_of(folder=tmp_path / "kept")
    first.run(max_records=4_000)
    assert first.progress.counts["records"] == 4_000
    second = engine_of(folder=tmp_path / "kept")
    report = second.run()
    assert report["cluster"]["repeated"] == 0
    assert report["records"] == N
    assert digest(second.model) == digest(undisturbed.model)


def test_an_engine_and_a_cluster_go_on_from_each_other(tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    with_one = Engine(source_of(N), SAPLClassifier(), checkpoints=Checkpoints(folder))
    with_one.run(2_500)
    with_two = engine_of(folder=folder)
    with_two.run(max_records=4_000)
    assert with_two.progress.counts["records"] == 6_500
    assert with_two.counts["rounds"] == 2
    again = Engine(source_of(N), SAPLClassifier(), checkpoints=Checkpoints(folder))
    report = again.run()
    assert report["learned"] == N


def test_a_full_disk_costs_no_more_than_the_last_rounds(
    tmp_path: Path, undisturbed: ClusterEngine
) -> None:
    """What could not be kept is told, and learned again when there is room."""
    with small_disk(tmp_path / "disk") as disk:
        if disk is None:
            pytest.skip("no file system can be mounted here")
        folder = disk / "kept"
        engine_of(folder=folder).run(max_records=4_000)
        full = fill(disk)
        broken = engine_of(folder=folder)
        with pytest.raises(EngineError, match="No space left"):
            broken.run(max_records=2_000)
        full.unlink()
        fill(disk, leave=16_000)
        report = engine_of(folder=folder).run(max_records=2_000)
        assert report["records"] == 6_000
        assert report["lost"]["records"] == 2_000
        full.unlink()
        again = engine_of(folder=folder)
        assert again.run()["cluster"]["repeated"] == 1
        assert digest(again.model) == digest(undisturbed.model)


def test_a_folder_of_another_model_is_refused(tmp_path: Path) -> None:
    engine_of(folder=tmp_path / "kept").run(max_records=2_000)
    with pytest.raises(EngineError, match="holds a run of a SAPLClassifier, not a Committee"):
        engine_of(CommitteeClassifier(), folder=tmp_path / "kept")


def test_what_cannot_be_read_is_counted_once() -> None:
    rows: list[dict[str, Any]] = records(6_000)
    for i in range(0, 6_000, 100):
        rows[i]["w"] = "heavy"
    source = ListSource(rows, label="y", key="id", weight="w")
    engine = ClusterEngine(source, SAPLClassifier(), workers=2, cluster="local", slice=1_000)
    assert engine.run()["bad_fields"] == {"w": 60}


def test_models_are_published_as_rounds_are_learned(tmp_path: Path) -> None:
    engine = engine_of(n=5_000, watchers=[Publisher(tmp_path / "published", every=0)])
    engine.run()
    newest = PublishedFiles(tmp_path / "published").newer()
    assert newest is not None
    assert newest.learned == 5_000
    assert digest(newest.model) == digest(engine.model)


def test_auto_takes_one_where_the_backlog_only_shrinks() -> None:
    engine = engine_of(workers="auto", n=6_000)
    assert engine.run()["cluster"]["learners"] == 1


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"slice": 0}, "slice"),
        ({"workers": 0}, "workers is a number from 1 up"),
        ({"workers": 17}, "17 learners of one model: .*; take fewer, or say force"),
        ({"model": CommitteeClassifier(members=("local", "prior"))}, "'local.*' cannot be merged"),
        ({"cluster": "moon"}, 'cluster is "auto", "local"'),
    ],
)
def test_refusals(options: dict[str, Any], why: str) -> None:
    chosen: dict[str, Any] = {"workers": 2, "cluster": "local"} | options
    with pytest.raises(ValueError, match=why):
        ClusterEngine(source_of(3), **chosen)


def test_a_source_without_slices_is_refused() -> None:
    class Plain:
        name = "a pipe"

    with pytest.raises(TypeError, match="learners open the source for themselves"):
        ClusterEngine(Plain(), workers=2, cluster="local")  # type: ignore[arg-type]


class Short(InlineHost):
    """Learners of whom one gets its processor when somebody has asked how many there are."""

    lessons = 0
    waiting: tuple[Future[Any], Any] | None = None

    def call(self, rank: int, name: str, *arguments: Any) -> Future[Any]:
        answer = super().call(rank, name, *arguments)
        self.lessons += name == "learn" and rank == 1
        if self.lessons != 2 or self.waiting is not None:
            return answer
        self.waiting = Future[Any](), answer.result()
        return self.waiting[0]

    def room(self) -> int:
        assert self.waiting is not None
        self.waiting[0].set_result(self.waiting[1])
        return 1


def test_who_waits_for_a_processor_is_an_event(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coordinator, "_PATIENCE", 0.01)
    source = source_of(N)
    host = Short(lambda: Worker(Setup(source.description)))
    engine = ClusterEngine(source, SAPLClassifier(), workers=2, slice=1_000, host=host)
    assert engine.run()["learned"] == N
    told = [(event["kind"], event["text"]) for event in engine.progress.events]
    assert told.count(("recovering", "learner 1 waits for a processor: the cluster has 1")) == 1
    assert told.count(("reconnected", "each learner has a processor again")) == 1
