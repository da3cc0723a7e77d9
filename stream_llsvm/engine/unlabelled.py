"""Notice a run whose records never have a label: most likely its name is misspelled."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stream_llsvm.connectors.base import Batch
from stream_llsvm.engine.learner import Answers

if TYPE_CHECKING:
    from stream_llsvm.engine.engine import Engine

_LOOKED_AT = 100  # records
_LISTED = 12  # fields


class Unlabelled:
    """An observer that notes, once, that none of the first records has a label."""

    def __init__(self) -> None:
        self._seen = 0
        self._fields: list[str] = []
        self._settled = False

    def began(self, engine: Engine) -> None:
        """Look no more if labels come later, or if some have come in an earlier run."""
        self._settled |= engine.late is not None or engine.progress.counts["learned"] > 0

    def took(self, engine: Engine, batch: Batch, answers: Answers, seconds: float) -> None:
        """Look for labels among the first records."""
        if self._settled:
            return
        self._settled = any(label is not None for label in batch.labels)
        self._seen += len(batch)
        if not self._fields:
            self._fields = list(batch.names or map(str, batch.record(0)))
        if self._seen >= _LOOKED_AT:
            self._note(engine)

    def turned(self, engine: Engine) -> None:
        """Do nothing."""

    def ended(self, engine: Engine, error: BaseException | None) -> None:
        """Note it of a stream that was shorter, too."""
        if self._seen:
            self._note(engine)

    def _note(self, engine: Engine) -> None:
        if self._settled:
            return
        self._settled = True
        more = len(self._fields) - _LISTED
        fields = ", ".join(self._fields[:_LISTED]) + (f" and {more} more" if more > 0 else "")
        engine.progress.note(
            "no labels",
            f"none of the first {self._seen:,} records has one, so that nothing is learned: is the "
            f"label's name right? The features are {fields}",
        )
