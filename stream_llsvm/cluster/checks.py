"""What is refused before a cluster learns anything: one line each, which says what to do."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from stream_llsvm.cluster.host import Host
from stream_llsvm.cluster.rounds import about
from stream_llsvm.engine.resume import EngineError
from stream_llsvm.engine.snapshots import Publisher
from stream_llsvm.learners.base import LocalClassifier
from stream_llsvm.learners.keyed import KeyedClassifier
from stream_llsvm.learners.numbers import NumberLearner
from stream_llsvm.members.base import Member

#: Above this many learners of one model nobody has measured what it costs in accuracy.
MOST = 16


def check_workers(workers: int | str, *, force: bool = False) -> int:
    """Return how many learners there may be at most. Raises ValueError if that is no number.

    Examples
    --------
    >>> check_workers(8)
    8
    >>> check_workers(32)
    Traceback (most recent call last):
    ValueError: 32 learners of one model: every one costs accuracy, and above 16 nobody has ...

    """
    if workers == "auto":
        return min(MOST, os.cpu_count() or 1)
    if not isinstance(workers, int) or isinstance(workers, bool) or workers < 1:
        raise ValueError(f'workers is a number from 1 up, or "auto"; got {workers!r}')
    if workers > MOST and not force:
        raise ValueError(
            f"{workers} learners of one model: every one costs accuracy, and above {MOST} nobody "
            "has measured how much; take fewer, or say force"
        )
    return workers


def check_model(model: Any, workers: int, folder: Path | None) -> None:
    """Raise ValueError if so many learners cannot learn this model, kept in this folder."""
    if isinstance(model, KeyedClassifier):
        if folder is None:
            raise ValueError(
                "learners keep what they know of keys in files: give checkpoints, a folder that "
                "all of them see"
            )
        if model.max_keys is not None:
            raise ValueError(
                "max_keys is for one learner: several keep all keys, so leave it out, or learn in "
                "one process, without workers"
            )
        model = model.model
    kind = type(model).__name__
    if not isinstance(model, LocalClassifier | NumberLearner):
        raise ValueError(
            f"a {kind} cannot be learned by a cluster: only this package's own models can be "
            "merged; learn it in one process, without workers"
        )
    if workers == 1:
        return
    alone = [one.name for one in model._members() if type(one).merge is Member.merge]
    if alone:
        raise ValueError(
            f"a {kind} with the member {alone[0]!r} cannot be merged: leave that member out, or "
            "take one learner"
        )


def shared_only(model: Any, *, newest: float | None, audit: float | None) -> tuple[float, float]:
    """Return how slices count and how many rounds are audited; ValueError if nobody would heed it.

    Of a model for each key all learners of a round have the same slice.
    """
    if isinstance(model, KeyedClassifier):
        if newest is not None or audit:
            raise ValueError(
                f"{'audit' if newest is None else 'newest'} is for one model that several learn: "
                "of a model for each key each learns other keys of the same slice; leave it out"
            )
        return 1.0, 0.0
    return 2.0 if newest is None else newest, 0.02 if audit is None else audit


def check_watchers(model: Any, watchers: Iterable[object]) -> None:
    """Raise EngineError if one would publish a model for each key: the keys are with the learners.

    What readers got would know no key, and nobody would see that.
    """
    if isinstance(model, KeyedClassifier) and any(isinstance(one, Publisher) for one in watchers):
        raise EngineError(
            "a model for each key cannot be published while several learn it: publish it from one "
            "process, without workers"
        )


def check_learners(host: Host, ranks: Iterable[int], folder: Path | None) -> None:
    """Raise EngineError if learners would learn other bits, or do not see the run's folder."""
    ours = about()
    told = {rank: host.call(rank, "about") for rank in ranks}
    for rank, answer in told.items():
        theirs = answer.result()
        for name, value in ours.items():
            if theirs.get(name) != value:
                raise EngineError(
                    f"learner {rank} has another {name}, {theirs.get(name)}, not {value}: install "
                    "the same on all machines, or models would differ"
                )
    if folder is None:
        return
    path, token = folder / f".seen-by-all-{secrets.token_hex(8)}", secrets.token_hex(16)
    try:
        path.write_text(token, encoding="utf-8")
        seen = {rank: host.call(rank, "read", str(path.resolve())) for rank in told}
        for rank, answer in seen.items():
            if answer.result() != token:
                raise EngineError(
                    f"learner {rank} does not see {folder}, where the run is kept: choose a folder "
                    "that all machines share"
                )
    except OSError as error:
        raise EngineError(f"cannot write to {folder}: {error}") from None
    finally:
        path.unlink(missing_ok=True)
