"""How a run continues from a checkpoint, after a look at all that it holds."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from stream_llsvm.connectors.base import (
    TOPIC_IDS,
    AwayError,
    Position,
    Rollback,
    Source,
    SourceError,
    seekable,
    transactional,
)
from stream_llsvm.engine.census import Census
from stream_llsvm.engine.challengers import Kept, kept_of
from stream_llsvm.engine.checkpoints import Checkpoints, Found, Made
from stream_llsvm.engine.decisions import checked_payload
from stream_llsvm.engine.input.watch import InputWatch
from stream_llsvm.engine.late_labels import Waiting
from stream_llsvm.engine.learner import Learner
from stream_llsvm.engine.progress import Progress
from stream_llsvm.engine.save import outputs, write
from stream_llsvm.engine.task import task_of
from stream_llsvm.engine.validation import MOST, count, counter, number, part, plain, require
from stream_llsvm.learners.keyed import KeyedClassifier
from stream_llsvm.learners.load import from_payload
from stream_llsvm.learners.pipeline import is_own, learner_in, payload_of
from stream_llsvm.model.file import ModelFileError
from stream_llsvm.model.spill import SpillError

if TYPE_CHECKING:
    from stream_llsvm.engine.engine import Engine


_LATEST = 2.5e11  # seconds: a time that still has a date
_CANNOT_SEEK = (
    "cannot be read again from a position: a run that is continued goes on with what comes then. "
    "What comes while none runs is not learned, nor, after a crash, what came after the last "
    "checkpoint"
)


class EngineError(Exception):
    """The run cannot go on; the text says why, and what to do."""


class Contents(NamedTuple):
    """What a checkpoint holds, looked at in every part."""

    model: Any
    position: Position | None
    progress: dict[str, Any]
    rejected: dict[str, int]
    bad_fields: dict[str, int]
    fields: dict[str, Any]
    columns: dict[str, Any] | None
    deletes: int
    late_position: Position | None
    waiting: dict[str, Any] | None
    written: list[int | None]
    challengers: Kept
    decision: dict[str, Any] | None
    rolled_back: str
    inputs: dict[str, Any] | None


def contents_of(
    payload: Mapping[str, Any],
    *,
    trust_pickle: bool = False,
    spill: str | None = None,
) -> Contents:
    """Return what a file's payload holds; ModelFileError if it is no checkpoint of an engine.

    EngineError if keys that it holds cannot be spilled.
    """
    for name in ("position", "late"):
        require(name in payload, name)
    number({"time": 0.0, **payload}, "time", high=_LATEST)  # an older version wrote none
    kept = part(payload, "model", dict)
    made = partial(from_payload, trust_pickle=trust_pickle)
    try:
        model = made(kept, spill=spill)
    except SpillError as error:  # which is no fault of the checkpoint's
        raise EngineError(error.strerror) from None
    task = task_of(model)
    late = None if payload["late"] is None else part(payload, "late", dict)
    if late is not None:
        Waiting().restore(part(late, "waiting", dict), task)
    fields = part({"fields": {}, **payload}, "fields", dict)
    Census().restore(fields)
    # An older version kept none, nor does a run that does not watch it.
    inputs = part({"input": None, **payload}, "input", dict, type(None))
    if inputs is not None:
        InputWatch().restore(inputs)
    progress = part(payload, "progress", dict)
    Progress(1, None, task).restore(progress)
    written = part(payload, "written", list)
    require(len(written) == 2, "written")
    require(all(n is None or (type(n) is int and 0 <= n <= MOST) for n in written), "written")
    beside = part({"challengers": None, **payload}, "challengers", dict, type(None))
    return Contents(
        model,
        _position(payload),
        progress,
        counter(payload, "rejected"),
        counter({"bad_fields": {}, **payload}, "bad_fields"),  # older ones have none
        fields,
        _columns(payload),
        count({"deletes": 0, **payload}, "deletes"),
        None if late is None else _position(late),
        None if late is None else late["waiting"],
        written,
        kept_of(beside, task, made),
        checked_payload(payload),
        part({"rolled_back": "", **payload}, "rolled_back", str),
        inputs,
    )


def _columns(payload: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return what was said of columns; None of an older version, and if nobody says."""
    found: dict[str, Any] | None = part({"columns": None, **payload}, "columns", dict, type(None))
    if found is not None:
        kinds = part({"fields": {}, **found}, "fields", dict)
        require(plain(found) and all(type(kind) is str for kind in kinds.values()), "columns")
    return found


def _position(payload: Mapping[str, Any]) -> Position | None:
    require("position" in payload and plain(payload["position"]), "position")
    found: Position | None = part(payload, "position", dict, type(None))
    return found


