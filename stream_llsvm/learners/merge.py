"""Models that learned different parts of a stream become one: what is asked of them first."""

from __future__ import annotations

import copy
import math
import warnings
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from numbers import Real
from types import MappingProxyType
from typing import Any, Self, TypeVar

import numpy as np

from stream_llsvm.kernels.run import MIXED, SEEN, TAUGHT
from stream_llsvm.locks import OneAtATime
from stream_llsvm.model.align import grown_to, reorder
from stream_llsvm.model.feature_warnings import levels_to_the_caller
from stream_llsvm.model.growth import FREE, GrowingModel
from stream_llsvm.model.merge import merged
from stream_llsvm.model.state import ModelState
from stream_llsvm.records.columns import column_key
from stream_llsvm.records.features import FeatureSpace
from stream_llsvm.records.labels import LabelSpace
from stream_llsvm.records.names import sort_key

Model = TypeVar("Model", bound="Mergeable")


class MergeWarning(UserWarning):
    """What models learned in some member has no mean: the newest model's was taken."""


class Mergeable(GrowingModel):
    """A model that can become one with others."""

    _taken: Mapping[str, int] = MappingProxyType({})

    @property
    def merge_fallbacks(self) -> dict[str, int]:
        """How often a merge took a member of the newest model, since there was no mean.

        Counted by the member's name over this model's merges and those of the one that all parted
        from; empty if every member was always merged.
        """
        return dict(self._taken)

    def merge(
        self,
        others: Iterable[Self],
        weights: Iterable[float] | None = None,
        since: Self | None = None,
    ) -> Self:
        """Return one model of several that learned different parts of a stream.

        The models begin as copies of one (a warm-started or a saved one), each learns its own
        records, and they are merged now and then. With ``since``, the one that they were, the
        merged model is that one and what each has learned since: counts and scales are those of all
        records, exactly; what a metric or a count has learned adds up, averages go as far as all
        records would have taken them, and weights move by the mean of the changes, each model
        counted by how often it has touched what it changes. What is remembered is the union, the
        newest as far as the window goes; of ferns and trees drawn anew the most useful one stays.

        Without ``since`` the merged model is a mean of models: what they learned before they parted
        is in all of them and cannot be told from what came later.

        Where models have nothing in common that could be averaged, such as anchors that have
        strayed too far apart, the newest model's member is taken, `merge_fallbacks` counts it, and
        a `MergeWarning` says so. The newest model is that of the greatest weight, and among those
        the one that has learned most. All models stay as they are, and the order in which they are
        given makes no difference.

        Parameters
        ----------
        others
            Models of the same class with the same options.
        weights
            How much each model counts: this one, then the others; all alike if None. One that
            counts 0 is left out, and what it has counted with it.
        since
            The model that all of them were when they parted, unchanged.

        Raises
        ------
        ValueError
            If the models are of other kinds or options, if a member of such a kind cannot be
            merged, or if not all have parted from ``since``.

        Examples
        --------
        >>> import copy
        >>> from river import datasets
        >>> from stream_llsvm import SAPLClassifier
        >>> records = list(datasets.Phishing())
        >>> base = SAPLClassifier()
        >>> for x, y in records[:500]:
        ...     base.learn_one(x, y)
        >>> model, other = copy.deepcopy(base), copy.deepcopy(base)
        >>> for x, y in records[500:850]:
        ...     model.learn_one(x, y)
        >>> for x, y in records[850:1200]:
        ...     other.learn_one(x, y)
        >>> merged = model.merge([other], since=base)
        >>> merged.predict_one(records[0][0])
        True

        """
        if isinstance(others, GrowingModel):
            raise TypeError("others are several models: model.merge([other])")
        models = [self, *others]
        with ExitStack() as stack:
            # In one order, so that two threads that merge the same models do not wait for ever.
            for model in sorted([*models, since], key=id):
                if isinstance(model, OneAtATime):
                    stack.enter_context(model._lock)
            return merge(models, weights, since)


