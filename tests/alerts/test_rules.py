"""Each rule fires when its trouble is made, on what a real run tells, and not before."""

from __future__ import annotations

import os
import shutil
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from river import dummy, linear_model, naive_bayes, stats

from stream_llsvm import LLSVMClassifier
from stream_llsvm.alerts.alert import Alerts
from stream_llsvm.alerts.rules import BY_NAME, HOLD, RULES, Rule
from stream_llsvm.engine.checkpoints import Checkpoints
from stream_llsvm.engine.late_labels import Waiting
from tests.alerts.support import MINUTE, Read, fires, scraped, value
from tests.dashboard.live import Fed, Live, live, rows, wait_for


def rule(name: str, threshold: float | None = None) -> Rule:
    found = BY_NAME[name]
    return found if threshold is None else found._replace(threshold=threshold)


def learned(run: Live, n: int) -> Read:
    """Return the metrics when so many records have been learned."""
    found: list[Read] = []

    def there() -> bool:
        found.append(scraped(run))
        return value(found[-1], "learned_total") >= n

    wait_for(there)
    return found[-1]


def until(run: Live, name: str, least: float) -> Read:
    """Return the metrics when one of them is at least this."""
    found: list[Read] = []

    def there() -> bool:
        found.append(scraped(run))
        return value(found[-1], name) >= least

    wait_for(there)
    return found[-1]


def fed_until_silent(run: Live, bare: list[dict[str, Any]]) -> Read:
    """Feed records that nothing is learned of; return the metrics when that has lasted."""
    found: list[Read] = []

    def there() -> bool:
        run.source.feed(bare)
        found.append(scraped(run))
        return value(found[-1], "unlabelled_seconds") >= 0.4

    wait_for(there)
    return found[-1]


def until_lag(run: Live, n: float) -> Read:
    """Return the metrics when the lag is this."""
    wait_for(lambda: value(scraped(run), "lag_records") == n)
    return scraped(run)


class Held(LLSVMClassifier):
    """A model that waits at a record until the test lets it go."""

    def __init__(self) -> None:
        super().__init__(n_anchors=12, n_neighbors=4)
        self.reached, self.let_go = threading.Event(), threading.Event()

    def predict_proba_one(self, x: Any, **given: Any) -> dict[Any, float]:
        if self.reached.is_set():
            self.let_go.wait(60)
        return super().predict_proba_one(x, **given)


def test_a_run_that_is_well_fires_nothing(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path)
    source = Fed(rows(3_000))
    source.behind = {"t": {"0": 5}}
    with live(source=source, checkpoints=checkpoints, every=0.1) as run:
        begin = time.time()
        scrapes = [learned(run, 3_000)]
        wait_for(lambda: "lag_records" in scraped(run))
        scrapes += [scraped(run) for _ in range(8)]
        for one in RULES:
            assert fires(one, scrapes, begin) is None, one.name
        run.finish()
        checkpoints.close()


def test_stopped_a_loop_that_does_not_turn() -> None:
    model = Held()
    with live(rows(200), model) as run:
        learned(run, 200)
        model.reached.set()
        run.source.feed(rows(50))
        stuck = until(run, "silent_seconds", 0.5)
        assert fires(rule("stopped"), [stuck]) is None
        alert = fires(rule("stopped", 0.4), [stuck])
        assert alert is not None and alert.rule.severity == "critical"
        model.let_go.set()
        learned(run, 250)
        assert fires(rule("stopped", 0.4), [scraped(run)]) is None


def test_stopped_a_run_that_failed_and_not_one_that_ended() -> None:
    with live(rows(100)) as run:
        learned(run, 100)
        run.source.failure = OSError("the disk is gone")
        wait_for(lambda: not run.thread.is_alive())
        assert fires(rule("stopped"), [until(run, "silent_seconds", 0)]) is not None
    with live(rows(100)) as run:
        learned(run, 100)
        run.finish()
        ended = until(run, "silent_seconds", 0.1)
        assert fires(rule("stopped", 0.05), [ended]) is None


def test_gone() -> None:
    with live(rows(100)) as run:
        before = learned(run, 100)
    assert fires(rule("gone"), [before, before]) is None
    assert fires(rule("gone"), [before, {}, {}]) is not None
    assert fires(rule("gone"), [before, *[{}] * 30]) is None  # nobody misses it any more
    assert fires(rule("gone"), [before, {}, before]) is None