def continued(engine: Engine, checkpoints: Checkpoints) -> None:
    """Let the engine continue from the newest checkpoint that holds, if there is one."""
    _check_can_be_kept(engine)
    for source in sources_of(engine):
        if not seekable(source):
            engine.progress.note("at most once", f"{source.name} {_CANNOT_SEEK}")
    made_of = partial(
        contents_of,
        trust_pickle=engine.trust_pickle,
        spill=next(filter(None, map(_spill_of, engine.models.values())), None),
    )
    found = newest(engine, checkpoints, made_of, lambda contents: contents)
    if found is None:
        # Even a run that dies before its first checkpoint must know where its outputs began.
        try:
            checkpoints.commit(write(engine, checkpoints, wait=True) or 0)
        except OSError as error:
            checkpoints.failed.clear()
            raise EngineError(f"cannot write to {checkpoints.folder}: {error}") from None
        return
    for text in found.skipped:
        engine.progress.note("checkpoint unreadable", f"{text}; what came after is done again")
    contents: Contents = found.contents
    before = engine.learner
    if task_of(contents.model) != before.task:
        raise EngineError(
            f"{checkpoints.folder} holds a run of another task: its model is a "
            f"{type(contents.model).__name__}, not a {type(before.model).__name__}; another "
            "folder begins anew"
        )
    _check_keys(engine, contents, checkpoints)
    _check_label(engine.columns, contents.columns, checkpoints)
    engine.learner = Learner(contents.model, every=before.every, values=before.values)
    engine.challengers.resume(contents.challengers, before.values, engine.progress)
    engine.progress.restore(contents.progress)
    engine.decisions.resume(contents.decision, engine.progress)
    engine.rejects.counts.update(contents.rejected)
    engine.rejects.count_fields(contents.bad_fields)
    engine.rejects.deletes = contents.deletes
    engine.census.restore(contents.fields)
    if engine.inputs is not None and contents.inputs is not None:
        engine.inputs.restore(contents.inputs)
    engine.position = contents.position
    records = engine.progress.counts["records"]
    at = checkpoints.path(found.number).stat().st_mtime
    checkpoints.newest = Made(found.number, at, records)
    path = checkpoints.path(found.number)
    try:
        _seek(engine, contents)
    except AwayError:
        raise
    except (SourceError, ValueError) as error:
        raise EngineError(f"{error} ({path} stands there; another folder begins anew)") from None
    except (KeyError, TypeError, AttributeError, OverflowError) as error:
        raise EngineError(
            f"the position in {path} is none of {engine.source.name} ({type(error).__name__}: "
            f"{error}): give the source that it was of, or another folder"
        ) from error
    checkpoints.commit(found.number)
    tell(engine, contents, f"from checkpoint {found.number}, {records:,} records")


def tell(engine: Engine, contents: Contents, where: str) -> None:
    """Note where a run goes on, and what is said of columns otherwise than it was."""
    engine.progress.note("continued", where)
    if contents.rolled_back:
        engine.progress.note("rolled back", contents.rolled_back)
    if engine.columns is None:
        engine.columns = contents.columns
    elif changed := _changes(engine.columns, contents.columns):
        engine.progress.note(
            "columns changed", f"{changed}; what was learned of them before stays as it is"
        )


def _check_label(
    wanted: dict[str, Any] | None, kept: dict[str, Any] | None, checkpoints: Checkpoints
) -> None:
    """Raise EngineError if the model has learned another label than the one that is asked for."""
    if wanted is None or kept is None or wanted.get("label") == kept.get("label"):
        return
    labels = f"{_said(kept.get('label'))}, not {_said(wanted.get('label'))}"
    raise EngineError(
        f"{checkpoints.folder} holds a run with another label ({labels}): name another folder, "
        "or put the label back as it was"
    )


def _check_keys(engine: Engine, contents: Contents, checkpoints: Checkpoints) -> None:
    """Raise EngineError if a model is kept by another key, or spilled otherwise, than is asked for.

    Models are compared by their names: after a promotion the one that answers is another than the
    one that was given as the model.
    """
    kept = contents.challengers
    held = {kept.champion or engine.challengers.champion: contents.model, **kept.models}
    for name, given in engine.models.items():
        if name in held:
            _check_key(Learner(given).key, Learner(held[name]).key, checkpoints)
            _check_spill(_spill_of(given), _spill_of(held[name]), checkpoints)


def _check_key(wanted: Hashable, kept: Hashable, checkpoints: Checkpoints) -> None:
    """Raise EngineError if a model is kept by another key, or none is, or none is asked for."""
    if wanted == kept:
        return
    held, asked = (
        "one model for all" if key is None else f"a model for each {key!r}"
        for key in (kept, wanted)
    )
    raise EngineError(
        f"{checkpoints.folder} holds a run with {held}, not {asked}: name another folder, or put "
        "it back as it was"
    )


