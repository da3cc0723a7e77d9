"""What a learner does in a round: a model and slices in, the model that has learned them out.

The same model and slices give the same bytes, wherever and however often that is done: a learner
that dies is replaced, and its part of the round done again.
"""

from __future__ import annotations

import os
import platform
import socket
import time
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from stream_llsvm.cluster.outbox import Encode, Outbox
from stream_llsvm.cluster.plan import Slice
from stream_llsvm.cluster.shards import Shard, ShardKeeper, Written, sent_payload, shard_of
from stream_llsvm.connectors.base import Batch, Disorder, Prefetching, Sliced, SourceError
from stream_llsvm.connectors.description import opened
from stream_llsvm.connectors.rows import chosen
from stream_llsvm.connectors.values import Values
from stream_llsvm.engine.census import Census, is_counted
from stream_llsvm.engine.keys import parted, sound
from stream_llsvm.engine.learner import Answers, Learner
from stream_llsvm.engine.rejects import Rejects
from stream_llsvm.kernels.inside_numba import processor
from stream_llsvm.learners.load import from_payload
from stream_llsvm.model.packing import pack, unpack
from stream_llsvm.version import __version__

_ALL = 1.0  # a share of rejected records that is never exceeded: the coordinator judges


class Setup(NamedTuple):
    """What every learner of a run is told once, as plain data.

    Attributes
    ----------
    source
        A description, see ``connectors/description.py``.
    numbers
        How a label that is text is read as a number, by `Values`' options.
    encode
        What makes predictions ready to be written; None if nobody wants them.
    every
        Whether predictions say the probability of every label.
    letters
        Whether records that cannot be used are wanted, with their bytes.

    """

    source: Mapping[str, Any]
    numbers: Mapping[str, Any] | None = None
    encode: Encode | None = None
    every: bool = False
    letters: bool = False


class Lesson(NamedTuple):
    """What a learner does in a round.

    Attributes
    ----------
    epoch
        Which round it is.
    slices
        What is learned, in order.
    shard
        Of a model for each key: only the records of these keys are learned.
    learned
        How many records the model has learned before; None if nothing is to be written.
    then
        What the learner will probably learn in the next round, if it can be fetched before.

    """

    epoch: int
    slices: tuple[Slice, ...]
    shard: Shard | None = None
    learned: int | None = None
    then: Slice | None = None


class Answered(NamedTuple):
    """What scores are made of: a batch's labels, the answers to it, and its weights.

    Attributes
    ----------
    taken, records
        How many records there are, and how many with the rejected.
    at
        Which records of the lesson's slices they are, if others learn the rest of them.

    """

    labels: Sequence[Any]
    answers: Answers
    weights: NDArray[np.float64] | None
    taken: int
    records: int
    at: NDArray[np.int64] | None = None


class Done(NamedTuple):
    """What a learner has done in a round.

    Attributes
    ----------
    epoch
        Of the lesson.
    model
        The model that has learned.
    answered
        Its answers, batch by batch.
    rejects
        What could not be used.
    disorder
        How far records were not in order.
    seconds
        How long each part took: ``read``, ``learn``, ``carry`` (unpack and pack the model), and
        ``cpu`` of the thread that learned.
    process
        Which process did it.
    outbox
        What is to be written.
    census
        What fields were taken for.
    written
        The file with what was learned of keys, if any.

    """

    epoch: int
    model: bytes
    answered: list[Answered]
    rejects: Rejects
    disorder: list[Disorder]
    seconds: dict[str, float]
    process: str
    outbox: Outbox
    census: Census
    written: Written | None = None


def model_bytes(model: Any) -> bytes:
    """Return a model as bytes, the same for models that are the same; without what keys know."""
    return pack(sent_payload(model))


def model_of(data: bytes) -> Any:
    """Return the model that `model_bytes` made these bytes of."""
    return from_payload(unpack(memoryview(data)))


