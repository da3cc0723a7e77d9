"""The page for those who do not see it, or have no pointer: names, keys, text and contrast."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from tests.dashboard.browser import chromium, opened
from tests.dashboard.replay import replaying
from tests.dashboard.synthetic import Run
from tests.dashboard.test_page import shown

CONTROLS = {"button", "combobox", "textbox", "link", "checkbox", "application"}
FRAME = 200


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as started:
        yield started


@pytest.fixture(
    params=[(view, dark) for view in ("watch", "operate") for dark in (False, True)],
    ids=lambda param: f"{param[0]}-{'dark' if param[1] else 'light'}",
)
def page(browser: Browser, request: pytest.FixtureRequest) -> Iterator[Page]:
    """Return a view of the page of a run in which every panel has something to show."""
    run = Run(late=True)
    view, dark = request.param
    with (
        replaying(run.history(FRAME)) as server,
        opened(browser, f"{server.address}/#{view}", dark=dark) as (page, faults),
    ):
        frame = run.frame(FRAME, reasons={"bad number": 3})
        frame["dead_letters"] = [{"place": "a.csv:9", "reason": "bad number", "detail": "x: 'y'"}]
        shown(server, page, frame)
        assert page.locator(".panel.empty:visible").count() == 0
        yield page
        assert not faults


def nodes(page: Page) -> list[dict[str, Any]]:
    """Return what Chromium tells a screen reader."""
    session = page.context.new_cdp_session(page)
    tree: list[dict[str, Any]] = session.send("Accessibility.getFullAXTree")["nodes"]
    return [node for node in tree if not node["ignored"]]


def role(node: dict[str, Any]) -> str:
    return str(node.get("role", {}).get("value", ""))


def name(node: dict[str, Any]) -> str:
    return str(node.get("name", {}).get("value", "")).strip()


def watched(page: Page) -> bool:
    """Whether this is the view for those who watch it learn."""
    view: str = page.evaluate("document.documentElement.dataset.view")
    return view == "watch"


def test_everything_has_a_name(page: Page) -> None:
    tree = nodes(page)
    regions = [name(node) for node in tree if role(node) == "region"]
    headings = page.locator(".panel:visible > header h2").all_inner_texts()
    assert len(headings) >= (9 if watched(page) else 4)
    assert set(headings) <= set(regions)
    assert len(regions) == len(set(regions)), "two regions of one name"
    for kind in CONTROLS | {"img", "image", "table", "group", "region", "status"}:
        found = [node for node in tree if role(node) == kind]
        if kind != "status":  # what is told is its content
            assert all(map(name, found)), (kind, [n for n in found if not name(n)])
    assert sum(role(node) in CONTROLS for node in tree) > (20 if watched(page) else 5)
    assert [name(node) for node in tree if role(node) == "main"] == [""]
    assert sum(role(node) == "status" for node in tree) >= 1


def test_what_is_drawn_is_also_said(page: Page) -> None:
    said = [name(node) for node in nodes(page) if role(node) in ("img", "image")]
    charts = page.locator(".chart:visible").count()
    assert charts >= 4
    assert sum("over time" in one and "lowest" in one for one in said) == charts
    if not watched(page):
        return
    assert charts == 5
    assert {"right", "wrong"} & set(said), "whether an answer was right is more than a sign"
    # The same numbers as in the chart: the newest accuracy is also the first of its table.
    accuracy = next(one for one in said if one.startswith("Accuracy over time"))
    newest = page.locator("#scores tbody td").first.inner_text().rstrip("%")
    assert f"windowed: now {float(newest):.1f}%" in accuracy
    for canvas in page.locator("canvas:visible").all():
        alone = canvas.evaluate(
            "(node) => node.closest('[role=img], [role=application], [aria-hidden=true]') === null"
        )
        assert not alone, "a canvas without a text"


def test_the_keyboard_reaches_all_and_is_seen(page: Page) -> None:
    page.evaluate("() => { document.activeElement.blur(); window.scrollTo(0, 0); }")
    reached = []
    # A browser may also stop at a panel that scrolls, so there may be more stops than controls.
    for _ in range(200):
        page.keyboard.press("Tab")
        told = page.evaluate(FOCUSED)
        if told is None:  # round again
            break
        assert told["seen"], told
        reached.append(told)
    assert told is None, "the keyboard never leaves the page"
    missed = page.evaluate(
        """() => [...document.querySelectorAll("a, button, input, select, [tabindex='0']")]
            .filter((node) => node.checkVisibility() && !node.dataset.reached)
            .map((node) => node.outerHTML)"""
    )
    assert missed == []
    assert len(reached) > (20 if watched(page) else 5)
    assert reached[0]["what"].startswith('<a class="skip"')
    tops = [one["top"] for one in reached[1:]]
    assert tops == sorted(tops), "from one panel to the next, as they are read"


FOCUSED = """
() => {
  const node = document.activeElement;
  if (node === document.body || node.dataset.reached) return null;
  node.dataset.reached = "yes";
  const { outlineStyle, outlineWidth } = getComputedStyle(node);
  const place = node.closest(".panel, header.bar, body").getBoundingClientRect();
  return {
    seen: outlineStyle !== "none" && parseFloat(outlineWidth) >= 2,
    top: scrollY + place.top,
    what: node.outerHTML.slice(0, 80),
  };
}
"""


@pytest.mark.parametrize("state", ["running", "recovering", "stopped", "failed"])
def test_text_can_be_told_from_its_ground(page: Page, state: str) -> None:
    """Hold every text against WCAG's AA: 4.5 to 1, and 3 to 1 where it is large."""
    told = page.evaluate(CONTRASTS, state)
    assert told["texts"] > (300 if watched(page) else 50)
    assert not told["faint"], told["faint"]