def _check_spill(wanted: str | None, kept: str | None, checkpoints: Checkpoints) -> None:
    """Raise EngineError if keys would be spilled that were not, or to where nobody said."""
    if wanted == kept:
        return
    raise EngineError(
        f"{checkpoints.folder} holds a run that keeps all keys in memory: leave out the folder to "
        "spill to, or name another folder of checkpoints"
        if kept is None
        else f"{checkpoints.folder} holds a run that spills keys: say to which folder (--spill, or "
        "KeyedClassifier(spill=...))"
    )


def _spill_of(model: Any) -> str | None:
    """Return the folder to which a model spills keys, None if to none."""
    last = learner_in(model)
    return last.spill if isinstance(last, KeyedClassifier) else None


def _changes(wanted: dict[str, Any], kept: dict[str, Any] | None) -> str:
    """Return what is said of columns otherwise than before; empty if nothing is."""
    if kept is None:
        return ""
    changed = [name for name in {**kept, **wanted} if wanted.get(name) != kept.get(name)]
    return "; ".join(
        f"{name}: {_said(kept.get(name))} before, now {_said(wanted.get(name))}" for name in changed
    )


def _said(value: Any) -> str:
    """Return one thing that is said of columns as it is written behind a flag."""
    if isinstance(value, dict):
        value = [f"{name}={kind}" for name, kind in value.items()]
    if isinstance(value, list):
        return ",".join(map(str, value)) or "none"
    return "none" if value is None else repr(value)


def _check_can_be_kept(engine: Engine) -> None:
    """Raise EngineError if a checkpoint could not hold a model, or not be read again."""
    for name, model in engine.models.items():
        if is_own(model):
            continue
        try:
            payload = payload_of(model, trust_pickle=engine.trust_pickle)
            from_payload(payload, trust_pickle=engine.trust_pickle)
        except (ValueError, ModelFileError) as error:
            which = "this model" if model is engine.model else f"the challenger {name}"
            raise EngineError(f"checkpoints cannot hold {which}: {error}") from None


def _seek(engine: Engine, contents: Contents) -> None:
    """Bring the sources and what was written to where a checkpoint found them."""
    if engine.position is not None and seekable(engine.source):
        engine.source.seek(engine.position)
    if engine.late is not None and contents.waiting is not None:
        engine.late.waiting.restore(contents.waiting)
        engine.late.position = contents.late_position
        labels = engine.late.source
        if labels is not None and engine.late.position is not None and seekable(labels):
            labels.seek(engine.late.position)
    take_back(engine, contents)


def sources_of(engine: Engine) -> list[Source]:
    """Return the source of the records, and that of labels if there is one."""
    labels = None if engine.late is None else engine.late.source
    return [engine.source] if labels is None else [engine.source, labels]


def take_back(engine: Engine, contents: Contents) -> None:
    """Take back what was written since a checkpoint."""
    for each, written in zip(outputs(engine), contents.written, strict=True):
        if isinstance(each, Rollback) and written is not None:
            each.truncate(written)


def newest(
    engine: Engine,
    checkpoints: Checkpoints,
    made_of: Callable[[Mapping[str, Any]], Any],
    run_of: Callable[[Any], Contents],
    *,
    shards: bool = True,
) -> Found | None:
    """Return the newest checkpoint that can be read and whose predictions were committed.

    Parameters
    ----------
    engine
        The run, of which only the sink is asked.
    checkpoints
        Where they are.
    made_of
        Makes what one holds of its payload.
    run_of
        Returns the part of that which every checkpoint holds.
    shards
        See `read_checkpoint`.

    """
    sink = transactional(engine.sink)
    if sink is None:
        return next(checkpoints.newest_first(made_of, shards=shards), None)
    committed = sink.committed_offsets()
    for found in checkpoints.newest_first(made_of, shards=shards):
        run = run_of(found.contents)
        offsets = {name: at for name, at in (run.position or {}).items() if name != TOPIC_IDS}
        if offsets == committed:  # a group's offsets know no ids of topics
            return found
        if run.rolled_back:
            raise EngineError(
                f"{checkpoints.path(found.number)} goes back {run.rolled_back}, and "
                f"predictions were committed up to {committed}, which cannot be taken back: roll "
                "back with --skip, or give another transactional id and folder"
            )
    if committed:
        raise EngineError(
            f"predictions were committed up to {committed}, and no checkpoint in "
            f"{checkpoints.folder} stands there: restore the folder, or start with a new one and "
            "another transactional id"
        )
    return None
