"""What fires is told by the page, in the log of events and to whoever is named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from stream_llsvm.alerts import alert
from stream_llsvm.alerts.channels import Webhook
from stream_llsvm.alerts.delivery import Delivery
from stream_llsvm.alerts.rules import BY_NAME, RULES
from stream_llsvm.dashboard import alert_watch
from stream_llsvm.engine.checkpoints import Checkpoints
from tests.alerts.sinks import hook
from tests.alerts.support import scraped, value
from tests.dashboard.live import live, rows, wait_for


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look often."""
    monkeypatch.setattr(alert_watch, "EVERY", 0.05)


def test_a_folder_that_is_gone_is_told_and_the_run_goes_on(tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    checkpoints = Checkpoints(folder)
    with hook() as sink:
        deliveries = [Delivery(Webhook(sink.url), "rows")]
        with live(
            rows(100), page={"deliveries": deliveries}, checkpoints=checkpoints, every=0.05
        ) as run:
            calm = run.until(lambda frame: frame["status"]["records"] == 100)
            assert calm["alerts"] == []
            wait_for(lambda: value(scraped(run), "alert_firing", alert="stopped") == 0)
            folder.rename(tmp_path / "away")
            run.source.feed(rows(10))
            frame = run.until(lambda frame: frame["alerts"])
            (fires,) = frame["alerts"]
            assert (fires["alert"], fires["status"]) == ("checkpoint_failed", "firing")
            assert calm["time"] - 1 <= fires["since"] <= frame["time"] + 60
            seen = scraped(run)
            assert value(seen, "alert_firing", alert="checkpoint_failed") == 1
            assert value(seen, "alert_firing") == 1
            assert len(seen["alert_firing"]) == len(RULES) - 1  # but the one of others
            wait_for(lambda: sink.posted)
            (told,) = sink.posted[0].body["alerts"]
            assert told["since"] == fires["since"]
            run.source.feed(rows(200))
            after = run.until(lambda frame: frame["status"]["learned"] == 310)
            assert [one["kind"] for one in after["events"] if "alert" in one["kind"]] == ["alert"]
            (tmp_path / "away").rename(folder)
            run.finish()
    checkpoints.close()


def test_what_is_over_is_told_for_a_while(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alert, "HOLD", 0.0)
    folder = tmp_path / "kept"
    checkpoints = Checkpoints(folder)
    with live(rows(100), checkpoints=checkpoints, every=0.05) as run:
        run.until(lambda frame: frame["status"]["records"] == 100)
        folder.rename(tmp_path / "away")
        run.source.feed(rows(10))
        run.until(lambda frame: frame["alerts"])
        (tmp_path / "away").rename(folder)
        run.source.feed(rows(10))
        frame = run.until(lambda frame: not frame["alerts"])
        (over,) = frame["alerts_over"]
        assert (over["alert"], over["status"]) == ("checkpoint_failed", "resolved")
        assert over["since"] <= over["until"]
        assert frame["alert_rules"] == len(RULES) - 1
        assert value(scraped(run), "alert_firing") == 0
        run.finish()
    checkpoints.close()


def test_rules_may_be_left_out() -> None:
    only: Any = [BY_NAME["lagging"]]
    with live(rows(50), page={"rules": only}) as run:
        wait_for(lambda: "alert_firing" in scraped(run))
        assert [labels for labels, _ in scraped(run)["alert_firing"]] == [{"alert": "lagging"}]