def test_lagging() -> None:
    source = Fed(rows(300))
    source.behind = {"t": {"0": 400_000, "1": 600_000}}
    with live(source=source) as run:
        learned(run, 300)
        wait_for(lambda: value(scraped(run), "lag_records") == 1_000_000)
        behind = scraped(run)
        assert fires(rule("lagging"), [behind] * 5) is None  # it may catch up
        assert fires(rule("lagging"), [behind] * 12) is not None
        scrapes = []
        for i in range(12):  # it does
            source.behind = {"t": {"0": 900_000 - i * 10_000}}
            scrapes.append(until_lag(run, 900_000 - i * 10_000))
        assert fires(rule("lagging"), scrapes) is None


def test_no_labels_in_the_records() -> None:
    with live(rows(100)) as run:
        labelled = learned(run, 100)
        assert fires(rule("no_labels", 0.3), [labelled]) is None
        bare = [{**r, "label": None} for r in rows(20)]
        without = fed_until_silent(run, bare)
        assert fires(rule("no_labels"), [without]) is None
        assert fires(rule("no_labels", 0.3), [without]) is not None


def test_no_labels_of_those_that_come_later() -> None:
    """Those that are as late as usual are no trouble; those that were waited for in vain are."""
    records = rows(100)
    late = Fed([{"id": r["id"], "label": r.pop("label")} for r in records], key="id")
    source = Fed(records, key="id")
    with live(source=source, labels=late, waiting=Waiting(1_000, 3_600)) as run:
        learned(run, 100)
        silent = fed_until_silent(run, [{**r, "id": -1} for r in records[:1]])
        quick: Read = {**silent, "label_delay_seconds_sum": [({}, 0.0)]}
        assert fires(rule("no_labels", 0.3), [quick]) is not None
        slow: Read = {**silent, "label_delay_seconds_sum": [({}, 100 * 86_400.0)]}
        assert fires(rule("no_labels", 0.3), [slow]) is None
    source, nobody = Fed(records, key="id"), Fed(key="id")
    with live(source=source, labels=nobody, waiting=Waiting(1_000, 0.05)) as run:

        def expired() -> bool:
            source.feed([{**records[0], "id": len(source.records)}])
            return value(scraped(run), "labels_total", outcome="expired") > 0

        wait_for(expired)
        assert fires(rule("no_labels"), [scraped(run)]) is not None


def test_accuracy_fell() -> None:
    records = rows(4_000)
    with live(records[:3_000]) as run:
        before = learned(run, 3_000)
        assert fires(rule("accuracy_fell"), [before] * 3) is None
        rng = np.random.default_rng(0)
        run.source.feed([{**r, "label": f"c{rng.integers(2)}"} for r in records[3_000:]])
        after = learned(run, 4_000)
        assert fires(rule("accuracy_fell"), [before, after]) is None  # for a moment
        alert = fires(rule("accuracy_fell"), [before, after, after])
        assert alert is not None and 0.3 < alert.value < 0.7


def test_estimate_apart() -> None:
    """Naive Bayes takes features for independent, and is wrong about how right it is."""
    for model, expected in ((None, False), (naive_bayes.GaussianNB(), True)):
        with live(rows(3_000), model) as run:
            seen = learned(run, 3_000)
            alert = fires(rule("estimate_apart"), [seen] * 3)
            assert (alert is not None) == expected
            if alert is not None:
                assert fires(rule("estimate_apart"), [seen]) is None  # for a moment
                assert abs(alert.value) > 0.1


def test_accuracy_fell_of_numbers() -> None:
    records = [{"x": r["x"], "label": r["x"] * 3} for r in rows(4_000)]
    with live(records[:3_000], linear_model.LinearRegression()) as run:
        before = learned(run, 3_000)
        assert fires(rule("accuracy_fell"), [before] * 3) is None
        run.source.feed([{**r, "label": r["x"] * 100.0} for r in records[3_000:]])
        after = learned(run, 4_000)
        assert fires(rule("accuracy_fell"), [before, after, after]) is not None


def test_below_baseline() -> None:
    rng = np.random.default_rng(1)
    labels = np.where(rng.random(2_000) < 0.8, "usual", "rare").tolist()
    records = [{**r, "label": label} for r, label in zip(rows(2_000), labels, strict=True)]
    with live(records, dummy.NoChangeClassifier()) as run:
        assert fires(rule("below_baseline"), [learned(run, 2_000)] * 3) is not None
    numbers = [{"x": r["x"], "label": r["y"]} for r in rows(2_000)]
    with live(numbers, dummy.StatisticRegressor(stats.Max())) as run:
        assert fires(rule("below_baseline"), [learned(run, 2_000)] * 3) is not None
    with live(numbers, dummy.StatisticRegressor(stats.Mean())) as run:
        assert fires(rule("below_baseline"), [learned(run, 2_000)] * 3) is None


