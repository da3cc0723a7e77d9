"""The commit of a round: one file that is renamed to its name when it is whole.

It is a checkpoint as a single engine writes it, with what many learners have beside it, so that the
same folder is locked, kept and read by the same code, and an engine and a cluster can go on from
each other's. Whatever dies, the run goes on from the newest manifest: what was learned after it is
learned again.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from stream_llsvm.cluster.plan import Load
from stream_llsvm.cluster.shards import Files, first_file, next_epoch, sent_payload
from stream_llsvm.engine.checkpoints import Checkpoints, Made
from stream_llsvm.engine.key_shards import SHARDED, is_sharded, names_of
from stream_llsvm.engine.resume import Contents, EngineError, contents_of, newest, take_back, tell
from stream_llsvm.engine.save import once_only, written
from stream_llsvm.engine.validation import MOST, count, counter, part, require
from stream_llsvm.learners.keyed import KeyedClassifier
from stream_llsvm.model.file import ModelFileError, read

if TYPE_CHECKING:
    from stream_llsvm.cluster.engine import ClusterEngine
    from stream_llsvm.engine.engine import Engine

_BEGUN = "rounds-begun"
#: What is counted of rounds, over all processes of a run.
COUNTS = ("rounds", "repeated", "restarts")


class Manifest(NamedTuple):
    """What a manifest holds.

    Attributes
    ----------
    run
        What a checkpoint of an engine holds, too.
    epoch
        How many rounds are in it.
    load
        What the last round was planned by.
    counts
        See `COUNTS`.
    fallbacks
        How often a merge took a member of the newest learner, by the member.
    files
        Of a model for each key, the files that hold the keys.

    """

    run: Contents
    epoch: int = 0
    load: Load = Load()
    counts: Mapping[str, int] = MappingProxyType(dict.fromkeys(COUNTS, 0))
    fallbacks: Mapping[str, int] = MappingProxyType({})
    files: Files = Files()


class Named(NamedTuple):
    """What a manifest names: how many rounds are in it, and the files of keys."""

    epoch: int
    files: frozenset[str]


def write(engine: ClusterEngine, checkpoints: Checkpoints, *, wait: bool = False) -> int | None:
    """Write a manifest; None if another is being written."""
    if not checkpoints.ready(wait=wait):
        return None
    records = engine.progress.counts["records"]
    number = checkpoints.write(saved(engine), record=records, wait=wait)
    if number is not None:
        engine.named[number] = Named(engine.epoch, frozenset(engine.files.names))
    return number


def saved(engine: ClusterEngine) -> dict[str, Any]:
    """Return what a manifest holds; nothing in it changes while the run goes on."""
    return {
        "time": time.time(),
        "model": _kept(engine.model),
        "key_files": None,
        "position": engine.position,
        "progress": engine.progress.payload(),
        "rejected": dict(engine.rejects.counts),
        "bad_fields": dict(engine.rejects.bad_fields),
        "fields": engine.census.payload(),
        "columns": engine.columns,
        "deletes": engine.rejects.deletes,
        "late": None,
        "once": once_only(cast("Engine", engine)),
        "written": written(cast("Engine", engine)),
        "cluster": {
            "epoch": engine.epoch,
            "load": list(engine.load),
            "counts": dict(engine.counts),
            "fallbacks": dict(engine.fallbacks),
            "files": {**engine.files._asdict(), "names": list(engine.files.names)},
        },
    }


def _kept(model: Any) -> dict[str, Any]:
    """Return the part of a manifest that is the model; what it knows of keys is in other files."""
    payload = sent_payload(model)
    return {"class": SHARDED, "model": payload} if isinstance(model, KeyedClassifier) else payload


def manifest_of(payload: Mapping[str, Any]) -> Manifest:
    """Return what a file's payload holds; ModelFileError if it is none, or does not fit."""
    if is_sharded(payload):
        payload = {**payload, "model": part(payload["model"], "model", dict)}
    run = contents_of(payload)
    if "cluster" not in payload:  # of a single engine
        if run.waiting is not None:
            raise ModelFileError("labels of its own stream are waited for: several cannot do that")
        return Manifest(run)
    own = part(payload, "cluster", dict)
    load = part(own, "load", list)
    require(len(load) == 2 and all(type(n) is int and n >= 0 for n in load), "load")
    counts = counter(own, "counts", COUNTS)
    require(len(counts) == len(COUNTS), "counts")
    files = part(own, "files", dict)
    names = part(files, "names", list)
    require(all(type(name) is str for name in names), "files")
    of_keys = Files(tuple(names), count(files, "rows"), count(files, "keys"))
    epoch, fallbacks = count(own, "epoch"), counter(own, "fallbacks")
    return Manifest(run, epoch, Load(*load), counts, fallbacks, of_keys)