CONTRASTS = """
(state) => {
  for (const part of document.querySelectorAll("[data-state]")) {
    part.style.transition = "none";
    part.dataset.state = state;
    part.hidden = false;
    part.textContent ||= state;
  }
  const pen = Object.assign(document.createElement("canvas"), { width: 1, height: 1 })
    .getContext("2d", { willReadFrequently: true });
  // Whatever way a colour is written, a pixel of it is four numbers.
  const rgba = (text) => {
    pen.clearRect(0, 0, 1, 1);
    pen.fillStyle = text;
    pen.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = pen.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const over = (top, below) => [0, 1, 2].map((i) => top[i] * top[3] + below[i] * (1 - top[3]));
  const parents = (node) => (node ? [node, ...parents(node.parentElement)] : []);
  const ground = (node) => parents(node)
    .map((one) => rgba(getComputedStyle(one).backgroundColor))
    .reduceRight((below, layer) => over(layer, below), [255, 255, 255]);
  const opacity = (node) => parents(node)
    .reduce((all, one) => all * Number(getComputedStyle(one).opacity), 1);
  const linear = (v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  const light = ([r, g, b]) =>
    0.2126 * linear(r / 255) + 0.7152 * linear(g / 255) + 0.0722 * linear(b / 255);
  const faint = new Set();
  let texts = 0;
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const node = walk.currentNode.parentElement;
    const text = walk.currentNode.data.trim();
    if (!text || !node.checkVisibility() || node.closest("noscript")) continue;
    const { color, fontSize, fontWeight } = getComputedStyle(node);
    const below = ground(node);
    const ink = rgba(color);
    ink[3] *= opacity(node);
    const [a, b] = [light(over(ink, below)), light(below)].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    const size = parseFloat(fontSize);
    const large = size >= 24 || (size >= 18.66 && Number(fontWeight) >= 700);
    texts += 1;
    if (ratio >= (large ? 3 : 4.5)) continue;
    const where = `${node.tagName}.${node.className} in ${node.closest("[id]").id}`;
    faint.add(`${ratio.toFixed(2)} ${where}: ${text.slice(0, 30)}`);
  }
  return { texts, faint: [...faint] };
}
"""
