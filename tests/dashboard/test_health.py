"""Whether a run lives, and whether it can do its work now: asked of a real run, without a token."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from stream_llsvm import Engine, LLSVMClassifier
from stream_llsvm.connectors import FileSource
from stream_llsvm.dashboard.health import SILENT
from stream_llsvm.dashboard.server import Dashboard, DashboardError
from tests.dashboard.live import Fed, Live, live, rows, wait_for


def ready(run: Live) -> tuple[int, dict[str, str]]:
    """Return the status of /readyz, and what it says is missing."""
    answer = run.get("/readyz")
    told = answer.json()
    assert told["ready"] == (answer.status_code == 200) == (not told["not_ready"])
    return answer.status_code, told["not_ready"]


def test_a_run_is_ready_once_it_turns_and_alive_before() -> None:
    source = Fed()
    engine = Engine(source, LLSVMClassifier(n_anchors=12, n_neighbors=4))
    with Dashboard(engine, port=0, token="correct horse battery") as page:
        run = Live(source, page, engine)
        assert ready(run) == (503, {"run": "it is starting"})
        assert run.get("/healthz").status_code == 200
        assert run.get("/metrics").status_code == 401
        run.thread.start()
        try:
            wait_for(lambda: ready(run) == (200, {}))
        finally:
            engine.stop()
            source.over.set()
            run.thread.join()
        assert ready(run) == (503, {"run": "it is over"})
        assert run.get("/healthz").status_code == 200
        run.client.close()


def test_a_source_that_cannot_be_read_is_waited_for() -> None:
    with live(rows(50)) as run:
        wait_for(lambda: ready(run) == (200, {}))
        run.source.trouble = "no broker answers at broker-7.inside"
        wait_for(lambda: ready(run)[0] == 503)
        assert list(ready(run)[1]) == ["source"]
        assert "broker-7" not in run.get("/readyz").text, "whoever asks needs no token"
        assert run.get("/healthz").status_code == 200
        run.source.trouble = ""
        wait_for(lambda: ready(run) == (200, {}))


def test_a_run_that_has_failed_neither_lives_nor_is_ready() -> None:
    with live(rows(50)) as run:
        run.source.failure = RuntimeError("a secret of the disk")
        wait_for(lambda: ready(run)[1] == {"run": "it has failed; the page and the log say why"})
        assert run.get("/healthz").status_code == 503
        assert "secret" not in run.get("/readyz").text


def test_a_loop_that_does_not_turn_is_not_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    with live(rows(50)) as run:
        wait_for(lambda: ready(run) == (200, {}))
        late = run.page.monitor
        monkeypatch.setattr(type(late), "silent_for", property(lambda self: SILENT + 5))
        assert ready(run) == (503, {"run": "its loop has not turned for 15 s"})
        assert run.get("/healthz").status_code == 503


def test_who_is_too_far_behind_is_not_ready() -> None:
    page: dict[str, Any] = {"ready_lag": 100}
    with live(rows(50), page=page) as run:
        unknown = {"lag": "it is not known yet how far the run is behind its source"}
        wait_for(lambda: ready(run) == (503, unknown))
        for behind, wanted in (
            ({"t": {"0": 60, "1": 41}}, {"lag": "101 records behind the source; 100 are allowed"}),
            ({"t": {"0": 60, "1": 40}}, {}),
        ):
            run.source.behind = behind
            wait_for(lambda: ready(run) == (503 if wanted else 200, wanted))  # noqa: B023
        assert run.get("/healthz").status_code == 200
    with live(rows(50)) as run:
        run.source.behind = {"t": {"0": 10**9}}
        wait_for(lambda: run.page.monitor.lag == run.source.behind)
        wait_for(lambda: ready(run) == (200, {}))


def test_a_bound_needs_a_source_that_says_how_far_behind_it_is(tmp_path: Path) -> None:
    data = tmp_path / "some.csv"
    data.write_text("a,label\n1,2\n")
    engine = Engine(FileSource([str(data)], label="label"), LLSVMClassifier())
    with pytest.raises(DashboardError, match=r"some\.csv does not say how far behind it is"):
        Dashboard(engine, port=0, ready_lag=5)
