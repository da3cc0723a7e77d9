"""What a connector is: a source of batches of records, or a sink for results.

A source hands out batches in order and says after each where it stands. A position is plain data
(numbers, strings, lists, dicts with string keys): it is kept in checkpoints, and a source that
seeks to it continues with the very next record. Nothing here knows of models.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.connectors.ownership import Ownership
from stream_llsvm.records.readable import as_records, readable_record

Position = dict[str, Any]

#: Where a position of Kafka names the ids of its topics: no topic can have this name.
TOPIC_IDS = "topic ids:"


class Place(NamedTuple):
    """Where a record came from: a file and its line, or a topic's partition and its offset."""

    source: str
    part: int | None
    number: int

    def __str__(self) -> str:
        """Return ``file:line`` or ``topic/partition@offset``."""
        if self.part is None:
            return f"{self.source}:{self.number}"
        return f"{self.source}/{self.part}@{self.number}"


class Rejected(NamedTuple):
    """A record that could not be read: where, why (a few words, to count by), what, and its bytes.

    ``reason`` is one of few fixed texts; ``detail`` names the field and shows the value.
    """

    place: Place
    reason: str
    detail: str
    raw: bytes


class BadField(NamedTuple):
    """A field that could not be read: where, which, why in a few words, and its value shown."""

    place: Place
    field: str
    reason: str
    detail: str


class Disorder(NamedTuple):
    """How far records of several partitions are not in the order of their times.

    Attributes
    ----------
    late
        How many came when a later one had been handed out.
    gave_up
        Which partitions had more, did not give it in time, and are waited for no longer.
    waited
        Seconds in which records were held back for others.

    """

    late: int = 0
    gave_up: tuple[str, ...] = ()
    waited: float = 0.0


@dataclass(slots=True)
class Batch:
    """Some records in order.

    Attributes
    ----------
    names, values
        If every record has the same features: their names, and a row each. What is no number is a
        NaN: one with a content (``records/boxes.py``) is a name or a time, a plain one is missing.
    texts
        The text of every name among the values, by its code.
    records
        Otherwise: ``{feature: value}`` each; ``names`` and ``values`` are then None. A value is a
        float (a time as above), the text of a name, or a tuple of words.
    labels
        One a record; None where it has none.
    keys
        One a record, to join late labels by; None where it has none.
    weights
        How much each record counts, 0 or more; None where all count 1.
    places
        One a record.
    rejected
        What lay between the records and could not be read.
    bad_fields
        Fields that could not be read, of records that were taken without them or rejected.
    deletes
        How many messages only said that something was deleted, see ``unwrap``.
    position
        Where the source stands behind all of these, the rejected included.
    times
        When each record was, if the source was asked for that.
    late
        Labels, each with its key, that came behind these records and before the next ones; of a
        source that holds both in one order.
    disorder
        What is new of how far records are not in order; None if nobody looks.

    """

    labels: list[Any]
    places: Sequence[Place]
    position: Position
    names: tuple[str, ...] | None = None
    values: NDArray[np.float64] | None = None
    records: list[dict[str, Any]] | None = None
    keys: list[Any] | None = None
    rejected: list[Rejected] = field(default_factory=list)
    bad_fields: list[BadField] = field(default_factory=list)
    texts: Mapping[int, str] = field(default_factory=dict)
    deletes: int = 0
    weights: NDArray[np.float64] | None = None
    times: NDArray[np.float64] | None = None
    disorder: Disorder | None = None
    late: Batch | None = None

    def __len__(self) -> int:
        return len(self.labels)

    def __bool__(self) -> bool:
        """Without a record there may still be rejected ones, and there is a position."""
        return True

    def record(self, i: int) -> dict[str, Any]:
        """Return one record as ``{feature: value}``, to be read; what is missing is not named.

        A name is a text, and so is a time, whose date is not known.
        """
        if self.records is not None:
            return readable_record(self.records[i])
        assert self.names is not None
        assert self.values is not None
        return as_records(self.names, self.values[i : i + 1], self.texts)[0]


class SourceError(Exception):
    """A source cannot go on; the text says why, and what to do, in one line."""


class AwayError(SourceError):
    """A source does not answer just now: who has time asks it again."""


class SinkError(Exception):
    """Something could not be written; the text says what and why, in one line."""


