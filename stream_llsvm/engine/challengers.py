"""Models that learn the same stream beside the one that answers, and may take its place.

The champion answers; challengers are asked and taught the same records, decoded once, and nobody is
told what they say. Each has scores of its own, and a test of whether it errs less than the
champion. A challenger that fails is dropped: whatever happens to it, the champion goes on.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.connectors.base import Batch
from stream_llsvm.engine.keys import rows_with_keys
from stream_llsvm.engine.learner import Answers, Learner
from stream_llsvm.engine.number_scores import shares_of
from stream_llsvm.engine.paired_test import PairedTest, Verdict
from stream_llsvm.engine.progress import Progress, Scored
from stream_llsvm.engine.task import Task, task_of
from stream_llsvm.engine.validation import count, part, require
from stream_llsvm.learners.pipeline import learner_in, payload_of

if TYPE_CHECKING:
    from stream_llsvm.connectors.values import Values

log = logging.getLogger("stream_llsvm")

ORIGINAL = "original"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_LOOK = 100  # records between two looks at who is better


def checked_name(name: Any) -> str:
    """Return the name of a model, or of a checkpoint, if it will do; ValueError if not.

    Examples
    --------
    >>> checked_name("before-black-friday")
    'before-black-friday'

    """
    if not isinstance(name, str) or _NAME.fullmatch(name) is None:
        raise ValueError(
            f"a name is up to 64 letters, digits, dots, hyphens and underscores; got {name!r}"
        )
    return name


class Rival(NamedTuple):
    """How a challenger does beside the champion, copied.

    Attributes
    ----------
    name, model
        What it is called, and its class.
    scores
        Its own, as those of a run.
    learned, refused
        How many records it has learned, and how many it would not take.
    compared
        How many records both have answered.
    difference, low, high
        Its error minus the champion's, on the mean of these, and where that lies.
    verdict
        Whether it is better or worse than the champion, or that is undecided.
    microseconds
        What a record costs it, to be asked and taught.

    """

    name: str
    model: str
    scores: dict[str, dict[str, float]]
    learned: int
    refused: int
    compared: int
    difference: float
    low: float
    high: float
    verdict: Verdict
    microseconds: float


class Challenger:
    """A model beside the champion, its scores, and how it compares.

    Parameters
    ----------
    learner
        The model, asked and taught.
    window
        How many of the last records its windowed scores look at.

    """

    def __init__(self, learner: Learner, window: int) -> None:
        self.learner = learner
        self.progress = Progress(window, None, learner.task)
        self.test = PairedTest()
        self.refused = 0
        self.seconds, self.timed = 0.0, 0
        self.answers: Answers | None = None  # of the last batch
        self._told: Verdict = "undecided"
        self._next_look = _LOOK

    def take(self, batch: Batch, champion: Scored) -> None:
        """Answer and learn a batch, and compare its errors with the champion's."""
        begin = time.thread_time()
        self.answers = self._answered(batch)
        self.seconds += time.thread_time() - begin
        self.timed += len(batch)
        self.refused += len(self.answers.refused)
        self._compare(self.progress.score(batch.labels, self.answers, batch.weights), champion)
        self.progress.foretold(self.answers)
        self.progress.counts["records"] += len(batch)

    def _answered(self, batch: Batch) -> Answers:
        learner = self.learner
        if learner.key is None:
            return learner.take(batch)
        # The champion may have no use for keys: one without is refused here, and only here.
        rows = rows_with_keys(batch, learner.key)
        if len(rows) == len(batch):
            return learner.take(batch)
        from stream_llsvm.connectors.rows import chosen  # late: it brings what reads text

        return among(learner.take(chosen(batch, np.array(rows, np.int64))), rows, len(batch))

    def learn_late(
        self, x: dict[str, Any], label: Any, weight: float, then: Answers | None, champion: Scored
    ) -> None:
        """Learn a record whose label has come, and score what was answered of it then."""
        why = self.learner.teach(x, label, weight)
        if why is not None:
            self.refused += 1
        elif then is not None:
            weights = np.array([weight])
            self._compare(self.progress.score([label], then, weights), champion)

    def _compare(self, own: Scored, champion: Scored) -> None:
        own_at, at = _together(own.rows, champion.rows)
        errors, others = own.errors[own_at], champion.errors[at]
        if champion.spreads is not None:
            # Both by what the champion knows of the labels: the challenger may have come later.
            spreads = champion.spreads[at]
            errors, others = shares_of(errors, spreads), shares_of(others, spreads)
        self.test.update(errors - others)

    def news(self) -> Verdict | None:
        """Return what the test says, if that has changed since somebody asked."""
        if self.test.n < self._next_look:
            return None
        self._next_look = self.test.n + _LOOK
        verdict = self.test.verdict
        if verdict == self._told:
            return None
        self._told = verdict
        return verdict

    def payload(self, *, trust_pickle: bool = False) -> dict[str, Any]:
        """Return what a checkpoint keeps; nothing in it changes any more."""
        return {
            "model": payload_of(self.learner.model, trust_pickle=trust_pickle),
            "progress": self.progress.payload(),
            "test": self.test.payload(),
            "refused": self.refused,
        }

    def restore(self, payload: Mapping[str, Any]) -> None:
        """Continue from what `payload` gave; raises ModelFileError if it does not fit together."""
        self.progress.restore(part(payload, "progress", dict))
        self.test = PairedTest.restored(part(payload, "test", dict))
        self.refused = count(payload, "refused")
        self._told, self._next_look = self.test.verdict, self.test.n + _LOOK

    def rival(self, name: str) -> Rival:
        """Return how it does."""
        low, high = self.test.interval
        return Rival(
            name, type(learner_in(self.learner.model)).__name__, self.progress.scores.report(),
            self.progress.counts["learned"], self.refused, self.test.n, self.test.mean, low, high,
            self.test.verdict, 1e6 * self.seconds / max(self.timed, 1),
        )  # fmt: skip


