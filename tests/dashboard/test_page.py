"""The page in a real browser, on frames that are made up: odd names, many classes, no labels."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import orjson
import pytest
from playwright.sync_api import Browser, Page, expect

from stream_llsvm.dashboard.app import static_files
from tests.cli.support import wait_for
from tests.dashboard.browser import chromium, opened, photographed
from tests.dashboard.replay import Replay, replaying
from tests.dashboard.synthetic import HOSTILE, Run


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as started:
        yield started


def shown(server: Replay, page: Page, frame: dict[str, Any]) -> None:
    """Send a frame and wait until the page has drawn it."""
    wait_for(lambda: server.listeners() > 0)
    server.send(frame)
    expect(page.locator(f'body[data-frame="{frame["id"]}"]')).to_be_attached()


def fact(page: Page, name: str) -> str:
    return page.locator(f'#glance [data-fact="{name}"] .big').inner_text()


def fits(page: Page) -> bool:
    """Whether nothing sticks out to the right."""
    wide: bool = page.evaluate(
        "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
    )
    return wide


def test_a_week_is_shown_over_time_with_what_happened(browser: Browser) -> None:
    """Points of an hour each, as a history has them, across a restart that began anew."""
    run, hours = Run(), 24 * 8
    history = run.history(hours)
    for i in range(hours):
        history["points"]["time"][i] = run.time(400) - 3_600.0 * (hours - i)
        history["points"]["records"][i] = 1_000 * (i % 100)
    frame, chart = run.frame(400), "#accuracy .chart"
    frame["events"] += [
        {"id": 10_000 + j, "time": run.time(400) - ago, "record": 7, "kind": kind, "text": "so"}
        for j, (kind, ago) in enumerate([("promoted", 200_000), ("better", 300), ("drift", 7e5)])
    ]
    with replaying(history) as server, opened(browser, server.address) as (page, faults):
        shown(server, page, frame)
        place = page.locator(chart)
        assert int(place.get_attribute("data-points") or 0) < 100  # a run that began anew
        page.get_by_role("button", name="Last week").click()
        expect(place).to_have_attribute("data-points", str(24 * 7 + 1))
        expect(place).to_have_attribute("data-promoted", "1")
        expect(place).to_have_attribute("data-drift", "1")  # the run's own; the other is older
        times = page.locator("#events time").all_inner_texts()
        assert times[-1] == "10 Nov" and times[0].count(":") == 2
        photographed(page, "week")
        page.get_by_role("button", name="Last day").click()
        expect(place).to_have_attribute("data-points", "25")
        expect(place).to_have_attribute("data-promoted", "0")
        page.set_viewport_size({"width": 375, "height": 900})
        assert fits(page)
        photographed(page, "week-narrow")
        assert not faults
    with replaying(run.history(100)) as server, opened(browser, server.address) as (page, _):
        shown(server, page, run.frame(100))
        expect(page.locator("[data-range=minute]")).to_be_visible()
        expect(page.locator("[data-range=week]")).not_to_be_visible()
        expect(page.locator("[data-range=day]")).not_to_be_visible()


def test_all_files_together_are_small() -> None:
    assert sum(len(file.content) for file in static_files().values()) < 260_000


def test_a_run_with_all_that_can_be_shown(browser: Browser) -> None:
    run = Run(late=True)
    with replaying(run.history(400)) as server, opened(browser, server.address) as (page, faults):
        shown(server, page, run.frame(400))
        assert fact(page, "Records") == "40,000"
        assert page.locator("#source").inner_text() == "bananas"
        expect(page.locator("#state-word")).to_have_text("Running")
        assert page.locator(".panel.empty:visible").count() == 0
        assert page.locator("#matrix tbody tr").count() == 2
        assert page.locator("#mixture tbody tr").count() == 6
        assert page.locator("#ground").get_attribute("data-anchors") == "30"
        chart = page.locator("#accuracy .chart")
        assert chart.get_attribute("data-drift") == "1"
        assert chart.get_attribute("data-checkpoint") == "3"
        assert int(chart.get_attribute("data-points") or 0) == 401
        page.get_by_role("button", name="Last minute").click()
        expect(chart).to_have_attribute("data-points", "241")
        page.get_by_role("button", name="Last 10,000 records").click()
        expect(chart).to_have_attribute("data-points", "101")
        photographed(page, "all")
        assert not faults


@pytest.mark.parametrize(
    ("width", "dark"), [(1440, False), (1440, True), (375, False), (375, True)]
)
def test_wide_and_narrow_light_and_dark(browser: Browser, width: int, dark: bool) -> None:
    run = Run(late=True)
    with (
        replaying(run.history(300)) as server,
        opened(browser, server.address, width=width, dark=dark) as (page, faults),
    ):
        shown(server, page, run.frame(300))
        assert fits(page)
        ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert ground == ("rgb(14, 17, 22)" if dark else "rgb(244, 245, 247)")
        photographed(page, f"{width}-{'dark' if dark else 'light'}")
        page.locator("#theme").click()
        page.locator("#theme").click()
        expect(page.locator("html")).to_have_attribute("data-theme", "dark")
        assert not faults


@pytest.mark.parametrize("width", [1440, 375])
def test_names_are_only_text(browser: Browser, width: int) -> None:
    run = Run(classes=HOSTILE, features=HOSTILE, members=HOSTILE)
    with (
        replaying(run.history(250)) as server,
        opened(browser, server.address, width=width) as (page, faults),
    ):
        named = {
            "source": HOSTILE[0],
            "model": HOSTILE[1],
            "state": "recovering",
            "text": HOSTILE[2],
        }
        frame = run.frame(250, reasons={name: 1 for name in HOSTILE}, **named)
        frame["events"] = [
            {"id": i, "time": run.time(i), "record": i, "kind": name, "text": name}
            for i, name in enumerate(HOSTILE)
        ]
        frame["dead_letters"] = [{"place": n, "reason": n, "detail": n} for n in HOSTILE]
        frame["lag"] = {name: 1 for name in HOSTILE}
        shown(server, page, frame)
        assert page.locator("#source").inner_text() == HOSTILE[0][-36:]
        page.locator("#why-list button").nth(1).click()
        page.locator("#ground").press("ArrowRight")
        expect(page.locator("#anchor-told h3")).to_contain_text("Anchor")
        assert page.evaluate("window.hacked") is None
        assert page.locator("img").count() == 0
        assert page.locator("main script").count() == 0
        assert fits(page)
        photographed(page, f"hostile-{width}")
        assert not faults


def test_many_classes_and_features(browser: Browser) -> None:
    letters = [chr(ord("A") + i) for i in range(26)]
    run = Run(letters, [f"pixel{i}" for i in range(784)], plane="projection")
    with replaying(run.history(200)) as server, opened(browser, server.address) as (page, faults):
        shown(server, page, run.frame(200))
        assert page.locator("#matrix tbody tr").count() == 26
        assert page.locator("#matrix tbody tr").first.locator("td").count() == 26
        assert page.locator("#relevance tbody tr").count() == 30
        assert page.locator("#ask-fields input").count() == 24
        expect(page.locator("#ask-rest")).to_contain_text("other 16 features")
        page.get_by_role("button", name="% of row").click()
        expect(page.locator("#matrix tbody td").first).to_contain_text("%")
        assert fits(page)
        photographed(page, "many")
        assert not faults


@pytest.mark.parametrize("classes", [[], ["only"]])
def test_few_classes(browser: Browser, classes: list[str]) -> None:
    run = Run(classes=classes, features=["x"], members=["anchors:30"], plane="value")
    with replaying(run.history(50)) as server, opened(browser, server.address) as (page, faults):
        shown(server, page, run.frame(50))
        expect(page.locator("#members-alone")).to_contain_text("it decides alone")
        assert page.locator("#matrix tbody tr").count() == len(classes)
        assert not faults


def test_without_labels_each_panel_says_what_it_waits_for(browser: Browser) -> None:
    run = Run(labelled=False, classes=[])
    with replaying() as server, opened(browser, server.address) as (page, faults):
        expect(page.locator("#state-word")).to_have_text("Connecting")
        shown(server, page, run.frame(8, lag=None))
        for panel in ("accuracy", "confusion", "map", "why", "members"):
            assert page.locator(f"#{panel} > .none").is_visible(), panel
            assert not page.locator(f"#{panel} > .body").is_visible(), panel
        expect(page.locator("#accuracy")).to_contain_text("No label has come yet")
        photographed(page, "unlabelled")
        assert not faults


def test_the_steps_of_a_member_over_time(browser: Browser) -> None:
    run = Run()
    with replaying(run.history(200)) as server, opened(browser, server.address) as (page, faults):
        shown(server, page, run.frame(200))
        chart, legend = page.locator("#members-chart"), page.locator("#steps-legend")
        expect(chart).to_have_attribute("data-points", "201")
        assert not legend.is_visible()
        choice = page.get_by_label("Weights over time")
        choice.select_option(label=f"Steps of {run.members[1]}")
        expect(legend.locator("button")).to_have_count(2)
        expect(chart.locator("canvas")).to_have_count(1)
        share = run.point(200)["steps"][1]
        told = legend.locator("output").all_inner_texts()
        assert told == [f"{100 * share[0]:.1f}%", f"{100 * share[1]:.1f}%"]
        assert "of anchors:30 over time" in (chart.get_attribute("aria-label") or "")
        choice.select_option(label="Members")
        expect(legend).not_to_be_visible()
        expect(chart.locator("canvas")).to_have_count(1)
        photographed(page, "steps")
        assert not faults


def test_a_new_class_is_marked(browser: Browser) -> None:
    run = Run(["old", "young"])
    with replaying() as server, opened(browser, server.address) as (page, _):
        frame = run.frame(100)
        frame["confusion"]["since"] = [0, 9_500]
        shown(server, page, frame)
        assert page.locator("#classes tbody th").nth(1).text_content() == "young (new)"
        assert "new" not in page.locator("#classes tbody tr").nth(0).inner_text()


def test_the_state_is_told_in_words(browser: Browser) -> None:
    run = Run()
    with replaying() as server, opened(browser, server.address) as (page, _):
        words = [
            ("compiling", "Compiling kernels"),
            ("waiting", "Waiting for records"),
            ("recovering", "Recovering"),
            ("stopped", "Stopped"),
            ("failed", "Failed"),
        ]
        for i, (state, word) in enumerate(words):
            shown(server, page, run.frame(10 + i, state=state, text="the disk is full"))
            expect(page.locator("#state-word")).to_have_text(word)
            assert page.locator("#trouble").is_visible() == (
                state in ("compiling", "recovering", "failed")
            )
        expect(page.locator("#trouble")).to_contain_text("The run failed: the disk is full")
        expect(page.locator("#state-word")).to_have_attribute("role", "status")


def test_a_lost_connection_is_told_and_made_anew(browser: Browser) -> None:
    run = Run()
    with replaying(run.history(100)) as server, opened(browser, server.address) as (page, _):
        shown(server, page, run.frame(100))
        assert server.resumed == ["99"]
        server.cut()
        expect(page.locator("#state-word")).to_have_text("Connection lost")
        expect(page.locator("#trouble")).to_contain_text("The connection to the run was lost at")
        wait_for(lambda: server.resumed == ["99", "100"])
        missed = {"points": [run.point(i) for i in range(101, 120)], "events": run.events(119)}
        server.send(missed, "missed")
        shown(server, page, run.frame(120))
        expect(page.locator("#state-word")).to_have_text("Running")
        expect(page.locator("body")).to_have_attribute("data-points", "121")


def test_a_prediction_leads_to_its_anchors(browser: Browser) -> None:
    run = Run()
    with replaying() as server, opened(browser, server.address) as (page, faults):
        shown(server, page, run.frame(100))
        second = page.locator("#why-list button").nth(1)
        second.focus()
        second.press("Enter")
        expect(second).to_have_attribute("aria-pressed", "true")
        expect(page.locator("#ground")).to_have_attribute("data-lit", "2")
        place = second.locator(".place").inner_text()
        shown(server, page, run.frame(102))
        assert page.locator("#why-list button").nth(1).locator(".place").inner_text() == place
        second.press("Enter")
        expect(page.locator("#ground")).to_have_attribute("data-lit", "0")
        assert not faults


def test_an_anchor_is_told_of_by_pointer_and_keys(browser: Browser) -> None:
    run = Run()
    with replaying() as server, opened(browser, server.address) as (page, _):
        shown(server, page, run.frame(100))
        ground = page.locator("#ground")
        ground.focus()
        told = page.locator("#anchor-told h3")
        seen = {told.inner_text()}
        for _ in range(30):
            before = told.inner_text()
            ground.press("ArrowRight")
            expect(told).not_to_have_text(before)
            seen.add(told.inner_text())
        assert len(seen) == 31, "none twice: before the first, the heading says how many there are"
        assert page.locator("#anchor-told tbody tr").count() == 2
        ground.press("Escape")
        expect(page.locator("#anchor-told h3")).to_have_text("30 anchors")


def test_asking_the_model(browser: Browser) -> None:
    run = Run()
    with replaying() as server, opened(browser, server.address) as (page, _):
        shown(server, page, run.frame(100))
        fields = page.locator("#ask-fields input")
        fields.nth(0).fill("1.5")
        fields.nth(1).fill("")
        page.get_by_role("button", name="Explain").click()
        expect(page.locator("#ask-trouble")).to_have_text("No answer: nothing learned yet")
        assert server.asked == [{"record": {"x": 1.5}}]
        server.answer = (200, run.model(100)["whys"][0] | {"label": "from afar", "truth": None})
        page.get_by_role("button", name="Explain").click()
        expect(page.locator("#ask-told h3")).to_have_text("from afar")
        expect(page.locator("#ask-trouble")).not_to_be_visible()


def test_points_are_bounded_and_cover_the_run(browser: Browser) -> None:
    with replaying() as server, opened(browser, server.address) as (page, _):
        told = page.evaluate(
            """async () => {
              const { Points } = await import("page/points.js");
              const points = new Points();
              for (let i = 0; i < 50000; i++) {
                // In the middle the run waits for a day.
                const time = i / 4 + (i > 25000 ? 86400 : 0);
                points.add({ time, records: i, members: [i, -i] });
              }
              points.add({ time: 0, records: 0 });
              const records = [...points.columns.get("records").subarray(0, points.length)];
              const members = [...points.members[1].subarray(0, points.length)];
              return { records, members, all: points.view("all").places.length,
                       late: points.view("records").x[0] };
            }"""
        )
    records = told["records"]
    assert 1_500 < len(records) <= 4_000
    assert records == sorted(set(records))
    assert records[0] == 0
    assert records[-1_000:] == list(range(49_000, 50_000))
    gaps = [b - a for a, b in pairwise(records)]
    assert max(gaps) <= 64
    assert told["members"] == [-n for n in records]
    assert 400 <= told["all"] <= 801
    assert 39_999 <= told["late"] <= 40_064


def test_memory_stays_flat_over_ten_thousand_frames(browser: Browser) -> None:
    run = Run()
    frames = [run.frame(i) for i in range(300)]
    with replaying() as server, opened(browser, server.address) as (page, faults):
        session = page.context.new_cdp_session(page)
        server.dumps = lambda frame: orjson.dumps(frame).decode()

        def replayed(begin: int, end: int) -> float:
            for i in range(begin, end):
                frame = frames[i % 300]
                time, n = run.time(i), 100 * i
                server.send(
                    frame
                    | {
                        "id": i,
                        "time": time,
                        "point": frame["point"] | {"time": time, "records": n},
                        "events": [
                            {"id": i, "time": time, "record": n, "kind": "drift", "text": "x"}
                        ],
                    }
                )
            page.locator(f'body[data-frame="{end - 1}"]').wait_for(
                state="attached", timeout=300_000
            )
            # However fast they came: what drawing compiles is compiled before it is weighed.
            page.evaluate(
                """async () => {
                  for (let i = 0; i < 100; i++) {
                    document.dispatchEvent(new Event("themechange"));
                    await new Promise(requestAnimationFrame);
                  }
                }"""
            )
            # What the last picture left behind is not always gone after one round.
            weights = []
            for _ in range(5):
                session.send("HeapProfiler.collectGarbage")
                weights.append(float(session.send("Runtime.getHeapUsage")["usedSize"]))
                page.wait_for_timeout(50)
            return min(weights)

        wait_for(lambda: server.listeners() > 0)
        early = replayed(0, 1_000)
        late = replayed(1_000, 10_000)
        assert late < 1.1 * early, (early, late)
        assert int(page.locator("body").get_attribute("data-points") or 0) <= 4_000
        assert int(page.locator("body").get_attribute("data-frames") or 0) == 10_000
        assert not faults


def test_the_first_paint_is_quick(browser: Browser) -> None:
    run = Run()
    with replaying(run.history(500)) as server, opened(browser, server.address) as (page, _):
        shown(server, page, run.frame(500))
        wait_for(lambda: page.evaluate("performance.getEntriesByType('paint').length"))
        first = page.evaluate("performance.getEntriesByType('paint')[0].startTime")
        assert first < 1_000
