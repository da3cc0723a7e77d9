"""What people read on the page: names whole, words one can search for, and what is bad as bad."""

from __future__ import annotations

import io
from collections.abc import Iterator
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Browser, Locator, Page, expect

from stream_llsvm.engine.late_labels import Waiting
from tests.dashboard.browser import chromium, opened, photographed
from tests.dashboard.live import Fed, live, rows
from tests.dashboard.replay import replaying
from tests.dashboard.synthetic import Run
from tests.dashboard.test_page import shown

FEATURES = [f"a_rather_long_feature_name_of_sensor_{i}" for i in range(24)]
CLASSES = [f"the name of class number {i}" for i in (10, 2, 9, 1)]
MEMBERS = [f"member_with_a_long_name_and_size:{i}" for i in (30, 300)]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as started:
        yield started


def cut(page: Page) -> list[str]:
    """Return the names whose end, or the value after them, is not all to be seen."""
    told: list[str] = page.evaluate(
        """() => [...document.querySelectorAll(".name")].filter((node) => {
             if (!node.checkVisibility()) return false;
             const cell = node.closest("th, td, li, span:not(.name, .name *)") ?? node;
             const [, end, after] = [...node.children].map((one) => one.getBoundingClientRect());
             const box = cell.getBoundingClientRect();
             return Math.max(end.right, after.right) > box.right + 1 || end.left < box.left - 1;
           }).map((node) => `${node.closest("[id]").id}: ${node.textContent}`)"""
    )
    return told