def about() -> dict[str, Any]:
    """Return what has to be the same in all processes of a cluster, for the same bits."""
    return {
        "stream_llsvm": __version__,
        "Python": platform.python_version(),
        "numba": numba.__version__,
        "numpy": np.__version__,
        "the processor that kernels are compiled for": " ".join(processor()[:2]),
    }


def process_name() -> str:
    """Return a name that no other process of the cluster has."""
    return f"{socket.gethostname()}:{os.getpid()}"


class Worker:
    """A learner: it keeps its source open between rounds, and nothing else that counts.

    Parameters
    ----------
    setup
        What all learners are told.

    """

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self._source: Sliced | None = None
        self._keeper = ShardKeeper()

    @property
    def source(self) -> Sliced:
        """Its records, opened when they are first wanted."""
        if self._source is None:
            self._source = sliced(self._setup.source)
        return self._source

    def learn(self, model: bytes, lesson: Lesson) -> Done:
        """Let a model learn the slices of a lesson."""
        return learned(model, lesson, self.source, self._setup, self._keeper)

    def about(self) -> dict[str, Any]:
        """Return what has to be the same in all processes of a cluster."""
        return about()

    def read(self, path: str) -> str | None:
        """Return the text of a file as it is seen from here; None if there is none."""
        try:
            return Path(path).read_text(encoding="utf-8")
        except OSError:
            return None

    def close(self) -> None:
        """Let go of the source."""
        if self._source is not None:
            self._source.close()
            self._source = None


def sliced(description: Mapping[str, Any]) -> Sliced:
    """Return the source of a description; SourceError if it cannot be dealt out."""
    source = opened(description)
    if not isinstance(source, Sliced):
        source.close()
        raise SourceError(refusal(source.name))
    return source


def refusal(name: str) -> str:
    """Return why a source cannot be used, and what to do."""
    return (
        f"{name} cannot be dealt out over several learners: it has no slices of time, as files and "
        "topics have; learn it in one process, without workers"
    )


def learned(
    model: bytes,
    lesson: Lesson,
    source: Sliced,
    setup: Setup,
    keeper: ShardKeeper | None = None,
) -> Done:
    """Return a model after it has answered and learned all records of a lesson.

    Parameters
    ----------
    model
        The model that all learners of the round begin with, as `model_bytes` gives it.
    lesson
        What is learned.
    source
        Where it is.
    setup
        What all learners are told.
    keeper
        What knows the keys of the lesson's shard.

    """
    begin, worked = time.perf_counter(), time.thread_time()
    seconds = {"read": 0.0, "learn": 0.0, "carry": 0.0}
    values = None if setup.numbers is None else Values(**setup.numbers)
    learner = Learner(model_of(model), every=setup.every, values=values)
    shard, keeper = lesson.shard, keeper or ShardKeeper()
    if shard is not None:
        keeper.bring(learner.model, shard, lesson.epoch)
    since = 0 if shard is None else learner.model._bank.taught
    seconds["carry"] += time.perf_counter() - begin
    writes = lesson.learned is not None
    encode, letters = (setup.encode, setup.letters) if writes else (None, False)
    outbox = Outbox(encode, letters, lesson.learned or 0)
    rejects, answered, disorder = Rejects(outbox, _ALL), list[Answered](), list[Disorder]()
    first, census = 0, Census()
    # What several learners read is counted by one of them, and what an auditor reads by nobody.
    counts = writes and (shard is None or shard.rank == 0)
    counts = counts and is_counted(lesson.learned or 0, lesson.epoch)
    for part in lesson.slices:
        batches = source.between(*part)
        while True:
            begin = time.perf_counter()
            batch = next(batches, None)
            seconds["read"] += time.perf_counter() - begin
            if batch is None:
                break
            begin = time.perf_counter()
            batch, at = learner.readable(batch), None
            if counts:
                census.take(batch)
            if shard is not None:
                n = len(batch)
                batch, own = belonging(batch, learner.key, shard)
                at, first = own + first, first + n
            answered.append(_answered(learner, batch, at, rejects, outbox))
            seconds["learn"] += time.perf_counter() - begin
            if batch.disorder is not None:
                disorder.append(batch.disorder)
    if lesson.then is not None and isinstance(source, Prefetching):
        source.prefetch(*lesson.then)  # while models are merged and sent
    begin, written = time.perf_counter(), None
    if shard is not None:
        written = keeper.keep(learner.model, shard, lesson.epoch, since)
    data = model_bytes(learner.model)
    seconds["carry"] += time.perf_counter() - begin
    seconds["cpu"] = time.thread_time() - worked
    rejects.letters = None  # the letters go by themselves
    return Done(
        lesson.epoch, data, answered, rejects, disorder, seconds, process_name(), outbox, census,
        written,
    )  # fmt: skip


