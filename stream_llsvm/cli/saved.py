"""Find and read what a user names: a model file, a checkpoint, or a folder of checkpoints."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from stream_llsvm.cli.mistakes import MistakeError, nearest, one_line
from stream_llsvm.learners.base import LocalClassifier
from stream_llsvm.learners.saving import from_payload
from stream_llsvm.model_file import ModelFileError, read


class Saved(NamedTuple):
    """What was read: the model, its file's version, and the checkpoint if it is one."""

    path: Path
    model: LocalClassifier
    version: str
    checkpoint: dict[str, Any] | None
    skipped: list[str]


def read_saved(name: str) -> Saved:
    """Return what the file holds; of a folder, the newest checkpoint that can be read."""
    path = Path(name)
    if path.is_dir():
        return _newest(path)
    if not path.exists():
        names = [one.name for one in path.parent.iterdir()] if path.parent.is_dir() else []
        like = nearest(path.name, names)
        hint = f"; did you mean {path.with_name(like)}?" if like else ""
        raise MistakeError(f"{path}: there is no such file{hint}")
    try:
        return _read(path, [])
    except (ModelFileError, OSError) as error:
        raise MistakeError(f"{path}: {_why(path, error)}") from None


def _newest(folder: Path) -> Saved:
    # Read without the lock: looking into a folder does not disturb the run that writes there.
    skipped: list[str] = []
    for path in sorted(folder.glob("checkpoint-*.llsvm"), reverse=True):
        try:
            return _read(path, skipped)
        except (ModelFileError, OSError) as error:
            skipped.append(f"{path.name}: {_why(path, error)}")
    why = f" that can be read ({skipped[0]})" if skipped else ""
    raise MistakeError(f"{folder}: there is no checkpoint in it{why}")


def _why(path: Path, error: BaseException) -> str:
    """Return what is wrong, without the path that some of these texts begin with."""
    return one_line(error).removeprefix(f"{path}: ")


def _read(path: Path, skipped: list[str]) -> Saved:
    payload: dict[str, Any] = read(path)
    checkpoint = payload if "model" in payload and "progress" in payload else None
    saved: dict[str, Any] = payload if checkpoint is None else payload["model"]
    version = str(saved.get("version", "before 0.1.0"))
    return Saved(path, from_payload(saved), version, checkpoint, skipped)
