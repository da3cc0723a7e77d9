"""A round, from its slices to the merged model; knows where learners live only as a `Host`."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

from stream_llsvm.cluster.auditor import Auditor
from stream_llsvm.cluster.checks import check_learners
from stream_llsvm.cluster.host import Host
from stream_llsvm.cluster.plan import Slice, weights
from stream_llsvm.cluster.rounds import Done, Lesson, in_order, model_bytes, model_of
from stream_llsvm.cluster.shards import Files, Shard, merged
from stream_llsvm.learners.keyed import KeyedClassifier
from stream_llsvm.learners.merge import MergeWarning

NO_FILES = Files()
_PATIENCE = 5.0  # seconds between two looks at whether learners have a processor each


class Outcome(NamedTuple):
    """What came of a round.

    Attributes
    ----------
    model
        What all learners begin the next round with.
    done
        What each learner did, in the order of the slices.
    fallbacks
        The members that had no mean, so that the newest learner's was taken.
    restarts
        How many learners were replaced meanwhile.
    seconds
        How long each part took: ``learn`` until the slowest had learned, ``merge``.
    files
        Of a model for each key, the files that hold the keys.

    """

    model: Any
    done: list[Done]
    fallbacks: list[str]
    restarts: int
    seconds: dict[str, float]
    files: Files = NO_FILES


def _stretch(slices: Sequence[Slice]) -> Slice:
    """Return all slices of a round as one."""
    return Slice(slices[0].begin, slices[-1].end)


class Coordinator:
    """Deals slices out to learners and makes one model of what they have learned.

    Parameters
    ----------
    host
        Where learners live.
    newest
        How much more each learner counts than the one with the slice before.
    folder
        Where manifests are, if anywhere; all learners must see it.
    auditor
        Who measures what several learners cost, if anybody does.
    note
        What is told of events: their kind, and their text.

    """

    def __init__(
        self,
        host: Host,
        newest: float = 2.0,
        folder: Path | None = None,
        auditor: Auditor | None = None,
        note: Callable[[str, str], object] = lambda kind, text: None,
    ) -> None:
        self.host, self.newest, self.folder = host, newest, folder
        self.auditor, self._note = auditor, note
        self._checked = 0

    def start(self, n: int) -> None:
        """See that there are so many learners, who fit together and see the folder."""
        self.host.start(n)
        if n > self._checked:
            check_learners(self.host, range(self._checked, n), self.folder)
            self._checked = n

    def close(self) -> None:
        """End all learners."""
        self.host.close()
        self._checked = 0

    def round(
        self,
        epoch: int,
        model: Any,
        slices: Sequence[Slice],
        files: Files = NO_FILES,
        learned: int = 0,
        then: Sequence[Slice] = (),
    ) -> Outcome:
        """Return what came of a round; the model that it begins with stays as it is.

        Learners of one model get a slice each. Of a model for each key all get the same stretch,
        and learn the records of their keys. The model has learned so many records. The slices of
        the next round are ``then``, if that is known.
        """
        begin = time.perf_counter()
        ranks = range(len(slices))
        self.start(len(slices))
        before = sum(map(self.host.restarted, ranks))
        data = self.host.share(model_bytes(model))
        lessons = [Lesson(epoch, (part,)) for part in slices]
        if isinstance(model, KeyedClassifier):
            lessons = self._by_key(epoch, slices, files)
            then = [_stretch(then)] * len(slices) if then else ()
        answers = [
            self.host.call(rank, "learn", data, lesson._replace(learned=learned, then=after))
            for rank, (lesson, after) in enumerate(zip_longest(lessons, then))
        ]
        audited = self._is_audited(data, epoch, model, slices)
        done: list[Done] = self._results(answers)
        if self.auditor is not None:
            if audited:
                self.auditor.end(in_order(done))
            self.auditor.look()
        learn = time.perf_counter() - begin
        model, fallbacks = self._merged(model, [one.model for one in done])
        return Outcome(
            model,
            done,
            fallbacks,
            sum(map(self.host.restarted, ranks)) - before,
            {"learn": learn, "merge": time.perf_counter() - begin - learn},
            files.after([one.written for one in done if one.written], whole=files.whole),
        )

    def _results(self, answers: Sequence[Future[Any]]) -> list[Any]:
        """Return what learners did; that one waits for a processor is an event."""
        results, waits = [], False
        for rank, answer in enumerate(answers):
            while not wait([answer], _PATIENCE).done:
                room = None if waits else self.host.room()
                if room is not None:
                    waits = True
                    text = f"learner {rank} waits for a processor: the cluster has {room}"
                    self._note("recovering", text)
            results.append(answer.result())
        if waits:
            self._note("reconnected", "each learner has a processor again")
        return results

    def _is_audited(self, data: Any, epoch: int, model: Any, slices: Sequence[Slice]) -> bool:
        """Let the round be learned by one, too, if it is its turn."""
        if self.auditor is None or isinstance(model, KeyedClassifier):
            return False
        return self.auditor.begin(self.host, data, epoch, slices)

    def _by_key(self, epoch: int, slices: Sequence[Slice], files: Files) -> list[Lesson]:
        """Return the lessons of learners who share the keys of one stretch."""
        assert self.folder is not None
        stretch, of = _stretch(slices), len(slices)
        folder = str(self.folder.resolve())
        return [
            Lesson(epoch, (stretch,), Shard(folder, files.names, rank, of, files.whole))
            for rank in range(of)
        ]

    def _merged(self, model: Any, learned: Sequence[bytes]) -> tuple[Any, list[str]]:
        """Return one model of all that have learned, and the members that had no mean."""
        first, *others = map(model_of, learned)
        if not others:
            return first, []
        if isinstance(model, KeyedClassifier):
            globals_of = [one.model for one in (first, *others)]
            inner, fallbacks = self._one_of(model.model, globals_of, 1.0)
            return merged(model, [first, *others], inner), fallbacks
        return self._one_of(model, [first, *others], self.newest)

    def _one_of(self, model: Any, models: Sequence[Any], newest: float) -> tuple[Any, list[str]]:
        first, *others = models
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MergeWarning)  # it is counted, and shown
            one = first.merge(others, weights(len(models), newest), since=model)
        # Models that were read from bytes have forgotten what merges before them took.
        before = model.merge_fallbacks
        taken = {name: n - before.get(name, 0) for name, n in one.merge_fallbacks.items()}
        return one, [name for name, n in taken.items() if n > 0]
