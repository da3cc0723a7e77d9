"""``run --standby``: wait while another process owns the checkpoints, and go on when it dies."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from stream_llsvm.cli.build import connector_for, made
from stream_llsvm.cli.checks import check_can_write, check_columns, check_folder_place
from stream_llsvm.cli.errors import MistakeError, one_line
from stream_llsvm.cli.inspect import read_saved
from stream_llsvm.cli.log import say
from stream_llsvm.cli.pipeline import Settings
from stream_llsvm.cli.signals import Stopping
from stream_llsvm.cli.watch import check_page
from stream_llsvm.engine.lease import SECONDS, Lease, LeaseError, Term, TermOverError


def owned(settings: Settings, stack: ExitStack) -> tuple[Lease | None, str | None]:
    """Return the lease of the folder of checkpoints, once it is this process's.

    None, and the signal, if it was told to stop before. Who had it before is shut out of the files
    that the run writes to.
    """
    check(settings)
    kept = settings["checkpoints"]
    lease, stop = Lease(kept["folder"], kept.get("lease", SECONDS)), threading.Event()
    try:
        with Stopping(stop.set) as stopping:
            if not lease.take(stop, _waiting(kept["folder"])):
                return None, stopping.by
        stack.callback(lease.release)
        for section in ("sink", "dead_letters"):
            if (given := settings.get(section)) is not None:
                _shut_out(given, lease)
    except LeaseError as error:
        raise MistakeError(one_line(error)) from None
    return lease, None


def check(settings: Settings) -> None:
    """Raise MistakeError if this process could not take over: it is said now, and not at night."""
    sink, folder = settings.get("sink"), settings["checkpoints"]["folder"]
    if sink is not None:
        connector = connector_for(sink["to"])
        made(lambda: connector.check_shared(sink["to"], sink))
    check_folder_place("--checkpoints", folder)
    slices = settings.get("engine", {}).get("slices", ())
    for name in ("source", "labels", "sink", "dead_letters"):
        given = settings.get(name, {})
        for address in given.get("from", [given["to"]] if "to" in given else []):
            for module in connector_for(address).needs:
                made(partial(import_module, module))
            if "from" in given:
                check_columns(address, given, slices if name == "source" else ())
    folders = [Path(folder)]
    if (publish := settings.get("publish")) is not None:
        check_folder_place("--publish", publish["folder"])
        folders.append(Path(publish["folder"]))
    save = settings.get("model", {}).get("save")
    if save is not None and (Path(save).parent not in folders or Path(save).parent.exists()):
        check_can_write("--save", save)
    if "dashboard" in settings:
        check_page(settings["dashboard"])


def _shut_out(given: Mapping[str, Any], lease: Lease) -> None:
    connector = connector_for(given["to"])
    made(lambda: connector.shut_out(given["to"], lease.confirm))


def _waiting(folder: str) -> Callable[[Term], None]:
    """Return what says once for whom this process waits, and gets ready meanwhile."""
    said: set[tuple[int, str]] = set()
    ready = False

    def waiting(term: Term) -> None:
        nonlocal ready
        if term.beat and (term.number, term.owner) not in said:
            said.add((term.number, term.owner))
            say(
                f"standing by: {term.owner} owns {folder}, in term {term.number}",
                event="standing by",
                term=term.number,
            )
        ready = ready or _rehearsed(folder)

    return waiting


def _rehearsed(folder: str) -> bool:
    """Load the kernels of the newest checkpoint's model, so that it need not be done in need.

    False if there is none yet that has learned something.
    """
    try:
        learner = read_saved(folder).own
    except MistakeError:
        return False
    if learner is None or not learner.features:
        return False
    key = getattr(learner, "key", None)
    with warnings.catch_warnings(action="ignore"):  # that it names no feature
        learner.predict_one({} if key is None else {key: ""})
    return True


def cause_of(error: Exception, lease: Lease | None) -> Exception:
    """Return why a run failed: if somebody has taken over, whatever failed did because of that."""
    try:
        if lease is not None:
            lease.confirm()
    except TermOverError as over:
        return over
    return error


def story(lease: Lease) -> str:
    """Say how this process came to own the folder."""
    before = lease.before
    if before is None or before.number == 0:
        return f"term {lease.term} of {lease.place.parent}, the first"
    how = "which has left it" if before.left else f"silent for {before.seconds:g} s"
    return f"term {lease.term} of {lease.place.parent}, after {before.owner}, {how}"