def continued(engine: ClusterEngine, checkpoints: Checkpoints) -> None:
    """Let the engine continue from the newest manifest that holds, if there is one."""
    as_engine = cast("Engine", engine)
    found = newest(as_engine, checkpoints, manifest_of, lambda manifest: manifest.run, shards=False)
    if found is None:
        try:
            _begin_keys(engine, checkpoints)
            checkpoints.commit(write(engine, checkpoints, wait=True) or 0)
        except OSError as error:
            checkpoints.failed.clear()
            raise EngineError(f"cannot write to {checkpoints.folder}: {error}") from None
        return
    for text in found.skipped:
        engine.progress.note("checkpoint unreadable", f"{text}; what came after is done again")
    manifest: Manifest = found.contents
    run = manifest.run
    _check_same(engine, run, checkpoints)
    if beside := ", ".join(run.challengers.models):
        raise EngineError(
            f"{checkpoints.folder} holds a run with challengers ({beside}), which learn beside one "
            "learner: go on with one, or name another folder"
        )
    engine.model = run.model
    engine.progress.restore(run.progress)
    engine.rejects.counts.update(run.rejected)
    engine.rejects.count_fields(run.bad_fields)
    engine.rejects.deletes = run.deletes
    engine.census.restore(run.fields)
    engine.position = run.position
    engine.epoch, engine.load = manifest.epoch, manifest.load
    engine.counts.update(manifest.counts)
    engine.fallbacks.update(manifest.fallbacks)
    engine.files = manifest.files
    _begin_keys(engine, checkpoints)
    records = engine.progress.counts["records"]
    at = checkpoints.path(found.number).stat().st_mtime
    checkpoints.newest = Made(found.number, at, records)
    engine.counts["repeated"] += max(0, begun(checkpoints.folder) - manifest.epoch)
    try:
        take_back(as_engine, run)
    except ValueError as error:
        path = checkpoints.path(found.number)
        raise EngineError(f"{error} ({path} stands there; another folder begins anew)") from None
    checkpoints.commit(found.number)
    tell(as_engine, run, f"from manifest {found.number}, {records:,} records")


def needed_for_good(checkpoints: Checkpoints) -> set[str]:
    """Return the files of keys that manifests need which were given a name, and so are kept."""
    needed = set[str]()
    for number in checkpoints.names().values():
        with contextlib.suppress(ModelFileError, OSError):
            payload = read(checkpoints.path(number))
            if is_sharded(payload):
                needed.update(names_of(payload))
    return needed


def begin_round(folder: Path, epoch: int) -> None:
    """Note that a round begins, so that it is known later whether one was repeated.

    Nothing but that count depends on the note: it is not synced.
    """
    with contextlib.suppress(OSError):  # such as a full disk, of which the manifest tells
        (folder / _BEGUN).write_text(str(epoch + 1))


def begun(folder: Path) -> int:
    """Return how many rounds had begun, and not all were committed, when a run was broken off."""
    try:
        return min(int((folder / _BEGUN).read_text()), MOST)
    except (OSError, ValueError):
        return 0


def end_rounds(folder: Path) -> None:
    """Note that all rounds that had begun are in the manifest."""
    (folder / _BEGUN).unlink(missing_ok=True)


def _begin_keys(engine: ClusterEngine, checkpoints: Checkpoints) -> None:
    """Let a model that knows keys already have them in a file."""
    if isinstance(engine.model, KeyedClassifier) and not engine.files.names:
        engine.epoch = max(engine.epoch, next_epoch(checkpoints.folder))
        engine.files = first_file(engine.model, checkpoints.folder, engine.epoch)


def _check_same(engine: ClusterEngine, run: Contents, checkpoints: Checkpoints) -> None:
    """Raise EngineError if the folder holds a run of another model or label."""
    keys = [getattr(model, "key", None) for model in (run.model, engine.model)]
    if type(run.model) is not type(engine.model):
        kept, wanted = type(run.model).__name__, type(engine.model).__name__
        differ = f"of a {kept}, not a {wanted}"
    elif keys[0] != keys[1]:
        differ = f"with the key {keys[0]!r}, not {keys[1]!r}"
    elif (
        engine.columns is not None
        and run.columns is not None
        and engine.columns.get("label") != run.columns.get("label")
    ):
        differ = f"with the label {run.columns.get('label')!r}, not {engine.columns.get('label')!r}"
    else:
        return
    raise EngineError(
        f"{checkpoints.folder} holds a run {differ}: name another folder, or put it back as it was"
    )
