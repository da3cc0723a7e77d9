"""The state of a model of numbers: as any model's, run by a kernel of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.kernels.run import SEEN
from stream_llsvm.kernels.run_numbers import NUMBERS_TAKES, run_numbers
from stream_llsvm.kernels.scaling import CENTRE, COUNT, INVERSE
from stream_llsvm.members.pooling import Units
from stream_llsvm.model.pool_scales import pooled
from stream_llsvm.model.state import ModelState
from stream_llsvm.records.rows import Row

Array = NDArray[np.float64]


class NumberState(ModelState):
    """State, scratch and plan of a regressor; the last of its members is ``Numbers``."""

    _entry = staticmethod(run_numbers)
    _takes = NUMBERS_TAKES
    _made_again = ModelState._made_again | {"_no_target", "_one_target", "_one_answer"}

    def _make_scratch(self) -> None:
        super()._make_scratch()
        # What is only asked has an array of its own, which nothing is ever written into.
        self._no_target = np.full(1, np.nan)
        self._one_target = np.zeros(1)
        self._one_answer = np.zeros((1, 1))

    @property
    def numbers(self) -> dict[str, NDArray[Any]]:
        """What is known of the target and of the experts."""
        return self.views(len(self.members))

    @property
    def spread(self) -> float:
        """How many of the target's units a score of 1 is."""
        target = self.numbers["target"][0]
        if not self.standardize or target[COUNT] == 0:
            return 1.0
        return float(1 / target[INVERSE]) if target[INVERSE] > 0 else 0.0

    def answer(self, row: Row, targets: Array, importance: Array, answers: Array) -> None:
        """Fill answers, (rows, 1), and learn each row whose target is not NaN."""
        if not self._ready:
            self._get_ready()
        run_numbers(
            self.state,
            self.scratch,
            self.plan,
            row.values.reshape(-1),
            row.columns,
            row.starts,
            targets,
            importance,
            answers,
        )

    def answer_one(self, row: Row, target: float | None = None, importance: float = 1.0) -> float:
        """Return the answer to a single row, and learn its target if there is one."""
        if row is not self._last_row:
            self._prepare_calls(row, keep=False)
        if target is None:
            run_numbers(*self._asked)
        else:
            self._one_target[0] = target
            self._importance[0] = importance
            run_numbers(*self._taught)
        return self._one_answer.item()

    def _prepare_calls(self, row: Row, *, keep: bool) -> None:
        """Gather what `answer_one` calls the kernel with."""
        if not self._ready:
            self._get_ready()
        values, columns, starts = row
        record = (self.state, self.scratch, self.plan, values.reshape(-1), columns, starts)
        answer = (self._one_importance, self._one_answer)
        self._asked = (*record, self._no_target, *answer)
        self._taught = (*record, self._one_target, *answer)
        self._last_row = row

    def pool_units(
        self, memories: Sequence[ModelState], share: Array, *, since: bool
    ) -> list[Units]:
        """Learn the target's scale as if all targets had been pooled."""
        row = len(self.members)
        own = self.views(row)["target"]
        targets = [memory.views(row)["target"] for memory in memories]
        seen = [float(memory.views(0)["counters"][SEEN]) for memory in memories]
        own[:] = pooled(targets, seen, share, since=since)
        if not self.standardize:
            return super().pool_units(memories, share, since=since)
        inverse, centre = float(own[0, INVERSE]), float(own[0, CENTRE])
        return [
            Units(
                float(inverse / target[0, INVERSE]) if target[0, INVERSE] > 0 else 0.0,
                float(target[0, CENTRE] - centre) * inverse,
            )
            for target in targets
        ]