class SinkAwayError(SinkError):
    """A sink does not answer: what was written since the last commit may not have arrived."""


class Source(Protocol):
    """Where records come from.

    One that cannot go back to a position has an attribute ``seekable`` that is false; `seek` is
    then never called, and a run that is continued goes on with whatever comes next.
    """

    @property
    def name(self) -> str:
        """What people call it, without secrets."""

    def poll(self, max_records: int, timeout: float) -> Batch | None:
        """Return the next records, at most so many; None if none came within so many seconds.

        Fewer than so many may come while more are ready.

        Raises SourceError if the source cannot go on.
        """

    @property
    def ended(self) -> bool:
        """Whether nothing can come any more; a source that follows never ends.

        It may become true only with a poll that returns None.
        """

    @property
    def position(self) -> Position:
        """Where it stands: behind the last batch handed out."""

    def seek(self, position: Position) -> None:
        """Continue with the record behind this position, which it gave once itself.

        Raises SourceError if that is not possible any more.
        """

    def close(self) -> None:
        """Let go of files and connections."""


class Shared(Protocol):
    """Where records come from that are dealt out over several processes, who keep no positions."""

    @property
    def name(self) -> str:
        """What people call it, without secrets."""

    @property
    def ended(self) -> bool:
        """Whether nothing can come any more."""

    def poll(self, max_records: int, timeout: float) -> Batch | None:
        """Return the next records, as a `Source` does."""

    def commit(self) -> None:
        """Let what was handed out count as done."""

    def close(self) -> None:
        """Let go of connections."""


@runtime_checkable
class Sliced(Protocol):
    """A source whose records can be dealt out as stretches of time.

    A slice is what lies between two positions: of every partition the records of the same stretch
    of time. Any process that opens the source gets the same records of it, in the same order.
    """

    @property
    def name(self) -> str:
        """What people call it, without secrets."""

    @property
    def endless(self) -> bool:
        """Whether more may come behind the end, so that a run waits there."""

    def start(self) -> Position:
        """Return where a run begins that has learned nothing yet."""

    def ends(self) -> Position:
        """Return where everything ends now, without waiting for more."""

    def cut(self, begin: Position, ends: Position, size: int, count: int) -> list[Position]:
        """Return the borders of slices: ``begin``, and each further on than the one before it.

        Every record between the first border and the last lies in exactly one slice. Only the
        last slice may have far fewer records than were asked for; where nothing has come yet,
        ``begin`` is the only border.

        Parameters
        ----------
        begin
            Where to begin.
        ends
            How far to go at most, such as `ends` gave it.
        size
            About how many records a slice is to have.
        count
            How many slices at most.

        """

    def backlog(self, begin: Position, ends: Position) -> int:
        """Return about how many records lie between two positions, without reading them."""

    def between(self, begin: Position, end: Position) -> Iterator[Batch]:
        """Yield exactly the records between two borders, in the order of time, and stop.

        The last batch's position is ``end``.
        """

    def close(self) -> None:
        """Let go of files and connections."""


@runtime_checkable
class Described(Protocol):
    """A source that another process can open by what it says of itself."""

    @property
    def description(self) -> dict[str, Any]:
        """Plain data that `stream_llsvm.connectors.description.opened` makes the same source of.

        Secrets are not in it, but the names of the variables that hold them.
        """


def seekable(source: object) -> bool:
    """Return whether a source can go back to a position that it gave."""
    return bool(getattr(source, "seekable", True))


@runtime_checkable
class Verbatim(Protocol):
    """A source that can hand records on as they are, for a transformer that reads texts itself."""

    def keep_text(self) -> None:
        """From now on leave values as they are: text is text, and what is missing is None."""


@runtime_checkable
class Lagging(Protocol):
    """A source that can say how far behind it is."""

    def lag(self) -> dict[str, dict[str, int]]:
        """Return how many records each partition of each topic is behind its end.

        It may take seconds, and is asked by a thread of its own.
        """


@runtime_checkable
class Displaying(Protocol):
    """A source that shows others how far its records have been kept, for their displays only."""

    def display(self, position: Position) -> None:
        """Show that what lies before this position is in a checkpoint.

        It returns at once, and may be called while another thread polls.
        """


