"""Ask a run that goes on in another process; or do it here, if none does."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from stream_llsvm.cli.errors import MistakeError, RunFailedError, one_line
from stream_llsvm.engine.challengers import checked_name
from stream_llsvm.engine.checkpoints import CheckpointError, Checkpoints, read_checkpoint
from stream_llsvm.engine.requests import RequestError, ask, leave
from stream_llsvm.model.file import ModelFileError


def asked(folder: str, do: str, name: str, wait: float) -> str:
    """Ask the run of a folder of checkpoints; return what came of it.

    Without a run the newest checkpoint is named here, and a promotion waits for the next run.
    """
    try:
        checked_name(name)
    except ValueError as error:
        raise MistakeError(one_line(error)) from None
    place = existing(folder)
    try:
        kept = Checkpoints(place)
    except CheckpointError as error:
        if "in use" not in str(error) and "standby" not in str(error):
            raise MistakeError(one_line(error)) from None
        return _of_the_run(place, do, name, wait)
    with closing(kept):
        if do == "checkpoint":
            return _named(kept, name)
        _check_challenger(kept, name)
        try:
            leave(place, do, name)
        except OSError as error:
            raise RunFailedError(one_line(error)) from None
        return f"no run uses {place}: the next one begins with {name} as its champion"


def existing(folder: str) -> Path:
    """Return a folder of checkpoints that is there; MistakeError if it is none."""
    place = Path(folder)
    if not any(place.glob("checkpoint-*.llsvm")):
        raise MistakeError(f"--checkpoints: {place} has no checkpoints in it")
    return place


def _of_the_run(place: Path, do: str, name: str, wait: float) -> str:
    try:
        return ask(place, do, name, wait)
    except (RequestError, OSError) as error:
        raise RunFailedError(one_line(error)) from None


def _named(kept: Checkpoints, name: str) -> str:
    try:
        kept.name(kept.number, name)
    except CheckpointError as error:
        raise MistakeError(one_line(error)) from None
    return f"checkpoint {kept.number} is kept as {name}"


def _check_challenger(kept: Checkpoints, name: str) -> None:
    """Refuse a name that no challenger of the newest checkpoint has."""
    try:
        beside = read_checkpoint(kept.path(kept.number)).get("challengers")
    except (ModelFileError, OSError) as error:
        raise RunFailedError(one_line(error)) from None
    names = list(beside["all"]) if isinstance(beside, dict) else []
    if name not in names:
        there = ", ".join(names) or "none"
        raise MistakeError(f"there is no challenger {name} in {kept.folder}: there are {there}")
