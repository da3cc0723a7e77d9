"""Make what a pipeline asks for, from sources to the engine; read a file from end to end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from typing import Any, NamedTuple, TypeVar

from stream_llsvm.cli import models
from stream_llsvm.cli.checks import check_columns, check_folder_place
from stream_llsvm.cli.decide import for_engine
from stream_llsvm.cli.errors import MistakeError, RunFailedError, one_line
from stream_llsvm.cli.log import bad_fields_of, not_utf8
from stream_llsvm.cli.options import SECTIONS
from stream_llsvm.cli.pipeline import Settings
from stream_llsvm.connectors.base import Batch, DeadLetters, Sink, SinkError, Source, SourceError
from stream_llsvm.connectors.description import opened
from stream_llsvm.connectors.keys import Key
from stream_llsvm.connectors.registry import FIELDS, Connector, connector_of
from stream_llsvm.connectors.values import Values
from stream_llsvm.engine.census import Census
from stream_llsvm.engine.challengers import ORIGINAL
from stream_llsvm.engine.checkpoints import CheckpointError, Checkpoints
from stream_llsvm.engine.engine import Engine
from stream_llsvm.engine.input.watch import InputWatch, reference_of
from stream_llsvm.engine.late_labels import Waiting
from stream_llsvm.engine.lease import Lease, LeaseError
from stream_llsvm.engine.mean_weight import MeanWeight
from stream_llsvm.engine.resume import EngineError
from stream_llsvm.engine.snapshots import Publisher
from stream_llsvm.engine.task import CLASSIFICATION, Task, with_numbers
from stream_llsvm.model.file import ModelFileError
from stream_llsvm.model.growth import FREE, GrowingModel

_Made = TypeVar("_Made")
#: What a key is called that is no field of its record, such as that of a message.
OWN_KEY = "message key"
UNFIT = (
    EngineError,
    CheckpointError,
    LeaseError,
    SourceError,
    SinkError,
    ModelFileError,
    ValueError,
)


def connector_for(address: str) -> Connector:
    """Return what reads and writes an address; MistakeError if nothing does."""
    return made(lambda: connector_of(address))


def made(make: Callable[[], _Made]) -> _Made:
    """Return what is made; what is wrong with what the user asked for is a MistakeError."""
    try:
        return make()
    except (OSError, ValueError, ImportError, SourceError, SinkError) as error:
        raise MistakeError(one_line(error)) from None


def make_source(given: Mapping[str, Any], slices: Sequence[str] = ()) -> Source:
    """Return the source that a section asks for, connected, after a look at its first records."""
    for address in given["from"]:
        check_columns(address, given, slices)
    return open_source(given)


def open_source(given: Mapping[str, Any]) -> Source:
    """Return the source that a section asks for, connected."""
    return made(lambda: opened(given))


def make_sink(given: Mapping[str, Any]) -> Sink:
    """Return the sink that a section asks for, connected."""
    to, connector = given["to"], connector_for(given["to"])
    return made(lambda: connector.sink(to, _options(given, connector.sink_options)))


def make_dead_letters(given: Mapping[str, Any]) -> DeadLetters:
    """Return the place for rejected records that a section asks for, connected."""
    to, connector = given["to"], connector_for(given["to"])
    return made(lambda: connector.dead_letters(to, _options(given, connector.dead_letter_options)))


def _options(given: Mapping[str, Any], known: Mapping[str, Key]) -> dict[str, Any]:
    return {name: value for name, value in given.items() if name in known}


def make_model(settings: Settings, given: Mapping[str, Any] | None = None) -> Any:
    """Return the model that a pipeline asks for, or one of its challengers."""
    given = settings.get("model", {}) if given is None else given
    options = {key: value for key, value in given.items() if key not in SECTIONS["model"]}
    model = models.make(given.get("class", models.USUAL), options)
    key = given.get("key")
    if key is None and given.get("per_key"):
        key = settings["source"].get("key", OWN_KEY)
    if key is None:
        return model
    from stream_llsvm.learners.base import LocalClassifier
    from stream_llsvm.learners.keyed import KeyedClassifier

    assert isinstance(model, LocalClassifier)  # as was checked
    return made(
        lambda: KeyedClassifier(model, key, given.get("max_keys"), spill=given.get("spill"))
    )


def label_values(given: Mapping[str, Any]) -> Values:
    """Return how a section's labels are read if they are numbers: as its features are."""
    return Values(**{name: given[name] for name in ("missing", "decimal") if name in given})


