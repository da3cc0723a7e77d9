"""The champion and its challengers on the page: who is better, and one click to promote."""

from __future__ import annotations

import re
from typing import Any

from playwright.sync_api import expect

from stream_llsvm import LLSVMClassifier, PegasosClassifier
from stream_llsvm.engine.checkpoints import Checkpoints
from tests.dashboard.browser import chromium, opened, photographed
from tests.dashboard.live import live, rows


def test_one_click_promotes_the_better_model() -> None:
    better = {"llsvm": LLSVMClassifier()}
    with live(rows(2_000, classes=3), model=PegasosClassifier(), challengers=better) as run:
        frame = run.until(lambda frame: frame["status"]["records"] == 2_000)
        assert frame["challengers"]["champion"] == "original"
        (rival,) = frame["challengers"]["rivals"]
        assert (rival["verdict"], rival["compared"]) == ("better", 1_999)
        exported = run.get("/metrics").text
        assert 'stream_llsvm_challenger_compared{challenger="llsvm"} 1999' in exported
        with (
            chromium() as browser,
            opened(browser, f"{run.page.address}#operate") as (page, faults),
        ):
            first = page.locator("#rivals tbody tr")
            expect(first.nth(1)).to_contain_text("better than the champion")
            expect(first.nth(0)).to_contain_text("original, the champion")
            photographed(page, "challengers")
            page.get_by_role("button", name="Promote llsvm").click()
            expect(page.locator("#rivals-told")).to_have_text(
                re.compile(
                    "^llsvm is the champion at record 2,000, and original learns beside it.$"
                )
            )
            expect(first.nth(0)).to_contain_text("llsvm, the champion")
            expect(first.nth(1)).to_contain_text("undecided")
            expect(page.locator("#incidents")).to_contain_text("llsvm answers from here on")
            assert not faults
        assert run.until(lambda frame: frame["status"]["model"] == "LLSVMClassifier")
        run.source.feed(rows(100, classes=3, seed=1))
        frame = run.until(lambda frame: frame["status"]["records"] == 2_100)
        assert run.post("/api/predict", {"records": [{"x": 1.0, "y": 1.0}]}).status_code == 200
        run.finish()
    assert run.engine.report()["challengers"][0]["name"] == "original"


def test_without_challengers_there_is_no_panel() -> None:
    with live(rows(50)) as run, chromium() as browser:
        assert run.until(lambda f: f["status"]["records"] == 50)["challengers"] is None
        with opened(browser, f"{run.page.address}#operate") as (page, _):
            expect(page.locator("#machine")).to_be_visible()
            expect(page.locator("#challengers")).not_to_be_visible()
        run.finish()


def test_what_changes_a_run_is_guarded(tmp_path: object) -> None:
    kept = Checkpoints(str(tmp_path))
    with live(rows(50), challengers={"second": LLSVMClassifier()}, checkpoints=kept) as run:
        run.until(lambda frame: frame["status"]["records"] == 50)
        for path in ("/api/promote", "/api/checkpoint"):
            elsewhere = run.post(path, {"name": "second"}, headers={"Origin": "http://a.example"})
            assert elsewhere.status_code == 403
            plain = run.client.post(
                path, content='{"name": "x"}', headers={"content-type": "text/plain"}
            )
            assert plain.status_code == 415
            bodies: list[Any] = [{}, {"name": 7}, {"name": "x", "more": 1}, []]
            for body in bodies:
                assert run.post(path, body).status_code == 400
            assert run.get(path).status_code == 405
        nobody = run.post("/api/promote", {"name": "nobody"})
        assert nobody.status_code == 409
        assert nobody.json()["error"] == "there is no challenger nobody: there are second"
        here = run.page.address.rstrip("/")
        named = run.post("/api/checkpoint", {"name": "early"}, headers={"Origin": here})
        assert named.status_code == 200, named.text
        assert named.json()["text"].endswith("is kept as early, at record 50")
        assert list(kept.names()) == ["early"]
        run.finish()
    kept.close()


def test_with_a_token_only_who_has_it_may_promote() -> None:
    second = {"second": LLSVMClassifier()}
    with live(rows(50), challengers=second, token="a long secret") as run:
        run.client.headers["Authorization"] = "Bearer a long secret"
        run.until(lambda frame: frame["status"]["records"] == 50)
        asked = {"name": "second"}
        refused = run.post("/api/promote", asked, headers={"Authorization": "Bearer wrong"})
        assert refused.status_code == 401
        assert run.engine.challengers.champion == "original"
        assert run.post("/api/promote", asked).status_code == 200
        run.finish()
