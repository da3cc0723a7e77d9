"""What the page shows of a model: who is right, the anchors, why, and whether it is well."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from stream_llsvm.dashboard.explanations import Explanations, Kept
from stream_llsvm.dashboard.json_values import number, text
from stream_llsvm.dashboard.map import AnchorMap, Throttle, candidates
from stream_llsvm.dashboard.recent_records import Recent, Taken, violations
from stream_llsvm.learners.base import LocalClassifier
from stream_llsvm.learners.numbers import NumberLearner
from stream_llsvm.model.explain import MemberReport, relevance_of
from stream_llsvm.model.state import ModelState

__all__ = ["ModelView", "Recent"]

_RELEVANT = 30
_EVERY = 1.0  # seconds between two looks at all of the state


#: Another member is shown when it has counted so much more, for so many seconds.
_AHEAD, _FOR = 1.3, 10.0


class MemberChoice:
    """Chooses the member whose anchors are shown.

    Parameters
    ----------
    clock
        Tells the time in seconds.

    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._shown: str | None = None
        self._since: float | None = None
        self._ahead: str | None = None

    def choose(self, memory: ModelState, mixture: Sequence[MemberReport]) -> int | None:
        """Return the number of the member to show, None if there are no anchors."""
        members = candidates(memory)
        if not members:
            return None
        weights = {
            memory.members[i].name: sum(map(abs, mixture[i].weights)) * mixture[i].awake
            for i in members
        }
        best = max(weights, key=weights.__getitem__)
        if self._shown not in weights:
            self._shown, self._ahead = best, None
        elif weights[best] > _AHEAD * max(weights[self._shown], 1e-3):
            if self._ahead != best:
                self._ahead, self._since = best, self._clock()
            elif self._since is not None and self._clock() - self._since >= _FOR:
                self._shown, self._ahead = best, None
        else:
            self._ahead = None
        return next(i for i in members if memory.members[i].name == self._shown)


class ModelView:
    """Looks at copies of a model, again and again, and says what has become of it.

    Anchors are drawn in a plane that stays the same, so that one sees them move; what is dear is
    done anew only now and then. Use it from one thread.

    Parameters
    ----------
    clock
        Tells the time in seconds.

    Examples
    --------
    >>> from stream_llsvm import SAPLClassifier
    >>> model, recent = SAPLClassifier(), []
    >>> for i in range(100):
    ...     x = {"a": float(i % 10), "b": float(i % 7)}
    ...     recent.append(Recent(i, "here", x, i % 10 > 4, model.predict_one(x), 0.5))
    ...     model.learn_one(x, i % 10 > 4)
    >>> seen = ModelView().look(model, recent)
    >>> seen["map"]["axes"], seen["mixture"][0]["name"]
    (['a', 'b'], 'anchors:100')

    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._choice, self._map, self._whys = MemberChoice(clock), AnchorMap(clock), Explanations()
        self._health = Throttle[dict[str, Any]](clock, _EVERY)

    def replay(self, model: Any, taken: Sequence[Taken]) -> None:
        """Explain some of the answers to records that came after a copy was made; it learns them.

        Parameters
        ----------
        model
            The copy, which nobody uses for anything else.
        taken
            The records that came next, oldest first.

        """
        self._whys.replay(model, taken, self._drawn)

    def _drawn(self, model: Any) -> int | None:
        """Return which member is on the map, None without one."""
        if not isinstance(model, LocalClassifier) or model._state is None:
            return None
        return self._choice.choose(model._state, model.mixture)

    def record(self, which: int) -> Kept | None:
        """Return one of the records whose answers are explained, None if it is none of them."""
        return self._whys.record(which)

    def look(self, model: Any, recent: Sequence[Recent]) -> dict[str, Any] | None:
        """Return what a frame says of the model; None before it has learned anything.

        Parameters
        ----------
        model
            A copy that nobody else uses just now: asking it changes its scratch.
        recent
            The latest records, oldest first.

        """
        broken = {"violations": number(violations(recent) or 0.0) if recent else None}
        if isinstance(model, NumberLearner):
            return self._look_at_numbers(model)
        if not isinstance(model, LocalClassifier):
            return {"mixture": [], "relevance": [], "map": None, "whys": []} | {
                "health": dict.fromkeys(_HEALTH) | broken
            }
        memory = model._state
        if memory is None:
            return None
        mixture = model.mixture
        member = self._choice.choose(memory, mixture)
        drawn = None if member is None else self._map.look(model, memory, member, recent)
        health = self._health.get((memory.width, memory.n_classes), lambda: _health(memory))
        return {
            "mixture": mixture_parts(mixture),
            "relevance": _relevance(model, memory),
            "health": health | broken,
            "map": drawn,
            "whys": self._whys.look(member),
        }

    def _look_at_numbers(self, model: NumberLearner) -> dict[str, Any] | None:
        """Do the same with a model of numbers: it has no members, and no map of classes."""
        memory = model._state
        if memory is None:
            return None
        seen = {"mixture": [], "map": None, "whys": self._whys.look(None)}
        health = self._health.get((memory.width, memory.n_classes), lambda: _health(memory))
        return seen | {"health": health, "relevance": _relevance(model, memory)}


_HEALTH = ("weight_norm", "violations", "non_finite", "anchor_moves", "state_bytes")


def _health(memory: ModelState) -> dict[str, Any]:
    """Return what all of the state says of how well the model is."""
    each = [(member, memory.views(1 + i)) for i, member in enumerate(memory.members)]
    return dict.fromkeys(_HEALTH) | {
        "weight_norm": number(sum(member.square(views) for member, views in each) ** 0.5),
        "non_finite": memory.non_finite(),
        "anchor_moves": sum(member.moves(views) for member, views in each),
        "state_bytes": memory.state.nbytes,
    }


def mixture_parts(mixture: Sequence[MemberReport]) -> list[dict[str, Any]]:
    """Return how each member is doing; weights are shares of all the trust there is.

    A step whose scores the mixer turns round has a share below 0; the member's counts its size.
    """
    total = max(sum(abs(w) for report in mixture for w in report.weights), 1e-12)
    return [
        {
            "name": text(report.name),
            "awake": report.awake,
            "weight": number(sum(map(abs, report.weights)) / total),
            "accuracy": number(report.accuracy),
            "log_loss": number(report.log_loss),
            "worth": number(report.worth),
            "steps": [
                [text(name), number(weight / total)]
                for name, weight in zip(report.experts, report.weights, strict=True)
            ],
        }
        for report in mixture
    ]


def _relevance(model: Any, memory: ModelState) -> list[list[Any]]:
    """Return the features that count most in the learned distance."""
    relevance = relevance_of(memory, model._features.names)
    names = sorted(relevance, key=lambda name: -relevance[name])[:_RELEVANT]
    return [[text(name), number(relevance[name])] for name in names]
