"""What a run says while it goes on: troubles and their end, and one line only while it is idle."""

from __future__ import annotations

from pathlib import Path

import pytest

from stream_llsvm import Engine, LLSVMClassifier
from stream_llsvm.cli import terminal
from stream_llsvm.cli.log import Alarms, logged, warn
from stream_llsvm.cli.terminal import Watch
from stream_llsvm.connectors import ListSource
from stream_llsvm.connectors.base import Batch
from stream_llsvm.connectors.file.line_writer import LineWriter
from tests.cli.support import wait_for
from tests.engine.test_engine import rows


class Shaky(ListSource):
    """A source that loses what it reads from after its records, until that was noted."""

    trouble = ""
    engine: Engine

    def _noted(self, kind: str) -> bool:
        return any(event["kind"] == kind for event in self.engine.progress.events)

    def poll(self, max_records: int, timeout: float) -> Batch | None:
        """Return the records; then have trouble for a while."""
        batch = super().poll(max_records, timeout)
        if batch is None:
            self.trouble = "" if self._noted("recovering") else "no broker answers; trying again"
        return batch

    @property
    def ended(self) -> bool:
        """Whether all is well again, and that was noted."""
        return self._noted("reconnected")


def test_a_lost_broker_is_told_of_and_so_is_its_return(capsys: pytest.CaptureFixture[str]) -> None:
    source = Shaky(rows(20), "y")
    engine = source.engine = Engine(source, LLSVMClassifier())
    with logged():
        Alarms(engine, "y")
        engine.run()
    said = capsys.readouterr().err.splitlines()
    (lost,) = [line for line in said if "no broker answers" in line]
    (back,) = [line for line in said if "reconnected: after" in line]
    assert " warning: recovering: " in lost and " info: " in back
    assert said.index(lost) < said.index(back)


def test_while_nothing_comes_one_line_says_so(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(terminal, "_LIVE", 0.005)
    monkeypatch.setattr(terminal, "_PLAIN", 0.01)
    engine = Engine(ListSource(rows(20), "y"), LLSVMClassifier())
    turns = 0

    def turn() -> None:
        nonlocal turns
        turns += 1

    class Lines:
        is_terminal = False

    with logged(), Watch(engine, Lines(), turn):  # type: ignore[arg-type]
        engine.run()
        wait_for(lambda: turns > 100)
        before = turns
        wait_for(lambda: turns > before + 100)
    said = [line for line in capsys.readouterr().err.splitlines() if "20 records" in line]
    assert 1 <= len(said) <= 3, "a line for what came, one for the rate that fell to 0, no more"


def test_warnings_of_the_package_are_logged_and_its_news_are_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    writer = LineWriter(tmp_path / "out", on_lost="new")
    with logged():
        writer.truncate(100)
        warn("two\nlines")
    writer.close()
    writer = LineWriter(tmp_path / "other", on_lost="new")
    writer.truncate(100)
    writer.close()
    begun, two = capsys.readouterr().err.splitlines()[:2]
    assert f"Z warning: {tmp_path / 'out'} is not there any more" in begun
    assert two.endswith("Z warning: two lines")
