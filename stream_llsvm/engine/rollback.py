"""Going back to an older checkpoint: what came since is learned once more, or left out.

Nothing is deleted. The folder gets one checkpoint more, the newest, made of the older one; so one
can also go back from going back.
"""

from __future__ import annotations

import time
from typing import Any, NamedTuple

from stream_llsvm.engine.checkpoints import CheckpointError, Checkpoints, read_checkpoint
from stream_llsvm.engine.key_parts import in_one
from stream_llsvm.engine.resume import contents_of
from stream_llsvm.model.file import ModelFileError

#: What a model has learned, and what goes with it.
_OF_THE_MODEL = ("model", "challengers", "decision")


class RolledBack(NamedTuple):
    """What was done: the new checkpoint, and what becomes of what came since the older one.

    Attributes
    ----------
    number
        Of the checkpoint that was made.
    to, newest
        The one that it was made of, and the newest one there was.
    records, learned
        How many records came between the two, and how many of them had been learned.
    replayed
        Whether they come again.
    outputs
        Whether predictions, and dead letters, are cut back to where they were then.

    """

    number: int
    to: int
    newest: int
    records: int
    learned: int
    replayed: bool
    outputs: tuple[bool, bool]


def roll_back(
    checkpoints: Checkpoints, to: int, *, replay: bool, trust_pickle: bool = False
) -> RolledBack:
    """Let the next run of a folder begin with the model of an older checkpoint.

    Parameters
    ----------
    checkpoints
        The folder, which no run uses meanwhile.
    to
        The number of the checkpoint.
    replay
        Whether that run reads again what came since, and takes back what was written of it; or
        goes on where the last one stopped, with the older model.
    trust_pickle
        Whether pickled parts are read.

    Raises
    ------
    CheckpointError
        If one of the two cannot be read, or records cannot come again.

    """
    old = _payload(checkpoints, to, trust_pickle)
    newest = checkpoints.number
    new = old if newest == to else _payload(checkpoints, newest, trust_pickle)
    if replay and (why := new.get("once") or old.get("once")):
        raise CheckpointError(f"what came since cannot be learned again: {why}; --skip leaves it")
    then, now = (one["progress"]["counts"] for one in (old, new))
    records, learned = (now[name] - then[name] for name in ("records", "learned"))
    said = "learned again" if replay else "not learned by this model"
    text = f"to checkpoint {to}: {records:,} records that came since are {said}"
    made: dict[str, Any] = dict(old)
    if not replay:
        made = new | {name: old[name] for name in _OF_THE_MODEL if name in old}
    # The rows of keys lie in this file: those beside it are the older checkpoint's.
    made = in_one(made) | {"rolled_back": text, "time": time.time()}
    number = checkpoints.write(made, record=made["progress"]["counts"]["records"], wait=True)
    assert number is not None
    written = zip(old["written"], new["written"], strict=True)
    cut = tuple(replay and was is not None and was != is_ for was, is_ in written)
    return RolledBack(number, to, newest, records, learned, replay, (cut[0], cut[1]))


def _payload(checkpoints: Checkpoints, number: int, trust_pickle: bool) -> dict[str, Any]:
    """Return what a checkpoint holds, after a look at all of it."""
    path = checkpoints.path(number)
    try:
        payload = read_checkpoint(path)
        contents_of(payload, trust_pickle=trust_pickle)
    except (ModelFileError, OSError) as error:
        why = str(error).removeprefix(f"{path}: ")
        raise CheckpointError(f"{path} cannot be read: {why}") from None
    return payload
