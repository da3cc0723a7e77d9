"""A score that is added to the list is everywhere: on the page, in /metrics, in tables."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from stream_llsvm.cli.terminal import print_table
from stream_llsvm.cli.top import drawn
from stream_llsvm.engine.scores import SCORES, Score, Totals
from tests.dashboard.browser import chromium, opened
from tests.dashboard.live import live, rows


def gini(totals: Totals) -> float | None:
    """Return how unequal the answers' classes are; the fading view has no table."""
    if totals.table is None:
        return None
    shares = totals.table.sum(axis=0) / totals.table.sum()
    return float(1 - (shares**2).sum())


@pytest.fixture(autouse=True)
def added() -> Iterator[Score]:
    """Add a score for a while."""
    score = Score("gini", "Gini of answers", "0 if all answers are one", gini, chart="line")
    SCORES.append(score)
    yield score
    SCORES.remove(score)


def test_a_new_score_is_on_the_page_and_in_metrics(
    added: Score, capsys: pytest.CaptureFixture[str]
) -> None:
    with live(rows(600, classes=3)) as run, chromium() as browser:
        frame = run.until(lambda frame: frame["status"]["records"] == 600)
        value = frame["scores"]["windowed"]["gini"]
        assert 0.4 < value < 0.7
        assert frame["point"]["gini"] == value
        exported = run.get("/metrics").text
        assert f'stream_llsvm_gini_ratio{{kind="windowed"}} {value}' in exported
        assert f"# HELP stream_llsvm_gini_ratio {added.title}, {added.help}." in exported
        with opened(browser, run.page.address) as (page, faults):
            heads = page.locator("#scores thead th")
            expect(heads.last).to_have_text("Gini of answers")
            assert page.locator("#scores tbody tr").first.locator("td").last.inner_text() == (
                f"{value:.3f}"
            )
            line = page.locator("#accuracy .legend button").last
            assert re.sub(r"\s+", " ", line.inner_text()).startswith(f"gini {100 * value:.1f}%")
            assert not faults
        run.finish()
        report = run.engine.report()
    shown = [str(cell) for cell in drawn(frame).renderables[1].columns[0].cells]  # type: ignore[union-attr]
    assert "Gini of answers, windowed" in shown
    print_table({**report, "records_per_second": 1.0, "checkpoint": None}, 1_000)
    assert re.search(rf"Gini of answers\W+{value:.3f}\W+{value:.3f}", capsys.readouterr().out)