def merge(
    models: Sequence[Model], weights: Iterable[float] | None, since: Model | None = None
) -> Model:
    """Return a new model of all; they stay as they are."""
    chosen = _checked_weights(weights, len(models))
    first = models[0]
    options = _options(first)
    for other in [*models[1:], *([] if since is None else [since])]:
        _refuse_another_kind(first, options, other)
    counted = [
        (model, weight)
        for model, weight in zip(models, chosen, strict=True)
        if model._state is not None and weight > 0
    ]
    if since is not None:
        for model, _ in counted:
            _refuse_a_stranger(since, model)
        # One that has learned nothing since leaves the others as they are.
        counted = [own for own in counted if not _are_alike(own[0], since)] or counted[:1]
    new = _without_state(first if since is None else since)
    if not counted:
        return copy.deepcopy(first if since is None else since)
    learners = [model for model, _ in counted]
    known = learners if since is None else [since, *learners]
    features, labels, local = _spaces(known)
    width = max(model._state.width for model in known if model._state is not None)
    width = max(width, len(features))
    memories = [_brought_to(model, features, labels, width, local) for model in learners]
    if not any(memory is model._state for memory, model in zip(memories, learners, strict=True)):
        _refuse_too_much(new, memories[0])
    taken: list[str] = []
    # The mean of one and the same is the same, to the bit; so is what one has learned since.
    if len(counted) == 1 or (since is None and _all_alike(memories)):
        new._state = copy.deepcopy(memories[0])
    else:
        base = None
        if since is not None and since._state is not None:
            base = _brought_to(since, features, labels, width, local)
        elif since is not None:
            base = memories[0].grown(width, len(labels), local)
            base.begin()
        new._state, taken = merged(memories, [weight for _, weight in counted], base)
    new._state.share_out(features.shares())
    new._features, new._labels = features, labels
    _tell(new, known, taken)
    return new


def _tell(new: Mergeable, known: Sequence[Mergeable], taken: Sequence[str]) -> None:
    """Count the members that were taken of the newest model, and say so."""
    before = {name for model in known for name in model._taken}
    counts = {name: max(model._taken.get(name, 0) for model in known) for name in before}
    new._taken = counts | {name: counts.get(name, 0) + 1 for name in taken}
    if taken:
        warnings.warn(
            f"what the models have learned in {', '.join(taken)} has nothing in common that could "
            "be averaged: the newest model's was taken; merge sooner, before they stray so far",
            MergeWarning,
            stacklevel=levels_to_the_caller(),
        )


def _refuse_too_much(model: GrowingModel, memory: ModelState) -> None:
    """Refuse what is larger than any of the models and than the model may be."""
    local = memory.local_width if memory.is_capped else None
    if not model._fits(memory.width, memory.n_classes, local):
        model._refuse(memory.width, memory.n_classes, local)


def _without_state(model: Model) -> Model:
    """Return a copy of a model that has no state."""
    # What is put into it later need not be copied.
    own = (model._state, model._features, model._labels)
    return copy.deepcopy(model, {id(part): None for part in own})


def _are_alike(model: GrowingModel, other: GrowingModel) -> bool:
    """Whether two models hold the same, to the bit; most differ in how much they have seen."""
    ours, theirs = model._state, other._state
    if ours is None or theirs is None:
        return ours is theirs
    return (
        model._features.names == other._features.names
        and model._labels.labels == other._labels.labels
        and _all_alike([ours, theirs])
    )


def _all_alike(memories: Sequence[ModelState]) -> bool:
    first, *others = memories
    counters = first.views(0)["counters"]
    return all(
        np.array_equal(counters, other.views(0)["counters"])
        and np.array_equal(first.state.view(np.int64), other.state.view(np.int64))
        for other in others
    )