@pytest.mark.parametrize(("width", "dark"), [(1440, False), (375, True)])
def test_long_names_are_cut_in_the_middle_and_shown_whole_on_demand(
    browser: Browser, width: int, dark: bool
) -> None:
    run = Run(CLASSES, FEATURES, MEMBERS, plane="projection")
    with (
        replaying(run.history(100)) as server,
        opened(browser, server.address, width=width, dark=dark) as (page, faults),
    ):
        shown(server, page, run.frame(100))
        page.locator("#why-list button").first.click()
        assert page.locator(".name:visible").count() > 40
        assert not cut(page)
        parts = page.locator("#why-told .both tbody th .name")
        values = dict(run.frame(100)["model"]["whys"][0]["values"])
        for i, name in enumerate(FEATURES[:12]):
            start, end, after = (one.inner_text() for one in parts.nth(i).locator("span").all())
            assert start + end == name
            assert float(after.removeprefix(" = ").replace("\u2212", "-")) == pytest.approx(
                values[name], rel=0.01
            )
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        button = page.get_by_role("button", name="Full names")
        button.focus()
        button.press("Enter")
        expect(button).to_have_attribute("aria-pressed", "true")
        hidden = page.evaluate(
            """() => [...document.querySelectorAll(".name > span")].filter((one) =>
                 one.checkVisibility() && one.scrollWidth > one.clientWidth + 1
                 && getComputedStyle(one).overflow === "hidden"
                 && getComputedStyle(one).display !== "inline").length"""
        )
        assert hidden == 0
        assert not cut(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        photographed(page, f"names-{width}")
        assert not faults


def test_without_long_names_there_is_nothing_to_show_whole(browser: Browser) -> None:
    run = Run()
    with replaying() as server, opened(browser, server.address) as (page, _):
        shown(server, page, run.frame(100))
        assert not page.locator("#names").is_visible()


@pytest.mark.parametrize(
    ("names", "ordered"),
    [
        (["0", "2", "9", "10", "8", "-3", "1.5"], ["-3", "0", "1.5", "2", "8", "9", "10"]),
        (["class 10", "class 9", "b", "a"], ["a", "b", "class 9", "class 10"]),
    ],
)
def test_classes_are_in_the_order_of_their_names(
    browser: Browser, names: list[str], ordered: list[str]
) -> None:
    run = Run(names)
    with replaying() as server, opened(browser, server.address) as (page, _):
        frame = run.frame(100)
        shown(server, page, frame)
        for where in ("#matrix tbody th", "#classes tbody th", "#map-classes li"):
            assert page.locator(where).all_inner_texts() == ordered, where
        assert page.locator("#matrix thead th").all_inner_texts()[1:] == ordered
        table = frame["confusion"]["table"]
        for i, name in enumerate(ordered):
            row = table[names.index(name)]
            cells = page.locator("#matrix tbody tr").nth(i).locator("td").all_inner_texts()
            assert [int(cell) for cell in cells] == [row[names.index(other)] for other in ordered]
        frame = run.frame(102)
        frame["confusion"]["classes"] = [*names[:-1], "(others)"]
        frame["confusion"]["others"] = 7
        shown(server, page, frame)
        assert page.locator("#matrix tbody th").last.inner_text() == "(others)"


def test_the_words_are_those_of_the_field_and_of_metrics(browser: Browser) -> None:
    records = rows(300)
    late = [{"id": one["id"], "label": one.pop("label")} for one in records[200:]]
    source = Fed(records, key="id")
    with live(source=source, labels=Fed(late, key="id"), waiting=Waiting(1_000)) as real:
        real.until(lambda frame: frame["scores"] and frame["labels"]["matched"])
        exported = real.get("/metrics").text
    run = Run(late=True)
    with replaying(run.history(250)) as server, opened(browser, server.address) as (page, _):
        shown(server, page, run.frame(250))
        text = page.locator("body").inner_text()
        for word in ("Confusion matrix", "Lag", "Rejected", "p50", "p95", "p99", "Events"):
            assert word in text, word
        told = page.locator("#accuracy .legend button > span:nth-child(2)").all_inner_texts()
        for word in told[:5]:
            assert f'kind="{word.replace(" ", "_")}"' in exported, word
        facts = page.locator("#label-facts dt").all_inner_texts()
        for fact in facts[1:]:
            assert f'outcome="{fact.lower()}"' in exported, fact


def test_what_can_never_be_filled_is_not_shown(browser: Browser) -> None:
    run = Run()
    with replaying(run.history(20)) as server, opened(browser, server.address) as (page, _):
        frame = run.frame(20, lag=None, checkpoint=None)
        frame |= {"lag": None, "labels": None}
        frame["status"] |= {"late": 0, "gave_up": 0, "waited": 0.0}
        frame["model"] |= {"map": None, "whys": []}
        shown(server, page, frame)
        for hidden in ("#lag", "#labels", "#rejected", "#map", "#why", "#ask"):
            assert not page.locator(hidden).is_visible(), hidden
        facts = page.locator("#glance dt").all_inner_texts()
        assert facts == ["Accuracy", "Records", "Rate", "Rejected", "Drift alarms", "Features"]
        shown(server, page, run.frame(400))
        for there in ("#lag", "#rejected", "#map", "#why", "#ask"):
            assert page.locator(there).is_visible(), there
        assert {"Lag", "Checkpoint"} <= set(page.locator("#glance dt").all_inner_texts())


def steady(run: Run, accuracies: list[float]) -> dict[str, Any]:
    """Return a history whose windowed and fading accuracy are these, after a beginning."""
    history = run.history(len(accuracies))
    for name, lag in (
        ("windowed", 0.0),
        ("estimated", 0.001),
        ("fading", 0.002),
        ("cumulative", 0.004),
    ):
        history["points"][name] = [one - lag for one in accuracies]
    return history


def box(found: Locator) -> dict[str, float]:
    told = found.bounding_box()
    assert told is not None
    return {"x": told["x"], "y": told["y"], "width": told["width"], "height": told["height"]}


@pytest.mark.parametrize("fallen", [0.02, 0.6])
def test_a_fall_is_seen_whatever_the_baselines_are(browser: Browser, fallen: float) -> None:
    run = Run()
    beginning = [0.5 + 0.023 * i for i in range(20)]
    accuracies = [*beginning, *[0.966] * 460, *[0.966 - fallen] * 20]
    with (
        replaying(steady(run, accuracies)) as server,
        opened(browser, server.address) as (page, _),
    ):
        frame = run.frame(500)
        frame["point"]["windowed"] = frame["point"]["estimated"] = accuracies[-1]
        frame["point"]["fading"] = frame["point"]["cumulative"] = accuracies[-1]
        shown(server, page, frame)
        chart = page.locator("#accuracy .chart")
        low, high = map(float, (chart.get_attribute("data-axis") or "").split())
        assert low < 0.966 - fallen
        assert high >= 0.966
        height = box(chart.locator(".u-over"))["height"]
        assert height * fallen / (high - low) > 50, "pixels"
        # What the axis leaves out is told.
        below = page.locator("#accuracy .legend button", has_text="majority").inner_text()
        assert ("\u2193" in below) == (low > 0.52)


def test_events_stand_beside_the_accuracy(browser: Browser) -> None:
    run = Run()
    with replaying(run.history(400)) as server, opened(browser, server.address) as (page, _):
        shown(server, page, run.frame(400))
        accuracy, events = box(page.locator("#accuracy")), box(page.locator("#log"))
        assert accuracy["y"] == events["y"]
        assert events["x"] > accuracy["x"] + accuracy["width"]
        assert accuracy["height"] == events["height"], "no longer than the chart, however many"


@pytest.mark.parametrize("dark", [False, True])
def test_lines_can_be_told_apart(browser: Browser, dark: bool) -> None:
    run = Run()
    with (
        replaying(run.history(100)) as server,
        opened(browser, server.address, dark=dark) as (page, _),
    ):
        shown(server, page, run.frame(100))
        looks = page.evaluate(
            """() => [...document.querySelectorAll("#accuracy .legend .dash")].slice(0, 3)
               .map((one) => getComputedStyle(one).borderTopColor.match(/\\d+/g).map(Number))"""
        )
        for one, other in combinations(looks, 2):
            assert sum((a - b) ** 2 for a, b in zip(one, other, strict=True)) ** 0.5 > 60
        kappa = page.locator("#accuracy .legend button", has_text="kappa")
        assert "off" in kappa.inner_text()
        assert "line-through" not in kappa.evaluate(
            "(node) => getComputedStyle(node.children[1]).textDecorationLine"
        )


@pytest.mark.parametrize(
    ("accuracy", "state", "why"),
    [
        (0.966, "", "majority baseline 52.0%"),
        (0.80, "warn", "below its mean, 92.0%"),
        (0.45, "bad", "below the majority baseline, 52.0%"),
        (0.53, "bad", "below the no-change baseline, 55.0%"),
    ],
)
def test_the_accuracy_says_whether_it_is_good(
    browser: Browser, accuracy: float, state: str, why: str
) -> None:
    run = Run()
    with replaying() as server, opened(browser, server.address) as (page, _):
        frame = run.frame(300)
        frame["scores"]["windowed"] |= {"accuracy": accuracy, "majority": 0.52, "no_change": 0.55}
        frame["scores"]["cumulative"]["accuracy"] = 0.92
        shown(server, page, frame)
        fact = page.locator('#glance [data-fact="Accuracy"]')
        assert (fact.get_attribute("class") or "").split() == ["lead", *state.split()]
        assert why in fact.inner_text()


def test_a_table_that_scrolls_has_a_shadow_where_it_goes_on(browser: Browser) -> None:
    run = Run([f"c{i}" for i in range(20)])
    with (
        replaying(run.history(50)) as server,
        opened(browser, server.address, width=375) as (page, _),
    ):
        shown(server, page, run.frame(50))
        region = page.locator(".scroll:has(#scores)")
        assert region.evaluate("(node) => node.scrollWidth > node.clientWidth")

        def edges() -> list[int]:
            with Image.open(io.BytesIO(region.screenshot())) as picture:
                grey = picture.convert("L")
                # The lightest of a column: text and lines are darker than the ground anywhere.
                columns = (grey.crop((x, 4, x + 1, grey.height - 4)) for x in (0, grey.width - 1))
                return [int(np.asarray(column).max()) for column in columns]

        left, right = edges()
        assert left >= 250
        assert right < 235
        region.evaluate("(node) => { node.scrollLeft = node.scrollWidth; }")
        left, right = edges()
        assert left < 235
        assert right >= 250