class Kept(NamedTuple):
    """What a checkpoint holds of challengers: each one's model, and the rest of its payload.

    The champion's name is None if the checkpoint does not say it.
    """

    champion: str | None
    models: dict[str, Any]
    payloads: dict[str, dict[str, Any]]
    dropped: dict[str, str]
    promoted: int


def kept_of(
    payload: Mapping[str, Any] | None, task: Task, made: Callable[[Mapping[str, Any]], Any]
) -> Kept:
    """Return what a payload holds; raises ModelFileError if it does not fit together.

    Parameters
    ----------
    payload
        What `Challengers.payload` gave, None of a version before there were any.
    task
        What the champion learns.
    made
        Makes a model of its payload.

    """
    if payload is None:
        return Kept(None, {}, {}, {}, 0)
    champion, dropped = part(payload, "champion", str), part(payload, "dropped", dict)
    payloads, models = part(payload, "all", dict), dict[str, Any]()
    names = [champion, *payloads]
    require(all(type(name) is str and _NAME.fullmatch(name) for name in names), "challengers")
    require(len(set(names)) == len(names), "challengers")
    texts = [text for pair in dropped.items() for text in pair]
    require(all(type(text) is str for text in texts), "dropped")
    for name, one in payloads.items():
        require(type(one) is dict, "challengers")
        models[name] = made(part(one, "model", dict))
        require(task_of(models[name]) == task, "challengers")
        Challenger(Learner(models[name]), 1).restore(one)
    return Kept(champion, models, payloads, dict(dropped), count(payload, "promoted"))


