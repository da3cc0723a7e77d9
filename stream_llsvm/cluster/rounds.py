"""What a learner does in a round: a model and slices in, the model that has learned them out.

The same model and slices give the same bytes, wherever and however often that is done: a learner
that dies is replaced, and its part of the round done again.
"""

from __future__ import annotations

import os
import platform
import socket
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from stream_llsvm.cluster.plan import Slice
from stream_llsvm.connectors.base import Batch, Disorder, Sliced, SourceError
from stream_llsvm.connectors.description import opened
from stream_llsvm.connectors.values import Values
from stream_llsvm.engine.learner import Answers, Learner
from stream_llsvm.engine.rejects import Rejects
from stream_llsvm.kernels.inside_numba import processor
from stream_llsvm.learners.load import from_payload
from stream_llsvm.learners.pipeline import payload_of
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

    """

    source: Mapping[str, Any]
    numbers: Mapping[str, Any] | None = None


class Lesson(NamedTuple):
    """What a learner does in a round.

    Attributes
    ----------
    epoch
        Which round it is.
    slices
        What is learned, in order.

    """

    epoch: int
    slices: tuple[Slice, ...]


class Answered(NamedTuple):
    """A batch's labels, the answers to it, and its weights; how many it has, and with the rejected.

    That is what scores are made of.
    """

    labels: Sequence[Any]
    answers: Answers
    weights: NDArray[np.float64] | None
    taken: int
    records: int


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

    """

    epoch: int
    model: bytes
    answered: list[Answered]
    rejects: Rejects
    disorder: list[Disorder]
    seconds: dict[str, float]
    process: str


def model_bytes(model: Any) -> bytes:
    """Return a model as bytes: the same for models that are the same."""
    return pack(payload_of(model))


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

    @property
    def source(self) -> Sliced:
        """Its records, opened when they are first wanted."""
        if self._source is None:
            self._source = sliced(self._setup.source)
        return self._source

    def learn(self, model: bytes, lesson: Lesson) -> Done:
        """Let a model learn the slices of a lesson."""
        return learned(model, lesson, self.source, self._setup.numbers)

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
    model: bytes, lesson: Lesson, source: Sliced, numbers: Mapping[str, Any] | None = None
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
    numbers
        How a label that is text is read as a number, by `Values`' options.

    """
    begin, worked = time.perf_counter(), time.thread_time()
    seconds = {"read": 0.0, "learn": 0.0, "carry": 0.0}
    learner = Learner(model_of(model), values=None if numbers is None else Values(**numbers))
    seconds["carry"] += time.perf_counter() - begin
    rejects, answered, disorder = Rejects(None, _ALL), list[Answered](), list[Disorder]()
    for part in lesson.slices:
        batches = source.between(*part)
        while True:
            begin = time.perf_counter()
            batch = next(batches, None)
            seconds["read"] += time.perf_counter() - begin
            if batch is None:
                break
            begin = time.perf_counter()
            answered.append(_answered(learner, batch, rejects))
            seconds["learn"] += time.perf_counter() - begin
            if batch.disorder is not None:
                disorder.append(batch.disorder)
    begin = time.perf_counter()
    data = model_bytes(learner.model)
    seconds["carry"] += time.perf_counter() - begin
    seconds["cpu"] = time.thread_time() - worked
    return Done(lesson.epoch, data, answered, rejects, disorder, seconds, process_name())


def _answered(learner: Learner, batch: Batch, rejects: Rejects) -> Answered:
    """Let the learner answer and learn a batch."""
    batch = learner.readable(batch)
    rejects.take(batch.rejected, batch.bad_fields)
    rejects.deletes += batch.deletes
    records = len(batch) + len(batch.rejected)
    if len(batch) == 0:
        return Answered([], Answers([], None, None, {}), None, 0, records)
    answers = learner.take(batch)
    rejects.refused(batch.places, answers.refused)
    labels = batch.labels if answers.given is None else answers.given
    scored = answers._replace(sure=None)  # which no score needs
    return Answered(labels, scored, batch.weights, len(batch), records)