def _refuse_a_stranger(since: GrowingModel, model: GrowingModel) -> None:
    """Refuse a model that cannot have parted from this one: it would know and have seen less."""
    before, now = since._state, model._state
    if before is None or now is None:
        return
    counts = [memory.views(0)["counters"][[SEEN, MIXED, TAUGHT]] for memory in (before, now)]
    if (
        (counts[1] < counts[0]).any()
        or not set(since._features.names) <= set(model._features.names)
        or not set(since._labels.labels) <= set(model._labels.labels)
    ):
        raise ValueError(
            "since is the model that all parted from, as it was then: one of the models knows less "
            "than it does"
        )


def _spaces(models: Sequence[GrowingModel]) -> tuple[FeatureSpace, LabelSpace, int | None]:
    """Return all features and labels: the first model's, then the rest in one order.

    If members of some models see the first features only, what they see comes before the others;
    the number is how many these are.
    """
    own = models[0]._features.names
    seen = _seen_first(models)
    features = models[0]._features.renamed(dict.fromkeys([*seen, *own]))
    labels = LabelSpace(models[0]._labels.labels)
    features.add({name for model in models[1:] for name in model._features.names})
    rest = {label for model in models[1:] for label in model._labels.labels}
    for label in sorted(rest, key=sort_key):
        labels.add(label)
    return features, labels, max(len(seen), _room_for_seen(models)) or None


def _room_for_seen(models: Sequence[GrowingModel]) -> int:
    """Return how many features capped members have room to see; fewer may have come so far."""
    states = [model._state for model in models if model._state is not None]
    return max((state.local_width for state in states if state.is_capped), default=0)


def _seen_first(models: Sequence[GrowingModel]) -> list[Any]:
    """Return the features that capped members of any of the models see; none, if they see all."""
    states = [model._state for model in models if model._state is not None]
    if not any(state.is_capped for state in states):
        return []
    each = [
        model._features.names[: state.local_width]
        for model, state in zip(models, states, strict=True)
    ]
    rest = {name for names in each[1:] for name in names}.difference(each[0])
    return [*each[0], *sorted(rest, key=column_key)]


def _brought_to(
    model: GrowingModel,
    features: FeatureSpace,
    labels: LabelSpace,
    width: int,
    local: int | None = None,
) -> ModelState:
    """Return a model's state over these features and labels in this order: itself, or a copy."""
    state = model._state
    assert state is not None
    capped = state.local_width if state.is_capped else None
    if (
        model._features.names == features.names
        and model._labels.labels == labels.labels
        and state.width == width
        and (local is None or local == capped)
    ):
        return state
    own = model._features.renamed(model._features.names)
    known = len(own)
    own.add(features.names)
    classes = LabelSpace([*model._labels.labels, *labels.labels])
    memory = grown_to(state, known, own, width, len(classes), local)
    places = {name: i for i, name in enumerate(own.names)}
    reorder(
        memory, [places[name] for name in features.names], classes.codes(labels.labels).tolist()
    )
    return memory


def _refuse_another_kind(first: GrowingModel, ours: dict[str, Any], other: Any) -> None:
    if type(other) is not type(first):
        raise ValueError(
            f"only models of one kind can be merged: got a {type(first).__name__} and a "
            f"{type(other).__name__}"
        )
    theirs = _options(other)
    differing = sorted(name for name in ours if ours[name] != theirs[name])
    if differing:
        told = ", ".join(f"{name}={ours[name]!r} and {theirs[name]!r}" for name in differing)
        raise ValueError(f"only models with the same options can be merged: got {told}")


def _options(model: Any) -> dict[str, Any]:
    return {name: v for name, v in model._saved_params().items() if name not in FREE}


def _checked_weights(weights: Iterable[float] | None, n: int) -> list[float]:
    chosen: list[Any] = [1.0] * n if weights is None else list(weights)
    if len(chosen) != n:
        raise ValueError(
            f"{len(chosen)} weights for {n} models: give one for this model, then one for each of "
            "the others"
        )
    for weight in chosen:
        if not isinstance(weight, Real) or not 0 <= float(weight) < math.inf:
            raise ValueError(f"a model's weight must be a number from 0 up, got {weight!r}")
    if not any(chosen):
        raise ValueError("at least one model's weight must be above 0")
    return [float(weight) for weight in chosen]
