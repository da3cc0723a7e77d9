"""The page of a run over names, numbers and times, in a real browser: payments, and who steals."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from stream_llsvm import CommitteeClassifier
from stream_llsvm.streams.payments import payments
from tests.dashboard.browser import chromium, opened, photographed
from tests.dashboard.live import Live, live
from tests.dashboard.test_explanations import check_sum
from tests.dashboard.test_page_ask import posted

_SLOW = 200_000  # kernels may have to be compiled
FIELDS = ["time", "user", "country", "device", "merchant", "amount", "member"]
RECORDS = [
    {"id": i, **x, "label": y} for i, (x, y) in enumerate(islice(payments(4, 2_000, 2_000), 2_000))
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as started:
        yield started


@pytest.fixture(scope="module")
def run() -> Iterator[Live]:
    """Return a run that has learned all of its records."""
    with live(RECORDS, CommitteeClassifier()) as running:
        running.until(lambda frame: frame["status"]["records"] == len(RECORDS))
        running.until(lambda frame: frame["model"] and frame["model"]["whys"])
        yield running


def stolen() -> dict[str, Any]:
    """Return one of the last payments that the ring made."""
    found = next(one for one in reversed(RECORDS) if one["label"] == "yes" and one["amount"] < 100)
    return {name: found[name] for name in FIELDS}


@pytest.mark.parametrize(("width", "dark"), [(1440, False), (375, True)])
def test_the_page_speaks_of_fields(browser: Browser, run: Live, width: int, dark: bool) -> None:
    with opened(browser, run.page.address, width=width, dark=dark) as (page, faults):
        expect(page.locator("#why-list button").first).to_be_visible(timeout=_SLOW)
        parts = page.locator("#why-told .both tbody th")
        told = parts.all_inner_texts()
        for field in ("country", "device", "merchant", "user"):
            assert any(re.match(rf"{field}\s* = \S", one) for one in told), told
        assert any(re.search(r"time\s* = 2026-01-\d\dT", one) for one in told)
        kinds = page.locator("#kinds tbody tr").all_inner_texts()
        assert [row.split()[0] for row in kinds] == FIELDS
        assert "time" in kinds[0].split()[1:] and "such as" in kinds[2] and "14" in kinds[2].split()
        relevance = page.locator("#relevance tbody th").all_inner_texts()
        assert sorted(one.strip() for one in relevance) == sorted(FIELDS)
        assert page.locator('#glance [data-fact="Features"] .big').inner_text() == "7"
        # The form takes texts: a payment as the ring makes them is told by what it says together.
        inputs = page.locator("#ask-fields label")
        expect(inputs).to_have_count(7)
        record = stolen()
        for i in range(7):
            label = inputs.nth(i)
            label.locator("input").fill(str(record[label.locator("span").inner_text()]))
        with page.expect_response("**/api/explain") as reply:
            page.get_by_role("button", name="Explain").click()
        assert posted(reply.value) == record
        proba = run.engine.model.predict_proba_one(record)
        expect(page.locator("#ask-told h3")).to_have_text(max(proba, key=proba.__getitem__))
        contexts = page.locator("#ask-told .contexts tbody tr").all_inner_texts()
        pair = f"country={record['country']}, device={record['device']}"
        (together,) = (row for row in contexts if row.startswith(f"{pair}\t"))
        assert re.search(r"\t\d+ of \d+ yes\t\+\d", together), together
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        photographed(page, f"named-{width}")
        assert not faults


def test_a_why_lists_what_fields_say_together(run: Live) -> None:
    record = stolen()
    why = run.post("/api/explain", {"record": record, "label": "yes"}).json()
    check_sum(why)
    assert sorted(name for name, _ in why["contributions"]) == sorted(FIELDS)
    expected = run.engine.model.explain_one(record, "yes").contexts
    assert len(why["contexts"]) == 6 <= len(expected)
    for told, context in zip(why["contexts"], expected, strict=False):
        assert dict(told["counts"]) == context.counts
        assert told["part"] == pytest.approx(context.contribution, rel=1e-3)
        names = [name for name, _ in told["values"]]
        assert sorted(names) == sorted(map(str, context.values))
        # As they stand in the record, and the parts of a time where the time is.
        places = [FIELDS.index(name if name in FIELDS else name.split()[0]) for name in names]
        assert places == sorted(places)
        for name, value in told["values"]:
            if name in ("country", "device", "merchant", "user", "member"):
                assert value == record[name]
            elif name == "time weekday":
                assert value in ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
            elif name == "time hour":
                assert re.fullmatch(r"(above |below )?\d+:\d\d( to \d+:\d\d)?", value), value


def test_records_are_sent_whole_and_taken_again(run: Live) -> None:
    shown = run.snapshot()["model"]["whys"][0]
    values = dict(run.get(f"/api/records/{shown['record']}").json()["values"])
    came = RECORDS[shown["record"] - 1]
    assert values == {k: came[k] for k in FIELDS}
    sent, own = (
        run.post("/api/predict", {"records": [x]}).json()["predictions"][0]
        for x in (values, {k: came[k] for k in FIELDS})
    )
    assert sent == own and sent["known_features"] == 7


def test_objects_and_words_are_taken(run: Live) -> None:
    record = stolen() | {
        "more": {"a": 1, "note": "never seen before by anybody"},
        "tags": ["x", "y"],
    }
    told = run.post("/api/predict", {"records": [record]}).json()["predictions"][0]
    assert (
        told["proba"]
        == run.post("/api/predict", {"records": [stolen()]}).json()["predictions"][0]["proba"]
    )
    assert sorted(told["unknown_features"]) == ["more.a", "more.note", "tags"]
    deep: Any = 1
    for _ in range(50):
        deep = {"a": deep}
    assert run.post("/api/predict", {"records": [{"a": deep}]}).status_code in (200, 400)
