"""The page, its API and /metrics of a run that learns numbers: errors, and nothing of classes."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, expect
from river import linear_model, preprocessing

from stream_llsvm import LLSVMRegressor, PegasosRegressor
from stream_llsvm.cli.top import drawn
from tests.dashboard.browser import chromium, opened, photographed
from tests.dashboard.live import Live, live

Rows = list[dict[str, Any]]
N = 2_400


def numbers(n: int, first: int = 0) -> Rows:
    """Return records with a number each, in the thousands; it changes in the middle of all."""
    x = np.random.default_rng(first).normal(size=(n, 3))
    y = 40 * np.sin(2 * x[:, 0]) + 25 * x[:, 1] * x[:, 2] if first < N // 2 else 90 * x[:, 1]
    places = range(first, first + n)
    return [
        {"wind": a, "rain": b, "sun": c, "label": 1_000 + value, "id": i}
        for (a, b, c), value, i in zip(x.tolist(), y.tolist(), places, strict=True)
    ]


@pytest.fixture(scope="module")
def run() -> Iterator[Live]:
    with live(model=LLSVMRegressor(n_anchors=12, n_neighbors=4)) as run:
        for first in range(0, N, 200):
            run.source.feed(numbers(200, first))
            run.until(_came(first + 200))
        run.source.feed([{"wind": 1.0, "label": "calm", "id": N}])
        run.until(lambda frame: frame["status"]["rejected"] == 1 and _explained(frame))
        yield run


def _came(records: int) -> Callable[[dict[str, Any]], bool]:
    return lambda frame: bool(frame["status"]["records"] == records)


def _explained(frame: dict[str, Any]) -> bool:
    return bool(frame["model"] and frame["model"]["whys"])


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


@pytest.fixture
def page(run: Live, browser: Browser) -> Iterator[Page]:
    with opened(browser, run.page.address) as (page, complaints):
        expect(page.locator("#why-list li").first).to_be_visible(timeout=20_000)
        yield page
        assert complaints == []


def test_errors_are_shown_and_nothing_of_classes(run: Live, page: Page) -> None:
    scores = run.snapshot()["scores"]
    expect(page.locator("#h-accuracy")).to_have_text("Error")
    for panel in ("#confusion", "#map"):
        expect(page.locator(panel)).to_be_hidden()
    heads = page.locator("#scores thead th").all_inner_texts()
    assert heads == ["", "MAE", "RMSE", "R2"]
    cells = page.locator("#scores tbody tr").first.locator("td").all_inner_texts()
    shown = [float(text) for text in cells]
    windowed = scores["windowed"]
    for text, name in zip(shown, ("mae", "rmse", "r2"), strict=True):
        assert text == pytest.approx(windowed[name], rel=5e-3, abs=5e-4)
    lead = page.locator("[data-fact=MAE]")
    expect(lead.locator(".small")).to_contain_text("mean baseline")
    legend = page.locator("#accuracy .legend button span:nth-child(2)").all_inner_texts()
    assert legend == ["windowed", "fading", "cumulative", "mean label", "last label", "rmse"]
    words = page.locator("main").inner_text().lower()
    for absent in ("accuracy", "margin", "nan", "undefined", "null", "0 classes"):
        assert absent not in words, absent
    assert page.title().startswith("MAE ")
    assert 1 < windowed["mae"] < windowed["mean_label"] < windowed["last_label"]
    photographed(page, "numbers")


def test_the_drift_of_the_error_is_on_the_page(run: Live, page: Page) -> None:
    events = [event for event in run.snapshot()["events"] if event["kind"] == "drift"]
    assert [event["text"] for event in events] == ["the error has risen"]
    assert N // 2 <= events[0]["record"] < N // 2 + 200
    expect(page.locator("#events")).to_contain_text("the error has risen")


def test_a_record_with_a_label_that_is_no_number_is_listed(page: Page) -> None:
    expect(page.locator("#letters")).to_contain_text("odd label")
    expect(page.locator("#letters")).to_contain_text("'calm' is not a finite number")


def test_an_answer_is_taken_apart_in_the_labels_unit(run: Live, page: Page) -> None:
    why = run.snapshot()["model"]["whys"][0]
    parts = why["bias"] + why["rest"] + sum(part for _, part in why["contributions"])
    assert parts == pytest.approx(why["score"], rel=1e-3)
    assert why["sure"] is None
    truth = float(why["truth"].replace(",", ""))
    assert why["error"] == pytest.approx(why["score"] - truth, abs=0.1)
    expect(page.locator("#why-told h3")).to_contain_text("and it was")
    expect(page.locator("#why-told p").first).to_contain_text(
        r"features at their means it would be"
    )
    page.locator("#ask-send").click()
    expect(page.locator("#ask-told h3")).to_have_text(re.compile(r"^[\d,.]+$"))


def test_the_model_can_be_asked(run: Live) -> None:
    record = {"wind": 0.5, "rain": 1.0, "sun": 0.25, "fog": 1.0}
    told = run.post("/api/predict", {"records": [record]}).json()["predictions"][0]
    assert 800 < told["value"] < 1_200
    assert told["unknown_features"] == ["fog"]
    why = run.post("/api/explain", {"record": record}).json()
    assert why["score"] == pytest.approx(told["value"], rel=1e-4)
    refused = run.post("/api/explain", {"record": record, "label": "calm"})
    assert (refused.status_code, "tells a number" in refused.json()["error"]) == (400, True)


def test_metrics_and_top_have_the_errors(run: Live) -> None:
    frame = run.until(lambda frame: frame["status"]["state"] == "waiting")
    scores, exported = frame["scores"], run.get("/metrics").text
    for view in ("windowed", "fading", "cumulative"):
        for name, family in (("mae", "mae"), ("rmse", "rmse"), ("r2", "r2_ratio")):
            assert f'stream_llsvm_{family}{{kind="{view}"}} {scores[view][name]}' in exported
    for name in ("mean_label", "last_label"):
        assert f'stream_llsvm_mae{{kind="{name}"}} {scores["windowed"][name]}' in exported
    for absent in ("_accuracy", "stream_llsvm_classes", "kappa", "log_loss"):
        assert absent not in exported
    table: Any = drawn(frame).renderables[1]  # type: ignore[union-attr]
    shown = dict(zip(*([str(cell) for cell in one.cells] for one in table.columns), strict=True))
    assert shown["MAE, windowed"] == f"{scores['windowed']['mae']:,.5g}"
    assert {"mean baseline, windowed", "RMSE, windowed", "R2, windowed"} <= set(shown)


@pytest.mark.parametrize(
    "model",
    [PegasosRegressor(), preprocessing.StandardScaler() | linear_model.LinearRegression()],
    ids=["pegasos", "of river"],
)
def test_other_regressors_are_shown_too(model: Any, browser: Browser) -> None:
    with live(numbers(600), model) as run:
        frame = run.until(lambda frame: frame["status"]["records"] == 600)
        assert math.isfinite(frame["scores"]["windowed"]["mae"])
        assert frame["confusion"] is None
        with opened(browser, run.page.address) as (page, complaints):
            expect(page.locator("[data-fact=MAE]")).to_be_visible()
            expect(page.locator("#confusion")).to_be_hidden()
            assert complaints == []
