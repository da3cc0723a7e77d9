"""Asking the model in a real browser, of a real run: what is asked is the whole record."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser, Response, expect

from stream_llsvm import CommitteeClassifier
from stream_llsvm.connectors import message_codec
from stream_llsvm.connectors.base import Batch
from tests.dashboard.browser import chromium, opened, photographed
from tests.dashboard.live import Fed, live

_SLOW = 120_000  # kernels may have to be compiled


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as started:
        yield started


def wide(n: int, features: int, named: int) -> list[dict[str, Any]]:
    """Return records that name some of many features; long fractions, and every one counts."""
    rng = np.random.default_rng(0)
    weights = rng.normal(size=features)
    records = []
    for i in range(n):
        columns = np.sort(rng.permutation(features)[:named])
        x = rng.normal(size=named)
        label = "high" if x @ weights[columns] > 0 else "low"
        values = {f"feature {c}": v for c, v in zip(columns.tolist(), x.tolist(), strict=True)}
        records.append({"id": i, **values, "label": label})
    return records


def posted(reply: Response) -> dict[Any, float]:
    """Return the record that was asked about."""
    record: dict[Any, float] = json.loads(reply.request.post_data or "")["record"]
    return record


@pytest.mark.parametrize(("features", "named"), [(120, 120), (300, 50)])
def test_all_features_are_asked_about(browser: Browser, features: int, named: int) -> None:
    records = wide(320, features, named)
    source = Fed(records[:300])
    with (
        live(source=source, model=CommitteeClassifier()) as run,
        opened(browser, run.page.address) as (page, faults),
    ):
        fields = page.locator("#ask-fields input")
        expect(fields).to_have_count(24, timeout=_SLOW)
        expect(page.locator("#ask-rest")).to_contain_text(f"The other {named - 24} features")
        with page.expect_response("**/api/explain") as told:
            page.get_by_role("button", name="Explain").click()
        asked = posted(told.value)
        whole = [{k: v for k, v in x.items() if k not in ("id", "label")} for x in records]
        assert asked in whole, "to the last bit, and nothing is missing"
        # It has learned all there is, and nothing more comes: this is the model that was asked.
        run.until(lambda frame: frame["status"]["records"] == 300)
        proba = run.engine.model.predict_proba_one(asked)
        with page.expect_response("**/api/explain") as told:
            page.get_by_role("button", name="Explain").click()
        answer = told.value.json()
        assert answer["label"] == max(proba, key=proba.__getitem__)
        assert answer["sure"] == pytest.approx(max(proba.values()), rel=1e-4)
        expect(page.locator("#ask-told h3")).to_have_text(answer["label"])
        # Of a feature that is changed the new value is asked, of one that is emptied none.
        name, other = (page.locator("#ask-fields label span").nth(i).inner_text() for i in (0, 1))
        fields.nth(0).fill("1.5")
        fields.nth(1).fill("")
        with page.expect_response("**/api/explain") as told:
            page.get_by_role("button", name="Explain").click()
        changed = posted(told.value)
        rest = {k: v for k, v in asked.items() if k not in (name, other)}
        assert changed == rest | {name: 1.5}
        photographed(page, f"ask-{features}")
        assert not faults
        size = len(run.get("/api/snapshot").json()["model"]["whys"][0]["values"])
        assert size <= 12, "frames do not grow with the features"


class Read(Fed):
    """Records that a codec reads, as those of files and topics."""

    def poll(self, max_records: int, timeout: float) -> Batch | None:
        batch = super().poll(max_records, timeout)
        if batch is None:
            return None
        told = [batch.record(i) | {"label": label} for i, label in enumerate(batch.labels)]
        raws = [json.dumps(one).encode() for one in told]
        return message_codec(label="label").decode(raws, list(batch.places), batch.position)


def test_a_time_is_a_weekday_and_a_time_of_day(browser: Browser) -> None:
    """The model knows no date of it, and a year 1 would be none that anybody means."""
    records = [
        {"id": i, "at": f"2026-03-{2 + i % 7:02}T{i % 24:02}:30:00", "x": i, "label": i % 24 > 11}
        for i in range(200)
    ]
    with (
        live(source=Read(records), model=CommitteeClassifier()) as run,
        opened(browser, run.page.address) as (page, faults),
    ):
        field = page.locator('#ask-fields label:has(span[title="at"]) input')
        expect(field).to_have_value(
            re.compile(r"^(Mon|Tue|Wed|Thu|Fri|Sat|Sun) \d\d:30:00$"), timeout=_SLOW
        )
        told: dict[str, tuple[Any, Any]] = {}
        for given in ("", "thursday 20:15", "2026-03-05T20:15:00", "Sun 8:15"):
            if given:
                field.fill(given)
            with page.expect_response("**/api/explain") as reply:
                page.get_by_role("button", name="Explain").click()
            assert reply.value.status == 200, reply.value.text()
            told[given] = posted(reply.value)["at"], reply.value.json()["score"]
        assert re.fullmatch(r"0001-01-0[1-7]T\d\d:30:00", str(told[""][0]))
        assert told["thursday 20:15"][0] == "0001-01-04T20:15"
        assert told["Sun 8:15"][0] == "0001-01-07T08:15"
        # The same time with its date is the same to the model.
        assert told["thursday 20:15"][1] == told["2026-03-05T20:15:00"][1] != told[""][1]
        assert not faults


def test_a_record_that_is_not_shown_is_not_to_be_had() -> None:
    with live(wide(60, 4, 4), CommitteeClassifier()) as run:
        frame = run.until(lambda frame: frame["model"] and frame["model"]["whys"])
        shown = frame["model"]["whys"][0]
        told = run.get(f"/api/records/{shown['record']}").json()
        assert told["record"] == shown["record"]
        assert [name for name, _ in told["values"]] == [name for name, _ in shown["values"]]
        for number in ("999999", "0", "9" * 40):
            answer = run.get(f"/api/records/{number}")
            assert (answer.status_code, answer.json()) == (
                404,
                {"error": "this record is not shown any more"},
            )
        assert run.get("/api/records/x").status_code == 404
