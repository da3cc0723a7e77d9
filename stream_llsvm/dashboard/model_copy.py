"""What came just after a copy of the model: replayed on it, each record meets the model as it was.

Records are learned one by one, whatever batches they come in. A copy that is taught what came
before a record is therefore, to the bit, the model that answered it. The thread that runs the
engine only keeps the first records after a copy; the page's own thread replays those it shows.
"""

from __future__ import annotations

import copy
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from stream_llsvm.dashboard.recent_records import Recent, Taken
from stream_llsvm.engine.learner import Learner
from stream_llsvm.learners.load import from_payload
from stream_llsvm.learners.pipeline import is_own, payload_of

if TYPE_CHECKING:
    from stream_llsvm.dashboard.monitor import Monitor


_FEWEST, _MOST, _VALUES = 8, 50, 20_000


class Copied(NamedTuple):
    """A copy of the model, how many records it has learned, and when it was made."""

    model: Any
    learned: int
    time: float = 0.0

    @property
    def empty(self) -> bool:
        """Whether it is of a model that had learned nothing, and has nothing to say."""
        return isinstance(self.model, dict) and self.model.get("state", self) is None


class Answered(NamedTuple):
    """A copy, and the records that came next with what was answered; nothing changes in it."""

    copied: Copied
    taken: tuple[Taken, ...]

    @property
    def number(self) -> int:
        """How many records there are."""
        return sum(len(one.batch) for one in self.taken)


class RecordsAfter:
    """Keeps the first records after a copy, as long as nothing else is learned between them.

    Parameters
    ----------
    copied
        The copy.
    late
        How many records had been learned whose labels came later.

    """

    def __init__(self, copied: Copied, late: int) -> None:
        self._copied, self._late = copied, late
        self._taken: list[Taken] = []
        self._room: int | None = None  # unknown before it is known how wide a record is

    def take(self, taken: Taken, late: int) -> None:
        """Keep what there is room for of a batch that was answered, and learned."""
        n = len(taken.batch)
        if self._room is None:
            values = 0 if taken.batch.names is None else len(taken.batch.names)
            if taken.batch.records:
                values = max(map(len, taken.batch.records[:_MOST]))
            self._room = max(_FEWEST, min(_MOST, _VALUES // max(1, values)))
        if self._room > 0:
            self._taken.append(taken.part(0, self._room))
            self._room = max(0, self._room - n)
        self.turn(late)

    def turn(self, late: int) -> None:
        """End it if the model has learned a record whose label came later."""
        if late != self._late:
            self._room = 0

    def answered(self) -> Answered | None:
        """Return what there is by now, None without any record."""
        return Answered(self._copied, tuple(self._taken)) if self._taken else None


def replayed(model: Any, taken: Sequence[Taken], wanted: Sequence[int]) -> Iterator[Recent]:
    """Yield the wanted records, when the model has learned all that came before each of them.

    Parameters
    ----------
    model
        The copy after which they came. It learns.
    taken
        All records.
    wanted
        The numbers of some, in order.

    """
    learner, left = Learner(model), list(wanted)
    for one in taken:
        done, end = 0, one.before + len(one.batch)
        while left and left[0] <= end:
            i = left.pop(0) - one.before - 1
            learner.take(one.part(done, i).batch)
            yield one.recent(i)
            done = i
        if not left:
            return
        learner.take(one.part(done, len(one.batch)).batch)


class NothingLearnedError(Exception):
    """There is no model to ask yet."""


class ModelCopies:
    """Makes a model of what the monitor copied, once for all who use it, one at a time.

    Parameters
    ----------
    monitor
        Who copies.

    """

    def __init__(self, monitor: Monitor) -> None:
        self._monitor = monitor
        self._lock = threading.Lock()
        self._made: tuple[Copied, Any] | None = None

    @contextmanager
    def newest(self) -> Iterator[tuple[Any, int]]:
        """Lend the newest copy, and say how many records it has learned."""
        with self._lock:
            copied = self._monitor.copied
            if copied is None:
                raise NothingLearnedError("nothing has been learned yet")
            if self._made is None or self._made[0] is not copied:
                self._made = copied, restored(copied.model)
            model = self._made[1]
            # A loaded model counts as trained even if this run has learned 0 records.
            nothing = model._state is None if is_own(model) else copied.learned == 0
            if nothing:
                raise NothingLearnedError("nothing has been learned yet")
            yield model, copied.learned


def copy_of(model: Any) -> Any:
    """Return something that `restored` makes the model of again, or the copy itself."""
    return payload_of(model) if is_own(model) else copy.deepcopy(model)


def restored(copied: Any) -> Any:
    """Return the model that was copied."""
    return from_payload(copied) if isinstance(copied, dict) else copied
