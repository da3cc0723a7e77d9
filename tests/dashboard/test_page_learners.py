"""Many learners on the page and in /metrics: how their rounds go, and what several cost."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, cast

import httpx
import pytest
from playwright.sync_api import expect

from stream_llsvm import KeyedClassifier, SAPLClassifier
from stream_llsvm.cluster import ClusterEngine
from stream_llsvm.cluster.shards import shard_of
from stream_llsvm.connectors import ListSource
from stream_llsvm.dashboard.server import Dashboard
from stream_llsvm.engine.checkpoints import Checkpoints
from tests.dashboard.browser import chromium, opened, photographed
from tests.dashboard.live import live, rows, wait_for
from tests.dashboard.test_metrics import OF_CLUSTER, OF_SHARDS, Samples, read

if TYPE_CHECKING:
    from stream_llsvm import Engine


class Endless(ListSource):
    """Records behind which more may come."""

    endless = True


@pytest.fixture
def learning() -> Iterator[Dashboard]:
    """Let two learners learn 6,000 records, and wait for more."""
    source = Endless(rows(6_000, classes=3), label="label", key="id")
    engine = ClusterEngine(
        source, SAPLClassifier(), workers=2, cluster="local", slice=1_000, audit=1.0
    )
    engine.fallbacks["anchors"] += 2  # as a merge counts it whose anchors have no mean
    with Dashboard(cast("Engine", engine), port=0) as page:
        thread = threading.Thread(target=engine.run)
        thread.start()
        try:
            yield page
        finally:
            engine.stop()
            thread.join()


def told(page: Dashboard) -> Samples:
    return read(httpx.get(f"{page.address}metrics", trust_env=False).text)


def of_cluster(samples: Samples) -> set[str]:
    names = {name.removeprefix("stream_llsvm_") for name, _ in samples}
    return {name for name in names if name.startswith("cluster")}


def test_the_page_shows_the_rounds(learning: Dashboard) -> None:
    wait_for(lambda: told(learning).get(("stream_llsvm_learned_total", ())) == 6_000)
    wait_for(lambda: of_cluster(told(learning)) == OF_CLUSTER)
    found = told(learning)
    assert found["stream_llsvm_cluster_rounds_total", ()] == 4
    assert found["stream_llsvm_cluster_workers", ()] == 2
    assert found["stream_llsvm_cluster_rounds_repeated_total", ()] == 0
    fallbacks = found["stream_llsvm_cluster_fallbacks_total", (("member", "anchors"),)]
    assert fallbacks == 0  # the two were there before this process began
    parts = {
        labels[0][1]: n for (name, labels), n in found.items() if name.endswith("round_seconds")
    }
    assert set(parts) == {"carry", "read", "learn", "wait", "merge"}
    assert parts["learn"] > 0 and min(parts.values()) >= 0
    with chromium() as browser, opened(browser, f"{learning.address}#operate") as (page, faults):
        expect(page.locator("#learner-facts")).to_contain_text("in the last round, of at most 2")
        expect(page.locator("#learner-facts")).to_contain_text("points")
        expect(page.locator("#learner-facts")).to_contain_text("anchors 2")
        expect(page.locator("#round-parts tbody tr")).to_have_count(5)
        photographed(page, "learners")
        assert not faults


def test_the_page_shows_whose_keys_are_how_many(tmp_path: Path) -> None:
    records = [{**one, "who": i % 41} for i, one in enumerate(rows(6_000, classes=3))]
    engine = ClusterEngine(
        Endless(records, label="label"),
        KeyedClassifier(SAPLClassifier(), key="who"),
        workers=2,
        cluster="local",
        slice=1_000,
        checkpoints=Checkpoints(tmp_path),
    )
    with Dashboard(cast("Engine", engine), port=0) as page:
        thread = threading.Thread(target=engine.run)
        thread.start()
        try:
            wait_for(lambda: told(page).get(("stream_llsvm_learned_total", ())) == 6_000)
            wait_for(lambda: of_cluster(told(page)) >= OF_SHARDS)
            found = told(page)
            keys, sizes = (
                [found[f"stream_llsvm_cluster_shard_{what}", (("learner", rank),)] for rank in "01"]
                for what in ("keys", "bytes")
            )
            assert sum(keys) == found["stream_llsvm_keys_known", ()] == 41
            assert keys == [sum(shard_of(key, 2) == rank for key in range(41)) for rank in (0, 1)]
            assert sum(sizes) == found["stream_llsvm_keys_bytes", ()]
            with chromium() as browser, opened(browser, f"{page.address}#operate") as (shown, _):
                expect(shown.locator("#learner-facts")).to_contain_text(
                    f"a learner has {min(keys):.0f} to {max(keys):.0f}"
                )
                photographed(shown, "shards")
        finally:
            engine.stop()
            thread.join()
    shards = engine.report()["cluster"]["shards"]
    assert [one["keys"] for one in shards] == keys


def test_one_learner_has_no_rounds() -> None:
    with live(rows(50)) as run, chromium() as browser:
        assert run.until(lambda f: f["status"]["records"] == 50)["rounds"] is None
        with opened(browser, f"{run.page.address}#operate") as (page, _):
            expect(page.locator("#machine")).to_be_visible()
            expect(page.locator("#learners")).not_to_be_visible()
        run.finish()
