"""Note when the source has lost what it reads from, and when it has found it again."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from stream_llsvm.connectors.base import Batch, Recovering
from stream_llsvm.engine.learner import Answers

if TYPE_CHECKING:
    from stream_llsvm.engine.engine import Engine


class Recoveries:
    """An observer that notes each trouble of the source once, and its end."""

    def __init__(self) -> None:
        self._since: float | None = None
        self._source: Recovering | None = None

    def began(self, engine: Engine) -> None:
        """Begin without trouble."""
        self._since = None
        # Looked up once: to ask what a protocol asks takes as long as many records.
        self._source = engine.source if isinstance(engine.source, Recovering) else None

    def took(self, engine: Engine, batch: Batch, answers: Answers, seconds: float) -> None:
        """Do nothing: the turn that follows tells all."""

    def turned(self, engine: Engine) -> None:
        """Ask the source."""
        trouble = "" if self._source is None else self._source.trouble
        if trouble and self._since is None:
            self._since = time.monotonic()
            engine.progress.note("recovering", trouble)
        elif self._since is not None and not trouble:
            gone = time.monotonic() - self._since
            self._since = None
            engine.progress.note("reconnected", f"after {gone:,.0f} s")

    def ended(self, engine: Engine, error: BaseException | None) -> None:
        """Do nothing: how it ended is told elsewhere."""
