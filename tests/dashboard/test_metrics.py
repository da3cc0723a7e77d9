"""What Prometheus reads: valid, complete, and bounded."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from stream_llsvm import CommitteeClassifier, LLSVMClassifier
from stream_llsvm.dashboard.metrics import Counters, escaped, metrics
from stream_llsvm.engine.checkpoints import Checkpoints
from stream_llsvm.engine.late_labels import Waiting
from stream_llsvm.engine.scores import scores_of
from stream_llsvm.learners.decision import Decision
from tests.dashboard.live import Fed, Live, live, rows, wait_for

#: What a run that learns numbers has besides.
OF_NUMBERS = {score.metric for score in scores_of("regression")}
#: What a model for each key has besides; a test below runs one.
OF_KEYS = {
    *("keys_known", "keys_new_total", "keys_bytes", "key_answers_total"),
    *("key_right_total", "key_right_alone_total", "key_trust"),
}
#: What many learners have besides; ``test_page_learners.py`` lets two learn.
OF_CLUSTER = {
    *("cluster_workers", "cluster_rounds_total", "cluster_rounds_repeated_total"),
    *("cluster_restarts_total", "cluster_backlog_records", "cluster_round_seconds"),
    *("cluster_fallbacks_total", "cluster_audit_price"),
}
#: What they have of a model for each key; another test there lets them.
OF_SHARDS = {"cluster_shard_keys", "cluster_shard_bytes"}
#: What a server has besides; ``tests/serve/test_limits.py`` lets one refuse.
OF_SERVE = {"refused_total", "refused_records_total"}
ROOT = Path(__file__).resolve().parents[2]
Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]


def read(text: str) -> Samples:
    """Return every sample, after checking that each is there once."""
    samples: Samples = {}
    for family in text_string_to_metric_families(text):
        assert family.type in ("counter", "gauge", "histogram")
        assert family.documentation
        for sample in family.samples:
            key = sample.name, tuple(sorted(sample.labels.items()))
            assert key not in samples
            samples[key] = sample.value
    return samples


def told(run: Live) -> Samples:
    answer = run.get("/metrics")
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    return read(answer.text)


@pytest.fixture
def run(tmp_path: Any) -> Any:
    """Run something that has every metric."""
    records = rows(300)
    records[7]["x"] = b"no number"
    late = [{"id": r["id"], "label": r.pop("label")} for r in records[:100]]
    source = Fed(records, key="id")
    source.behind = {'a "topic"\n\\': {"0": 3, "1": 4}}
    checkpoints = Checkpoints(tmp_path)
    with live(
        source=source, model=CommitteeClassifier(), challengers={"plain": LLSVMClassifier()},
        decision=Decision(
            costs={"c1": {"c0": 5}}, hold={"label": "c1", "recall": 0.8}, coverage=0.9
        ),
        labels=Fed(late, key="id"),
        slices=["x", "nowhere"], waiting=Waiting(1_000), checkpoints=checkpoints, every=0.2,
        max_batch=100,
    ) as running:  # fmt: skip
        wait_for(lambda: running.get("/healthz").json()["state"] == "running")
        wait_for(
            lambda: (
                {"stream_llsvm_checkpoint_age_seconds", "stream_llsvm_lag_records"}
                <= {name for name, _ in told(running)}
            )
        )
        wait_for(lambda: told(running)["stream_llsvm_learned_total", ()] == 299)
        yield running
        running.finish()
        checkpoints.close()


def test_they_say_what_the_run_says(run: Live) -> None:
    samples = told(run)

    def value(name: str, **labels: str) -> float:
        return samples["stream_llsvm_" + name, tuple(sorted(labels.items()))]

    assert value("records_total") == 300
    assert value("rejected_total", reason="refused by the model") == 1
    assert value("lag_records", topic='a "topic"\n\\', partition="1") == 4
    assert value("labels_total", outcome="matched") == 99
    assert value("label_delay_seconds_count") == 99
    assert value("classes") == 2
    assert value("drift_total") == 0
    assert value("anchor_moves_total") > 0
    assert 0 <= value("checkpoint_age_seconds") < 60
    assert sum(v for (name, _), v in samples.items() if name == "stream_llsvm_state") == 1
    values = [
        v
        for (name, labels), v in samples.items()
        if name == "stream_llsvm_slice_records" and ("field", "x") in labels
    ]
    cohorts = run.engine.progress.cohorts.all()
    assert len(cohorts["x"]) == 21
    assert values == [one.records for one in cohorts["x"] if one.rest]  # the others are too rare
    assert (
        value("slice_records", field="nowhere", value="(missing)") == run.engine.progress.scores.n
    )
    scores = run.engine.progress.scores.report()
    for kind in ("windowed", "fading", "cumulative"):
        assert value("accuracy_ratio", kind=kind) == scores[kind]["accuracy"]
    for name, n in (("predict_seconds", 299), ("learn_seconds", 299)):
        below = [
            (float(dict(labels)["le"]), v)
            for (one, labels), v in samples.items()
            if one == f"stream_llsvm_{name}_bucket"
        ]
        assert [v for _, v in sorted(below)] == sorted(v for _, v in below)
        assert dict(below)[math.inf] == value(f"{name}_count") == pytest.approx(n, abs=2)
        assert value(f"{name}_sum") > 0


def test_there_are_not_too_many(run: Live) -> None:
    for i in range(10_000):
        run.engine.rejects.counts[f"reason {i}"] += 1
    run.source.behind = {f"t{i}": {str(j): 1 for j in range(10)} for i in range(1_000)}
    lag = "stream_llsvm_lag_records", (("partition", "0"), ("topic", "t1"))
    wait_for(lambda: lag in told(run))
    wait_for(lambda: any("reason 1" in str(key) for key in told(run)))
    assert len(told(run)) < 1_400


@given(st.text())
def test_a_label_of_any_text_is_read_back(text: str) -> None:
    line = f'some_metric{{reason="{escaped(text)}"}} 1\n'
    (family,) = text_string_to_metric_families(line)
    assert family.samples[0].labels == {"reason": text}


def test_grafana_asks_only_for_what_there_is(run: Live) -> None:
    board = json.loads((ROOT / "grafana" / "stream_llsvm.json").read_text())
    there = {name for name, _ in told(run)} | {
        f"stream_llsvm_{one}" for one in OF_NUMBERS | OF_KEYS | OF_CLUSTER | OF_SHARDS
    }
    asked = set(re.findall(r"\bstream_llsvm_[a-z0-9_]+", json.dumps(board)))
    assert asked <= there
    # And all that there is is drawn, but for what histograms bring along.
    rest = {name for name in there - asked if not name.endswith(("_sum", "_count"))}
    assert rest == {"stream_llsvm_rate_records", "stream_llsvm_start_time_seconds"}
    ids = [panel["id"] for panel in board["panels"]]
    assert len(ids) == len(set(ids))
    for panel in board["panels"]:
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= 24
        assert all(
            target["expr"].count("(") == target["expr"].count(")") for target in panel["targets"]
        )


def named_on_the_page() -> dict[str, set[str]]:
    """Return each metric that docs/metrics.md has a row of, and its labels."""
    page = (ROOT / "docs" / "metrics.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (`.*?) \| ", page, re.MULTILINE)
    found = [one for row in rows for one in re.findall(r"`(\w+)(?:\{([\w,]+)\})?`", row)]
    assert len(found) == len({name for name, _ in found})
    return {name: set(labels.split(",")) - {""} for name, labels in found}


def test_the_page_of_metrics_is_complete_and_has_nothing_else(run: Live) -> None:
    """With its labels, where the run of this file has the metric; ``le`` is every histogram's."""
    labels: dict[str, set[str]] = {}
    for name, pairs in told(run):
        base = re.sub(r"_(bucket|sum|count)$", "", name.removeprefix("stream_llsvm_"))
        labels.setdefault(base, set()).update({label for label, _ in pairs} - {"le"})
    on_page = named_on_the_page()
    others = OF_NUMBERS | OF_KEYS | OF_CLUSTER | OF_SHARDS | OF_SERVE
    assert set(on_page) == labels.keys() | others
    assert {name: on_page[name] for name in labels} == labels


def test_counters_begin_with_the_process_and_only_go_up(tmp_path: Path) -> None:
    """After a crash a run counts again from its checkpoint on, which is below where it was."""
    told = []
    for seen in (200, 300, 400):
        checkpoints = Checkpoints(tmp_path)
        with live(rows(seen), checkpoints=checkpoints, every=3_600) as running:
            running.finish()
            samples = read(running.get("/metrics").text)
        checkpoints.close()
        told.append(samples["stream_llsvm_records_total", ()])
    assert told == [200, 100, 100]


def test_a_counter_that_falls_back_stands(run: Live) -> None:
    look = run.page.monitor.look
    assert look is not None
    counters = Counters(replace(look, moves=70))
    moved = [
        metrics(replace(look, moves=n), 0.0, counters=counters)["anchor_moves_total"].lines
        for n in (75, 40, 50)
    ]
    assert moved == [[f"stream_llsvm_anchor_moves_total {n}"] for n in (5, 5, 15)]
