"""``stream-llsvm rollback``: go back to an older checkpoint."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Annotated

from typer import Option

from stream_llsvm.cli.errors import MistakeError, RunFailedError, one_line, put
from stream_llsvm.cli.options import FOLDER_FLAG, TRUST

if TYPE_CHECKING:
    from stream_llsvm.engine.rollback import RolledBack

EXAMPLE = "stream-llsvm rollback --checkpoints kept --to before-black-friday --skip"


def command(
    checkpoints: FOLDER_FLAG,
    to: Annotated[
        str, Option(metavar="CHECKPOINT", help="Its number, its name, or its file's name.")
    ],
    replay: Annotated[
        bool, Option("--replay", help="Read again, and learn, what came since.")
    ] = False,
    skip: Annotated[
        bool, Option("--skip", help="Go on where the run stopped, with the older model.")
    ] = False,
    trust_pickle: TRUST = False,
) -> int:
    """Go back."""
    from stream_llsvm.cli.run_request import existing
    from stream_llsvm.engine.checkpoints import CheckpointError, Checkpoints
    from stream_llsvm.engine.rollback import roll_back

    if replay == skip:
        raise MistakeError("say what becomes of the records since: --replay or --skip")
    place = existing(checkpoints)
    try:
        kept = Checkpoints(place, keep=10**9)  # nothing goes while one chooses
    except CheckpointError as error:
        raise MistakeError(one_line(error)) from None
    with closing(kept):
        try:
            number = kept.number_of(to)
            done = roll_back(kept, number, replay=replay, trust_pickle=trust_pickle)
        except CheckpointError as error:
            raise MistakeError(one_line(error)) from None
        except OSError as error:
            raise RunFailedError(one_line(error)) from None
    put("\n".join(told(done)))
    return 0


def told(done: RolledBack) -> list[str]:
    """Return in words what was done, and what the next run will do."""
    lines = [
        f"checkpoint {done.number} has the model of checkpoint {done.to}; the next run goes on "
        "from there",
        f"{done.records:,} records came since, {done.learned:,} of them learned: "
        + ("they are read and learned again" if done.replayed else "this model never sees them"),
    ]
    predictions, letters = done.outputs
    if predictions:
        lines.append("predictions of these records are cut away, and written again")
    elif done.replayed and done.records:
        lines.append("predictions of these records that cannot be cut away are written twice")
    elif done.records:
        lines.append("predictions of these records stay as they are")
    if letters:
        lines.append("rejected records among them are cut away, and written again")
    return [*lines, f"to undo it: stream-llsvm rollback --to {done.newest}, in the same folder"]
