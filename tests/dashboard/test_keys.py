"""A model for each key on the page and in /metrics, as a real run tells them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from playwright.sync_api import Browser

from stream_llsvm import KeyedClassifier, SAPLClassifier
from stream_llsvm.dashboard.keys import KeyWindow, Told, worst
from tests.dashboard.browser import chromium, opened
from tests.dashboard.live import Fed, Live, live
from tests.dashboard.test_metrics import OF_KEYS, read

N, KEYS = 2_000, 30


@pytest.fixture(scope="module")
def run() -> Iterator[Live]:
    """Run customers who like the opposite; one of them likes nothing in particular."""
    rng = np.random.default_rng(0)
    records = []
    for _ in range(N):
        who, x = int(rng.integers(KEYS)), rng.normal(size=2)
        label = bool(rng.integers(2)) if who == 7 else bool((x[0] > 0) == bool(who % 2))
        records.append({"a": x[0], "b": x[1], "id": f"c{who}", "label": str(label)})
    model = KeyedClassifier(SAPLClassifier(n_anchors=8), key="id")
    source = Fed(records[:100], key="id")
    with live(source=source, model=model, max_batch=100) as running:
        running.until(lambda frame: frame["keys"] and frame["status"]["learned"] == 100)
        source.feed(records[100:])  # now that somebody watches
        running.until(lambda frame: frame["status"]["learned"] == N)
        yield running
        running.finish()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as started:
        yield started


def test_a_frame_says_how_keys_do(run: Live) -> None:
    told = run.until(lambda frame: frame["keys"]["worst"])["keys"]
    model = run.engine.model
    assert told["known"] == KEYS and told["forgotten"] == 0
    assert told["bytes"] == model._bank.matrix.nbytes + model._bank.facts.nbytes
    assert sum(age["share"] for age in told["ages"]) == pytest.approx(1)
    grown = told["ages"][6]
    assert grown["since"] == 32 and grown["accuracy"] > grown["alone"] + 0.2
    assert told["worst"][0]["key"] == "c7" and told["worst"][0]["wrong"] > 10


def test_metrics_say_it_too(run: Live) -> None:
    samples = read(run.get("/metrics").text)
    found = {name.removeprefix("stream_llsvm_") for name, _ in samples}
    assert {name for name in found if name.startswith("key")} == OF_KEYS
    assert samples["stream_llsvm_keys_known", ()] == KEYS
    assert samples["stream_llsvm_key_answers_total", (("records", "0"),)] == KEYS
    total = sum(v for (name, _), v in samples.items() if name == "stream_llsvm_key_answers_total")
    assert total == N


def test_what_is_copied_is_the_model_for_all(run: Live) -> None:
    frame = run.until(lambda frame: frame["model"] and frame["model"]["mixture"])
    assert frame["model"]["mixture"][0]["name"] == "anchors:8"
    assert run.get("/api/snapshot").json()["status"]["model"] == "KeyedClassifier"
    asked = run.client.post("/api/predict", json={"records": [{"a": 1.0, "b": 0.0}]})
    assert asked.status_code == 200


def test_the_panel_shows_it(run: Live, browser: Browser) -> None:
    with opened(browser, run.page.address) as (page, complaints):
        page.wait_for_selector("#keys:not([hidden]) #key-worst tbody tr")
        assert "30" in page.inner_text("#key-facts")
        assert "c7" in page.inner_text("#key-worst tbody tr:first-child")
        ages = page.inner_text("#key-ages")
        assert "none" in ages and "32 to 63" in ages
        assert complaints == []


def test_the_window_is_bounded_and_none_is_worst_if_all_are_right() -> None:
    window = KeyWindow()
    for _ in range(300):
        window._take(Told(["a"] * 100, [1] * 100, [1] * 100))
    assert sum(len(one.keys) for one in window.told()) <= 10_100
    assert worst(window.told()) == []
    assert worst([]) == []