def _answered(
    learner: Learner,
    batch: Batch,
    at: NDArray[np.int64] | None,
    rejects: Rejects,
    outbox: Outbox,
) -> Answered:
    """Let the learner answer and learn a batch that it can read."""
    rejects.take(batch.rejected, batch.bad_fields)
    rejects.deletes += batch.deletes
    records = len(batch) + len(batch.rejected)
    if len(batch) == 0:
        return Answered([], Answers([], None, None, {}), None, 0, records, at)
    answers = learner.take(batch)
    rejects.refused(batch.places, answers.refused)
    outbox.take(batch, answers, at)
    labels = batch.labels if answers.given is None else answers.given
    return Answered(
        labels, answers._replace(probabilities=None), batch.weights, len(batch), records, at
    )


def belonging(batch: Batch, key: Hashable, shard: Shard) -> tuple[Batch, NDArray[np.int64]]:
    """Return the records of a shard's keys, and which ones these are.

    What lies between records, such as the rejected, belongs to the first learner.
    """
    keys = sound(parted(batch, key)[0])
    mine = [i for i, own in enumerate(keys) if shard_of(own, shard.of) == shard.rank]
    at = np.array(mine, dtype=np.int64)
    some = batch if len(mine) == len(batch) else chosen(batch, at)
    if shard.rank > 0:
        return replace(some, rejected=[], bad_fields=[], deletes=0, disorder=None), at
    between = {name: getattr(batch, name) for name in ("rejected", "bad_fields", "deletes")}
    return replace(some, disorder=batch.disorder, **between), at


def in_order(done: Sequence[Done]) -> list[Answered]:
    """Return the answers of a round in the order of its records."""
    parts = [one for each in done for one in each.answered]
    if any(one.at is None for one in parts) or len(done) == 1:
        return parts
    taken = [one for one in parts if one.at is not None and one.taken]
    records = sum(one.records for one in parts)
    if not taken:
        return [Answered([], Answers([], None, None, {}), None, 0, records)]
    order = np.argsort(np.concatenate([one.at for one in taken if one.at is not None]))
    labels = [label for one in taken for label in one.labels]
    told = [label for one in taken for label in one.answers.labels]
    truth = np.concatenate([one.answers.truth for one in taken if one.answers.truth is not None])
    weights = None
    if any(one.weights is not None for one in taken):
        each = [np.ones(one.taken) if one.weights is None else one.weights for one in taken]
        weights = np.concatenate(each)[order]
    places, refused, offset = np.argsort(order), dict[int, str](), 0
    for one in taken:
        refused |= {int(places[offset + i]): why for i, why in one.answers.refused.items()}
        offset += one.taken
    sure = np.concatenate([one.answers.sure for one in taken if one.answers.sure is not None])
    wild = sum(one.answers.non_finite for one in taken)
    answers = Answers([told[i] for i in order], sure[order], truth[order], refused, non_finite=wild)
    return [Answered([labels[i] for i in order], answers, weights, len(order), records)]