def test_input_drift() -> None:
    """A field that breaks is told without any label; of such records one in eight is looked at."""
    records = [{**r, "label": None} for r in rows(32_000)]
    with live(records[:16_000]) as run:
        before = until(run, "records_total", 16_000)
        assert fires(rule("input_drift"), [before]) is None
        run.source.feed([{**r, "x": r["x"] * 100} for r in records[16_000:]])
        alert = fires(rule("input_drift"), [before, until(run, "input_fields_moved", 1)])
        assert alert is not None and alert.value == 1


def test_rejected() -> None:
    good = rows(200)
    bad: list[dict[str, Any]] = [{**r, "x": b"no number"} for r in rows(40)]
    with live(good[:100]) as run:
        before = learned(run, 100)
        run.source.feed(good[100:])
        well = learned(run, 200)
        run.source.feed(bad)
        after = until(run, "records_total", 240)
        assert fires(rule("rejected"), [before, well]) is None
        alert = fires(rule("rejected"), [before, well, after])
        assert alert is not None and alert.value == pytest.approx(40 / 140)


def test_checkpoint_old(tmp_path: Path) -> None:
    """Of a run that goes on from one of an hour ago, but not before it had time for its own."""
    checkpoints = Checkpoints(tmp_path)
    with live(rows(100), checkpoints=checkpoints, every=3_600.0) as run:
        learned(run, 100)
        run.finish()
    for one in tmp_path.glob("checkpoint-*"):
        os.utime(one, (time.time() - 7_200,) * 2)
    checkpoints.close()
    again = Checkpoints(tmp_path)
    with live(rows(300), checkpoints=again, every=1_000.0) as run:
        late = learned(run, 200)
        assert value(late, "checkpoint_behind_records") == 200
        now = time.time()
        assert fires(rule("checkpoint_old"), [late], now) is None
        assert fires(rule("checkpoint_old"), [late], now + 7_200) is not None
        kept: Read = {**late, "checkpoint_behind_records": [({}, 0.0)]}
        assert fires(rule("checkpoint_old"), [kept], now + 7_200) is None
        run.finish()
        again.close()


def test_checkpoint_failed(tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    checkpoints = Checkpoints(folder)
    with live(rows(100), checkpoints=checkpoints, every=0.05) as run:
        before = learned(run, 100)
        assert fires(rule("checkpoint_failed"), [before]) is None
        away = tmp_path / "away"
        folder.rename(away)
        run.source.feed(rows(10))
        wait_for(lambda: value(scraped(run), "checkpoint_failed") == 1)
        failed = scraped(run)
        assert fires(rule("checkpoint_failed"), [before, failed]) is not None
        away.rename(folder)
        run.source.feed(rows(10))
        wait_for(lambda: value(scraped(run), "checkpoint_failed") == 0)
        run.finish()
        checkpoints.close()
        shutil.rmtree(folder)


def test_non_finite() -> None:
    records = [{"x": r["x"], "label": r["x"]} for r in rows(50)]
    with live(records, linear_model.LinearRegression()) as run:
        before = learned(run, 50)
        assert fires(rule("non_finite"), [before, before]) is None
        run.source.feed([{"x": 1e300, "label": 1.0}] * 10)
        after = until(run, "non_finite_total", 1)
        assert fires(rule("non_finite"), [before, after]) is not None


def test_an_alert_fires_on_for_a_minute_and_begins_when_its_condition_did() -> None:
    one = rule("accuracy_fell")._replace(lasts=60.0)
    alerts = Alerts([one])

    def now(windowed: float) -> Read:
        scores = [({"kind": "windowed"}, windowed), ({"kind": "cumulative"}, 0.9)]
        return {"accuracy_ratio": scores, "learned_total": [({}, 5_000.0)]}

    assert alerts.take(0, now(0.9)) == ()
    assert alerts.take(10, now(0.5)) == ()
    assert alerts.take(20, now(0.9)) == ()
    assert alerts.take(30, now(0.5)) == ()
    (alert,) = alerts.take(90, now(0.5))
    assert alert.since == 30
    (still,) = alerts.take(90 + HOLD - 1, now(0.9))
    assert still.since == 30
    assert alerts.take(90 + HOLD, now(0.9)) == ()
    assert alerts.last[one.name].until == 90 + HOLD
    assert MINUTE == HOLD