@runtime_checkable
class Volatile(Protocol):
    """A source that may hand out records before they are where a crash of the machine spares them.

    It is told when they must be: a checkpoint must not stand behind what would be lost.
    """

    def sync(self) -> None:
        """Return when all that was handed out will survive the machine. Raises SourceError."""


@runtime_checkable
class Prefetching(Sliced, Protocol):
    """A sliced source that can fetch a slice before it is asked for."""

    def prefetch(self, begin: Position, end: Position) -> None:
        """Fetch what `between` will probably be asked for next, in a thread."""


class Incident(NamedTuple):
    """What a source met and went on from: its kind, what happened in words, and how often."""

    kind: str
    text: str
    number: int


@runtime_checkable
class Incidental(Protocol):
    """A source that keeps a record of incidents; who reports one removes it from the left."""

    @property
    def incidents(self) -> deque[Incident]:
        """Those that nobody has reported yet, in their order."""


@runtime_checkable
class Recovering(Protocol):
    """A source that can say what it is waiting for, while it cannot read."""

    @property
    def trouble(self) -> str:
        """What is wrong, in a few words; nothing if all is well."""


class Result(NamedTuple):
    """What is written of a record: a prediction, what it was compared with, and by which model.

    ``predictions.py`` says how it is written.
    """

    place: Place
    key: Any
    label: Any
    prediction: Any
    probability: float | None
    probabilities: dict[Any, float] | None = None
    time: float = 0.0
    model_version: str = ""
    records_learned: int | None = None
    model_age: float | None = None
    #: What was decided, and the set of labels if a coverage is promised; None if nothing was.
    decided: tuple[Any, tuple[Any, ...] | None] | None = None


class Sink(Protocol):
    """Where results, or rejected records, go."""

    def write(self, results: Sequence[Result]) -> None:
        """Take results in order."""

    def flush(self) -> None:
        """Return when all that was taken is where it will survive this process."""

    def close(self) -> None:
        """Flush, and let go of files and connections."""


@runtime_checkable
class Encoded(Protocol):
    """A sink whose results can be made ready to be written where they were predicted."""

    @property
    def encode(self) -> Callable[[Sequence[Result]], Sequence[Any]]:
        """A function of a module, which other processes import and call, that makes them ready."""

    def write_encoded(self, encoded: Sequence[Any]) -> None:
        """Take what that function gave, in order."""


@runtime_checkable
class Rollback(Protocol):
    """A sink, or dead letters, that can be taken back to where a checkpoint found it."""

    @property
    def written(self) -> int:
        """How much was written."""

    def truncate(self, written: int) -> None:
        """Take back what was written since."""


@runtime_checkable
class Owned(Protocol):
    """What only one run at a time may write to."""

    ownership: Ownership


@runtime_checkable
class TransactionalSink(Sink, Protocol):
    """A sink that shows what was written only with a commit, and keeps a position with it."""

    @property
    def transactional(self) -> bool:
        """Whether it does so: a sink that can may have been made to write at once."""

    def commit(self, position: Position | None) -> None:
        """Make what was written visible, and the position with it, all or nothing."""

    def committed_offsets(self) -> Position:
        """Return the position of the last commit, ``{}`` if there was none.

        What was written since is taken back if something went wrong with it.
        """


@runtime_checkable
class Waits(Protocol):
    """A sink that says what it waits for while it does, and nothing when the wait is over."""

    on_wait: Callable[[str], None]


def transactional(sink: object) -> TransactionalSink | None:
    """Return the sink if it shows what was written only with a commit, else None."""
    return sink if isinstance(sink, TransactionalSink) and sink.transactional else None


class RecordWriter(Protocol):
    """Where records go as bytes, for others to read."""

    def send(self, key: Any, value: bytes) -> None:
        """Take a record, and the key that it is found by."""

    def push(self) -> None:
        """Let others see what was taken, and raise SinkError if something went wrong."""

    def close(self) -> None:
        """Push, and let go of files and connections."""


class DeadLetters(Protocol):
    """Where rejected records go, with their place, reason and bytes."""

    def write(self, rejected: Sequence[Rejected]) -> None:
        """Take rejected records in order."""

    def flush(self) -> None:
        """Return when all that was taken is where it will survive this process."""

    def close(self) -> None:
        """Flush, and let go of files and connections."""
