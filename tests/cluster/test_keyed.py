"""A model for each key over many learners: every key's records are learned once, by one of them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stream_llsvm import CommitteeClassifier, Engine, KeyedClassifier, SAPLClassifier
from stream_llsvm.cluster import ClusterEngine
from stream_llsvm.cluster.rounds import Setup
from stream_llsvm.cluster.shards import shard_of
from stream_llsvm.connectors.list_source import ListSource
from stream_llsvm.engine.checkpoints import Checkpoints, read_checkpoint
from stream_llsvm.engine.resume import EngineError
from stream_llsvm.engine.rollback import roll_back
from stream_llsvm.engine.snapshots import Publisher
from stream_llsvm.learners.load import from_payload
from stream_llsvm.model.file import read, write
from tests.cluster.streams import FaultyHost, records, seen_of

N, KEYS = 9_300, 150
TOLD = ("records", "learned", "predicted")


def rows_of(n: int = N) -> list[dict[str, Any]]:
    """Return records of customers who differ; keys come in all kinds, some records have none."""
    random = np.random.default_rng(3)
    who = np.minimum(random.zipf(1.3, n) - 1, KEYS - 1).tolist()
    rows = []
    for one, key in zip(records(n), who, strict=True):
        turned = key % 3 == 0
        row = {**one, "y": "yes" if (one["y"] == "yes") != turned else "no"}
        del row["id"]
        row["who"] = f"k{key}" if key % 2 else key
        if one["id"] % 500 == 7:
            row["who"] = None
        rows.append(row)
    return rows


ROWS = rows_of()
OFTEN = Counter(row["who"] for row in ROWS if row["who"] is not None)
WITHOUT = sum(row["who"] is None for row in ROWS)


def source_of(rows: list[dict[str, Any]] | None = None) -> ListSource:
    return ListSource(ROWS if rows is None else rows, label="y")


def model() -> KeyedClassifier:
    return KeyedClassifier(SAPLClassifier(), key="who")


def engine_of(folder: Path, faults: dict[int, str] | None = None, **options: Any) -> ClusterEngine:
    source = options.pop("source", None) or source_of()
    host = FaultyHost(Setup(source.description), faults or {})
    given_options: dict[str, Any] = {"workers": 2, "slice": 1_000, "model": model()} | options
    return ClusterEngine(source, checkpoints=Checkpoints(folder), host=host, **given_options)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> ClusterEngine:
    engine = engine_of(tmp_path_factory.mktemp("undisturbed"))
    engine.run()
    return engine


def test_every_key_has_its_records_once(undisturbed: ClusterEngine) -> None:
    report = undisturbed.report()
    assert report["records"] == N
    assert report["learned"] == report["predicted"] == N - WITHOUT
    assert report["rejected"] == {"no key": WITHOUT}
    assert report["cluster"]["keys"] == len(OFTEN)
    assert {key: undisturbed.model.records_of(key) for key in OFTEN} == OFTEN
    assert undisturbed.model.n_keys == len(OFTEN)


def test_keys_are_worth_something(undisturbed: ClusterEngine, tmp_path: Path) -> None:
    plain = ClusterEngine(
        ListSource([{k: v for k, v in row.items() if k != "who"} for row in ROWS], label="y"),
        SAPLClassifier(), workers=2, cluster="local", slice=1_000,
    )  # fmt: skip
    accuracy = plain.run()["scores"]["windowed"]["accuracy"]
    assert undisturbed.report()["scores"]["windowed"]["accuracy"] > accuracy + 0.05


def test_one_learner_learns_what_an_engine_learns(tmp_path: Path) -> None:
    engine = engine_of(tmp_path / "kept", workers=1)
    alone = Engine(source_of(), model())
    report, expected = engine.run(), alone.run()
    assert seen_of(engine.model) == seen_of(alone.model)
    assert report["scores"] == expected["scores"]


@given(
    faults=st.dictionaries(
        st.integers(1, 12), st.sampled_from(["before", "during", "after", "late"]), max_size=6
    )
)
@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
def test_bits_are_equal_whoever_dies(
    undisturbed: ClusterEngine,
    tmp_path_factory: pytest.TempPathFactory,
    faults: dict[int, str],
) -> None:
    """A learner in place of a dead one reads what others have in memory."""
    engine = engine_of(tmp_path_factory.mktemp("kept"), faults)
    report = engine.run()
    assert seen_of(engine.model) == seen_of(undisturbed.model)
    assert report["scores"] == undisturbed.report()["scores"]


class Killed(BaseException):
    """The coordinator has died."""


@pytest.mark.parametrize("step", ["_merged", "_by_key"])
def test_bits_are_equal_if_the_coordinator_dies(
    undisturbed: ClusterEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    first = engine_of(tmp_path)
    coordinator = first._coordinator
    real = getattr(coordinator, step)

    def dies(*arguments: Any) -> Any:
        if first.epoch >= 4:
            raise Killed
        return real(*arguments)

    monkeypatch.setattr(coordinator, step, dies)
    with pytest.raises(Killed):
        first.run()
    second = engine_of(tmp_path)
    report = second.run()
    assert seen_of(second.model) == seen_of(undisturbed.model)
    assert report["scores"] == undisturbed.report()["scores"]


def test_learners_come_and_go(tmp_path: Path) -> None:
    for workers, records_in_all in ((2, 4_000), (1, 6_000), (3, 9_000), (2, N)):
        engine = engine_of(tmp_path, workers=workers)
        engine.run(max_records=records_in_all - engine.progress.counts["records"])
        assert engine.progress.counts["records"] == records_in_all
        so_far = Counter(r["who"] for r in ROWS[:records_in_all] if r["who"] is not None)
        assert {key: engine.model.records_of(key) for key in so_far} == so_far


def test_features_and_labels_that_come_on_the_way(tmp_path: Path) -> None:
    """Learners meet them in another order, and rows of keys are brought into one."""
    rows = []
    for i, row in enumerate(ROWS):
        more = {} if i < 4_000 else {f"{'pq'[i % 2]}{row['who']}"[:2]: float(i % 5)}
        label = row["y"] if i < 6_000 or i % 7 else f"new {i % 3}"
        rows.append({**row, **more, "y": label})
    engine = engine_of(tmp_path / "two", source=source_of(rows))
    engine.run()
    assert {key: engine.model.records_of(key) for key in OFTEN} == OFTEN
    assert set(engine.model.classes) == {"yes", "no", "new 0", "new 1", "new 2"}
    # Who has all in memory, and who must read it from files, know the same.
    faults = dict.fromkeys(range(4, 14), "before")
    again = engine_of(tmp_path / "again", faults, source=source_of(rows))
    again.run()
    assert seen_of(again.model) == seen_of(engine.model)


def test_files_that_nobody_needs_are_removed(
    tmp_path: Path, undisturbed: ClusterEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    from stream_llsvm.cluster import shards

    monkeypatch.setattr(shards, "_MOST_FILES", 4)
    engine = engine_of(tmp_path, slice=300)
    engine.run()
    assert engine.counts["rounds"] > 12
    assert {key: engine.model.records_of(key) for key in OFTEN} == OFTEN
    left = {path.name for path in tmp_path.glob("shard-*")}
    assert set(engine.files.names) <= left
    assert len(left) < engine.counts["rounds"]
    # Each manifest that is kept can still be read.
    for path in sorted(tmp_path.glob("checkpoint-*"))[1:]:
        path.unlink()
        assert engine_of(tmp_path).run()["records"] == N


def test_turns_in_which_no_manifest_is_written_cost_no_file_that_is_needed(tmp_path: Path) -> None:
    """Who waits for more turns on and on; the manifests that are kept stay whole."""
    engine = engine_of(tmp_path, slice=500)
    engine.run(max_records=6_000)
    for _ in range(5):
        engine._remove_unneeded()
    kept = sorted(tmp_path.glob("checkpoint-*"))
    assert len(kept) == 3
    for path in kept[1:]:
        path.unlink()
    assert engine_of(tmp_path).run()["records"] == N


def test_manifests_may_be_written_seldom(tmp_path: Path) -> None:
    engine = engine_of(tmp_path, every=10**6)
    engine.run(max_records=4_000)
    assert engine.counts["rounds"] > 2
    assert len(list(tmp_path.glob("checkpoint-*"))) == 2  # the first and the last
    again = engine_of(tmp_path)
    again.run()
    assert {key: again.model.records_of(key) for key in OFTEN} == OFTEN


def test_engines_and_clusters_go_on_from_each_other(tmp_path: Path) -> None:
    alone = Engine(source_of(), model(), checkpoints=Checkpoints(tmp_path))
    alone.run(1_000)
    engine_of(tmp_path).run(3_000)
    alone = Engine(source_of(), model(), checkpoints=Checkpoints(tmp_path))
    so_far = Counter(r["who"] for r in ROWS[:4_000] if r["who"] is not None)
    assert {key: alone.model.records_of(key) for key in so_far} == so_far
    alone.run(1_000)
    engine = engine_of(tmp_path)
    engine.run()
    assert {key: engine.model.records_of(key) for key in OFTEN} == OFTEN
    assert engine.report()["cluster"]["keys"] == len(OFTEN)


@pytest.mark.parametrize("replay", [True, False])
def test_files_of_older_manifests_stay_as_they_are(tmp_path: Path, replay: bool) -> None:
    """Whoever goes back and on writes files of other names: one can go back from going back."""
    engine_of(tmp_path).run(4_000)
    before = {path: path.read_bytes() for path in tmp_path.glob("shard-*")}
    kept = Checkpoints(tmp_path)
    roll_back(kept, kept.number - 1, replay=replay)
    kept.close()
    again = engine_of(tmp_path)
    again.run(1_000)
    there = [path for path in before if path.exists()]
    assert there
    assert all(path.read_bytes() == before[path] for path in there)
    came = again.progress.counts["records"]
    so_far = Counter(r["who"] for r in ROWS[:came] if r["who"] is not None)
    known = {key: again.model.records_of(key) for key in so_far}
    assert known == so_far if replay else sum(known.values()) < so_far.total()


def test_files_of_a_manifest_that_is_kept_for_good_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from stream_llsvm.cluster import shards

    monkeypatch.setattr(shards, "_MOST_FILES", 4)
    engine_of(tmp_path, slice=300).run(3_000)
    kept = Checkpoints(tmp_path)
    number = max(kept._numbers())
    kept.name(number, "good")
    kept.close()
    engine_of(tmp_path, slice=300).run()
    payload = read_checkpoint(tmp_path / f"checkpoint-{number:010}.llsvm")
    found = from_payload(payload["model"])
    so_far = Counter(r["who"] for r in ROWS[:3_000] if r["who"] is not None)
    assert {key: found.records_of(key) for key in so_far} == so_far


@pytest.mark.parametrize("what", ["missing", "another", "no rows"])
def test_a_file_of_keys_that_does_not_fit_is_passed_over_with_its_manifest(
    tmp_path: Path, what: str
) -> None:
    engine = engine_of(tmp_path)
    engine.run(4_000)
    last = tmp_path / engine.files.names[-1]
    if what == "missing":
        last.unlink()
    else:
        payload = read(last if what == "no rows" else tmp_path / engine.files.names[0])
        write(last, payload | ({"rows": {}} if what == "no rows" else {}))
    alone = Engine(source_of(), model(), checkpoints=Checkpoints(tmp_path))
    assert alone.progress.events[0]["kind"] == "checkpoint unreadable"
    alone.run()
    assert {key: alone.model.records_of(key) for key in OFTEN} == OFTEN


def test_equal_keys_have_one_learner() -> None:
    for of in (1, 2, 3, 64):
        assert len({shard_of(key, of) for key in (1, 1.0, True)}) == 1
        assert {shard_of(f"k{i}", of) for i in range(2_000)} == set(range(of))
        assert {shard_of(i, of) for i in range(2_000)} == set(range(of))


def test_refusals(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="give checkpoints, a folder that all of them see"):
        ClusterEngine(source_of(), model(), workers=2, cluster="local")
    with pytest.raises(ValueError, match="audit is for one model that several learn"):
        engine_of(tmp_path / "audit", audit=0.5)
    with pytest.raises(ValueError, match="newest is for one model that several learn"):
        engine_of(tmp_path / "newest", newest=2.0)
    with pytest.raises(ValueError, match="max_keys is for one learner"):
        engine_of(tmp_path / "most", model=KeyedClassifier(SAPLClassifier(), "who", max_keys=10))
    alone = KeyedClassifier(CommitteeClassifier(members=("local", "prior")), "who")
    with pytest.raises(ValueError, match=r"'local.*' cannot be merged"):
        engine_of(tmp_path / "alone", model=alone)
    publishing = engine_of(tmp_path / "of", watchers=[Publisher(tmp_path / "published")])
    with pytest.raises(EngineError, match="cannot be published while several learn it"):
        publishing.run()
    tmp_path /= "kept"
    engine_of(tmp_path).run(max_records=1_000)
    with pytest.raises(EngineError, match="with the key 'who', not 'whom'"):
        engine_of(tmp_path, model=KeyedClassifier(SAPLClassifier(), "whom"))
