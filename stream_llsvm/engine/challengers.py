"""Models that learn the same stream beside the one that answers, and may take its place.

The champion answers; challengers are asked and taught the same records, decoded once, and nobody is
told what they say. Each has scores of its own, and a test of whether it errs less than the
champion. A challenger that fails is dropped: whatever happens to it, the champion goes on.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from stream_llsvm.connectors.base import Batch
from stream_llsvm.engine.decisions import Decisions
from stream_llsvm.engine.keys import rows_with_keys
from stream_llsvm.engine.learner import Answers, Learner
from stream_llsvm.engine.matched import among, together
from stream_llsvm.engine.number_scores import shares_of
from stream_llsvm.engine.paired_test import PairedTest, Verdict
from stream_llsvm.engine.progress import Progress, Scored
from stream_llsvm.engine.task import Task, task_of
from stream_llsvm.engine.validation import count, part, require
from stream_llsvm.learners.decision import checked_costs
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
    by_cost
        Whether the difference is one of costs, and not of errors.

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
    by_cost: bool = False


class Challenger:
    """A model beside the champion, its scores, and how it compares.

    Parameters
    ----------
    learner
        The model, asked and taught.
    window
        How many of the last records its windowed scores look at.
    decisions
        By what the run decides: where that is costs, models are compared by these.

    """

    def __init__(self, learner: Learner, window: int, decisions: Decisions | None = None) -> None:
        self.learner, self._decisions = learner, decisions or Decisions()
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
        self.answers = self._decisions.beside(self._answered(batch))
        self.seconds += time.thread_time() - begin
        self.timed += len(batch)
        self.refused += len(self.answers.refused)
        own = self.progress.score(batch.labels, self.answers, batch.weights)
        self._compare(self._decisions.priced(own, batch.labels, self.answers), champion)
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
            own = self.progress.score([label], then, np.array([weight]))
            self._compare(self._decisions.priced(own, [label], then), champion)

    def _compare(self, own: Scored, champion: Scored) -> None:
        own_at, at = together(own.rows, champion.rows)
        errors, others = own.errors[own_at], champion.errors[at]
        if champion.spreads is not None:
            # Both by what the champion knows of the labels: the challenger may have come later.
            spreads = champion.spreads[at]
            errors, others = shares_of(errors, spreads), shares_of(others, spreads)
        self.test.update(errors - others)

    def compare_anew(self) -> None:
        """Forget how it compared: with another champion, or by something else."""
        self.test = PairedTest()
        self._told, self._next_look = "undecided", _LOOK

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

    def _lies(self) -> tuple[float, float, float]:
        low, high = self.test.interval
        return low, self.test.mean, high

    def rival(self, name: str) -> Rival:
        """Return how it does."""
        by_cost = self._decisions.costs is not None
        scale = self._decisions.apart if by_cost else 1.0
        low, mean, high = (scale * v for v in self._lies())
        return Rival(
            name, type(learner_in(self.learner.model)).__name__, self.progress.scores.report(),
            self.progress.counts["learned"], self.refused, self.test.n, mean, low, high,
            self.test.verdict, 1e6 * self.seconds / max(self.timed, 1), by_cost,
        )  # fmt: skip


class Kept(NamedTuple):
    """What a checkpoint holds of challengers: each one's model, and the rest of its payload.

    The champion's name is None if the checkpoint does not say it; costs are those that models were
    compared by, None if by errors.
    """

    champion: str | None
    models: dict[str, Any]
    payloads: dict[str, dict[str, Any]]
    dropped: dict[str, str]
    promoted: int
    costs: dict[str, dict[str, float]] | None = None


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
    costs = part({"costs": None, **payload}, "costs", dict, type(None))
    try:
        costs = None if costs is None else checked_costs(costs)
    except ValueError:
        require(False, "costs")
    return Kept(champion, models, payloads, dict(dropped), count(payload, "promoted"), costs)


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
    decisions
        By what the run decides: where that is costs, models are compared by these.

    Attributes
    ----------
    dropped
        Why challengers were dropped, by their names.
    promoted
        How often one has become the champion.

    """

    def __init__(
        self,
        champion: str,
        window: int,
        *,
        given: bool = True,
        decisions: Decisions | None = None,
    ) -> None:
        self.champion, self._window, self._given = checked_name(champion), window, given
        self._decisions = decisions or Decisions()
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
            self.add(name, self._learner(model, champion.values))
            own.append(model)

    def _learner(self, model: Any, values: Values | None) -> Learner:
        """Return what asks and teaches a challenger; costs are decided from all probabilities."""
        return Learner(model, every=self._decisions.costs is not None, values=values)

    def add(self, name: str, learner: Learner) -> Challenger:
        """Let a model learn beside the champion from here on."""
        if checked_name(name) in (self.champion, *self._all):
            raise ValueError(f"there are two models called {name!r}: each needs a name of its own")
        self._all[name] = made = Challenger(learner, self._window, self._decisions)
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
            one = self.add(name, self._learner(model, values))
            one.restore(kept.payloads[name])
            if kept.costs != self._decisions.costs:
                one.compare_anew()
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

    def guesses(self, i: int) -> dict[str, tuple[Any, ...]]:
        """Return what each has answered to a record of the last batch, and how surely.

        Behind it stands what costs would decide, where there are some.
        """
        found: dict[str, tuple[Any, ...]] = {}
        for name, one in self.items():
            answers = one.answers
            if answers is not None and i not in answers.refused:
                sure = 0.0 if answers.sure is None else float(answers.sure[i])
                found[name] = (answers.labels[i], sure)
                if answers.decided is not None:
                    found[name] += (answers.decided[i].label,)
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
        rival = one.rival(name)
        low, mean, high = rival.low, rival.difference, rival.high
        does = "costs" if rival.by_cost else "errs"
        told = {"better": f"{does} less than", "worse": f"{does} more than"}.get(verdict)
        if told is None:
            text = f"whether {name} or {self.champion} {does} less is undecided again"
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
        beside = self._learner(champion.model, champion.values)
        self._all[former] = Challenger(beside, self._window, self._decisions)
        for one in self._all.values():
            one.compare_anew()
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
            "costs": self._decisions.costs,
        }

    def rivals(self) -> list[Rival]:
        """Return how each does."""
        return [one.rival(name) for name, one in self.items()]