class Challengers:
    """All challengers of a run, by name.

    Parameters
    ----------
    champion
        What the model is called that answers.
    window
        How many of the last records windowed scores look at.
    given
        Whether somebody said which there are; if not, a run that is continued has those it had.

    Attributes
    ----------
    dropped
        Why challengers were dropped, by their names.
    promoted
        How often one has become the champion.

    """

    def __init__(self, champion: str, window: int, *, given: bool = True) -> None:
        self.champion, self._window, self._given = checked_name(champion), window, given
        self.dropped: dict[str, str] = {}
        self.promoted = 0
        self._all: dict[str, Challenger] = {}

    def __len__(self) -> int:
        return len(self._all)

    def __contains__(self, name: object) -> bool:
        return name in self._all

    def items(self) -> Iterator[tuple[str, Challenger]]:
        """Return names and challengers, in the order in which they came."""
        return iter(list(self._all.items()))

    def begin(self, models: Mapping[str, Any], champion: Learner) -> None:
        """Let models learn beside the champion from here on; ValueError if one cannot."""
        own = [champion.model]
        for name, model in models.items():
            if any(model is other for other in own):
                raise ValueError(f"the challenger {name} is another model of this run: make a copy")
            if task_of(model) != champion.task:
                kinds = [type(learner_in(each)).__name__ for each in (model, champion.model)]
                raise ValueError(
                    f"the challenger {name} is a {kinds[0]}, and the model a {kinds[1]}: all learn "
                    "classes, or all numbers"
                )
            self.add(name, Learner(model, values=champion.values))
            own.append(model)

    def add(self, name: str, learner: Learner) -> Challenger:
        """Let a model learn beside the champion from here on."""
        if checked_name(name) in (self.champion, *self._all):
            raise ValueError(f"there are two models called {name!r}: each needs a name of its own")
        self._all[name] = made = Challenger(learner, self._window)
        return made

    def resume(self, kept: Kept, values: Values | None, progress: Progress) -> None:
        """Continue with those of a checkpoint that are still wanted; the others begin.

        One that was dropped stays so under its name.
        """
        asked, own = self._all, self.champion
        wanted = {own, *asked} if self._given else {kept.champion or own, *kept.models}
        champion = own if kept.champion is None or kept.champion not in wanted else kept.champion
        self.dropped, self.promoted = kept.dropped, kept.promoted
        self.champion, self._all = champion, {}
        for name, model in kept.models.items():
            if name == champion or name not in wanted:
                progress.note("challenger left out", f"{name}: nobody asks for it any more")
                continue
            self.add(name, Learner(model, values=values)).restore(kept.payloads[name])
        for name, fresh in asked.items():
            if name not in (champion, *self._all, *kept.dropped):
                self._all[name] = fresh
                progress.note("challenger", f"{name} begins to learn beside {champion}")

    def take(self, batch: Batch, champion: Scored, progress: Progress) -> None:
        """Let all answer and learn a batch; those that fail are dropped, and the run is told."""
        at = progress.counts["records"] + len(batch)
        for name, one in self.items():
            try:
                one.take(batch, champion)
            except Exception as error:  # a model of somebody else's may fail in any way
                self._drop(name, error, progress, at)
            else:
                self._tell(name, one, progress, at)

    def guesses(self, i: int) -> dict[str, tuple[Any, float]]:
        """Return what each has answered to a record of the last batch, and how surely."""
        found = {}
        for name, one in self.items():
            answers = one.answers
            if answers is not None and i not in answers.refused:
                sure = 0.0 if answers.sure is None else float(answers.sure[i])
                found[name] = (answers.labels[i], sure)
        return found

    def learn_late(
        self,
        x: dict[str, Any],
        label: Any,
        weight: float,
        then: Mapping[str, Answers],
        champion: Scored,
        progress: Progress,
    ) -> None:
        """Let all learn a record whose label has come, as `take` does."""
        at = progress.counts["records"]
        for name, one in self.items():
            try:
                one.learn_late(x, label, weight, then.get(name), champion)
            except Exception as error:
                self._drop(name, error, progress, at)
            else:
                self._tell(name, one, progress, at)

    def _drop(self, name: str, error: Exception, progress: Progress, at: int) -> None:
        log.debug("the challenger %s", name, exc_info=error)
        why = " ".join(f"{type(error).__name__}: {error}".split())
        self.dropped[name] = why
        del self._all[name]
        progress.note("challenger dropped", f"{name} failed ({why}); {self.champion} goes on", at)

    def _tell(self, name: str, one: Challenger, progress: Progress, at: int) -> None:
        verdict = one.news()
        if verdict is None:
            return
        (low, high), mean = one.test.interval, one.test.mean
        told = {"better": "errs less than", "worse": "errs more than"}.get(verdict)
        if told is None:
            text = f"whether {name} or {self.champion} errs less is undecided again"
            where = f"the difference is between {low:+.4f} and {high:+.4f}"
        else:  # less by so much: the word is the sign
            text = f"{name} {told} {self.champion}"
            least, most = sorted((abs(low), abs(high)))
            where = f"by {abs(mean):.4f}, between {least:.4f} and {most:.4f}"
        progress.note("verdict", f"{text} ({where}, over {one.test.n:,} records)", at)

    def promote(self, name: str, champion: Learner) -> Learner:
        """Let a challenger and the champion change places; return who answers from here on.

        All comparisons begin anew: they were with another champion.
        """
        former, chosen = self.champion, self._all.pop(name)
        learner = Learner(chosen.learner.model, every=champion.every, values=champion.values)
        beside = Learner(champion.model, values=champion.values)
        self._all[former] = Challenger(beside, self._window)
        for one in self._all.values():
            one.test = PairedTest()
            one._told, one._next_look = "undecided", _LOOK
        self.champion = name
        self.promoted += 1
        return learner

    def payload(self, *, trust_pickle: bool = False) -> dict[str, Any]:
        """Return what a checkpoint keeps; nothing in it changes any more."""
        return {
            "champion": self.champion,
            "all": {name: one.payload(trust_pickle=trust_pickle) for name, one in self.items()},
            "dropped": dict(self.dropped),
            "promoted": self.promoted,
        }

    def rivals(self) -> list[Rival]:
        """Return how each does."""
        return [one.rival(name) for name, one in self.items()]


def among(answers: Answers, rows: Sequence[int], n: int) -> Answers:
    """Return answers to some of n records as answers to all; the others have no key.

    Examples
    --------
    >>> some = Answers(["a", "b"], np.array([0.9, 0.8]), np.array([0.9, 0.2]), {})
    >>> every = among(some, [0, 2], 3)
    >>> every.labels, every.sure.tolist(), every.refused
    (['a', None, 'b'], [0.9, 0.0, 0.8], {1: 'no key'})

    """
    labels: list[Any] = [None] * n
    for row, label in zip(rows, answers.labels, strict=True):
        labels[row] = label
    refused = dict.fromkeys(sorted(set(range(n)) - set(rows)), "no key")
    refused |= {rows[i]: why for i, why in answers.refused.items()}

    def wide(values: NDArray[np.float64] | None) -> NDArray[np.float64] | None:
        if values is None:
            return None
        full = np.zeros(n)
        full[list(rows)] = values
        return full

    return Answers(labels, wide(answers.sure), wide(answers.truth), refused)


def _together(one: Sequence[int], other: Sequence[int]) -> tuple[Any, Any]:
    """Return where the rows are that are in both."""
    if len(one) == len(other) and list(one) == list(other):
        return slice(None), slice(None)
    _, here, there = np.intersect1d(
        np.array(one, np.int64), np.array(other, np.int64), assume_unique=True, return_indices=True
    )
    return here, there