def said_of_columns(given: Mapping[str, Any], late: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return what a run is told of columns, for its checkpoints; late labels name theirs."""
    said = {name: given[name] for name in FIELDS if name != "on_bad_field" and given.get(name)}
    for name in ("ignore", "features"):  # in whatever order they are named
        if name in said:
            said[name] = sorted(set(said[name]))
    if late is not None and "label" in late:
        said["label"] = late["label"]
    return said


def make_engine(
    settings: Settings, sink: Sink | None, stack: ExitStack, lease: Lease | None = None
) -> Engine:
    """Return the engine over all of it; it goes on from its last checkpoint if it has one.

    What is opened on the way is left to the stack to close.
    """
    late, letters = settings.get("labels"), settings.get("dead_letters")
    kept, how = settings.get("checkpoints"), dict(settings.get("engine", {}))
    if how.get("detector") == "none":
        how["detector"] = None
    model, source = make_model(settings), make_source(settings["source"], how.get("slices", ()))
    stack.callback(source.close)
    if letters is not None:
        how["dead_letters"] = make_dead_letters(letters)
        stack.callback(how["dead_letters"].close)
    if late is not None:
        if "from" in late:  # else they come between the records
            how["labels"] = make_source(late)
            stack.callback(how["labels"].close)
        how["waiting"] = Waiting(late.get("most", 100_000), late.get("longest", 86_400.0))
    how |= for_engine(settings.get("decision", {}))
    how["champion"] = settings.get("model", {}).get("name", ORIGINAL)
    how["challengers"] = {
        name: make_model(settings, one) for name, one in settings.get("challengers", {}).items()
    }
    wanted = {how["champion"]: model, **how["challengers"]}
    try:
        how["watch_input"] = make_watch(settings, stack)
        if kept is not None:
            check_folder_place("--checkpoints", kept["folder"])
            how["checkpoints"] = Checkpoints(kept["folder"], kept.get("keep", 3), lease=lease)
            stack.callback(how["checkpoints"].close)
            how["every"] = kept.get("every", 60.0)
        # Labels that come later are read as their own section says.
        numbers = label_values(late if late is not None and "from" in late else settings["source"])
        columns = said_of_columns(settings["source"], late)
        engine = Engine(source, model, sink=sink, numbers=numbers, columns=columns, **how)
    except UNFIT as error:
        raise MistakeError(one_line(error)) from None
    if kept is not None:
        for name, found in engine.models.items():
            check_same_model(found, wanted[name], kept["folder"])
    if (publish := settings.get("publish")) is not None:
        check_folder_place("--publish", publish["folder"])
        more = {name: publish[name] for name in ("every", "keep") if name in publish}
        engine.watchers.append(made(lambda: Publisher(publish["folder"], **more)))
    return engine


def make_watch(settings: Settings, stack: ExitStack) -> InputWatch | bool:
    """Return what watches the fields of the records, and against what."""
    given = settings.get("input", {})
    if not given.get("watch", True):
        return False
    said = given.get("reference")
    if said is None:
        return True
    first = reference_of(said)
    if first is not None:
        return InputWatch(first)
    columns = {name: v for name, v in settings["source"].items() if name in FIELDS}
    source = open_source({**columns, "from": [said]})
    stack.callback(source.close)
    return InputWatch(source)


def check_same_model(kept: Any, wanted: Any, folder: str) -> None:
    """Refuse to go on with another model than the one that is asked for.

    Options that say how it works, and not what it is, are from now on as they are asked for.
    """
    if type(kept) is not type(wanted):
        differ = f"a {type(kept).__name__}, not a {type(wanted).__name__}"
    else:
        old, new = kept._saved_params(), wanted._saved_params()
        changed = [key for key in new if new[key] != old.get(key)]
        if isinstance(kept, GrowingModel):
            kept.mutate({key: new[key] for key in changed if key in FREE})
            changed = [key for key in changed if key not in FREE]
        if not changed:
            return
        differ = ", ".join(f"{key} = {old.get(key)!r}, not {new[key]!r}" for key in changed)
    raise MistakeError(
        f"{folder} holds a run of another model ({differ}): name another folder, or put the model "
        "back as it was"
    )


_MOST = 500


class Contents(NamedTuple):
    """What is in a file.

    Attributes
    ----------
    records
        How many can be read.
    rejected
        How many cannot.
    first_rejected
        What is wrong with the first of those; empty if there is none.
    bad_fields
        How many values could not be read, by field.
    unlabelled
        How many of the records have no label.
    labels
        Which labels occur; of numbers the lowest and the highest.
    census
        What the columns were taken for.
    task
        Whether they are classes or numbers.
    deletes
        How many only told that something was deleted.
    mean_weight
        What the records count on the mean.

    """

    records: int
    rejected: int
    first_rejected: str
    bad_fields: Counter[str]
    unlabelled: int
    labels: set[Any]
    census: Census
    task: Task
    deletes: int
    mean_weight: MeanWeight

    def what_is_missing(self) -> str:
        """Say why nothing can be learned from it; empty if something can."""
        if self.records == 0:
            return "there are no records in it" if self.rejected == 0 else self._told_rejected()
        return "" if self.labels else "no record has a label"

    def summary(self) -> str:
        """Say how much there is of what, on one line."""
        told = [
            _several(self.records, "record"),
            self._told_labels(),
            f"{self.unlabelled:,} without a label" if self.unlabelled else "",
            _several(self.deletes, "delete") if self.deletes else "",
            self._told_rejected() if self.rejected else "",
            bad_fields_of(self.bad_fields),
        ]
        return ", ".join(part for part in told if part)

    def _told_labels(self) -> str:
        if self.task == CLASSIFICATION:
            return _several(len(self.labels), "class", "classes")
        return f"labels from {min(self.labels):,.5g} to {max(self.labels):,.5g}"

    def _told_rejected(self) -> str:
        return f"{self.rejected:,} cannot be read (the first: {self.first_rejected})"


def _several(number: int, one: str, many: str = "") -> str:
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def batches(options: Mapping[str, Any], max_records: int | None) -> Iterator[Batch]:
    """Yield the file's records, or only the first so many; its columns were checked before."""
    source, left = open_source(options), max_records
    try:
        while not source.ended and left != 0:
            batch = source.poll(_MOST if left is None else min(_MOST, left), 1.0)
            if batch is None:
                continue
            if left is not None:
                left -= len(batch)
            yield batch
    finally:
        source.close()


def look_through(options: Mapping[str, Any], max_records: int | None, task: Task) -> Contents:
    """Return what there is to know of a file before learners can be run through it."""
    records = rejected = unlabelled = deletes = 0
    labels, first, bad_fields = set[Any](), "", Counter[str]()
    census, mean_weight = Census(), MeanWeight()
    values = label_values(options)
    for address in options["from"]:
        check_columns(address, options)
    try:
        for read in batches(options, max_records):
            batch = read if task == CLASSIFICATION else with_numbers(read, values)
            records += len(batch)
            deletes += batch.deletes
            census.take(batch)
            mean_weight.take(batch.weights, len(batch))
            rejected += len(batch.rejected)
            bad_fields.update(one.field for one in batch.bad_fields)
            unlabelled += batch.labels.count(None)
            labels.update(batch.labels)
            if task != CLASSIFICATION and len(labels) > 1:  # there may be as many as records
                labels = {f(one for one in labels if one is not None) for f in (min, max)}
            if batch.rejected and not first:
                one = batch.rejected[0]
                first = f"{one.reason}, {one.detail}{not_utf8(one.reason)}"
    except SourceError as error:
        raise RunFailedError(one_line(error)) from error
    labels -= {None}
    counted = (records, rejected, first, bad_fields, unlabelled, labels)
    return Contents(*counted, census, task, deletes, mean_weight)
