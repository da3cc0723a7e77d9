"""Models that learned different parts of a stream become one: what is asked of them first."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable, Sequence
from numbers import Real
from typing import Any, Self, TypeVar

from stream_llsvm.model.growth import FREE, GrowingModel
from stream_llsvm.model.merge import grown_to, merged, reorder
from stream_llsvm.model.state import ModelState
from stream_llsvm.records.features import FeatureSpace
from stream_llsvm.records.labels import LabelSpace
from stream_llsvm.records.names import sort_key

Model = TypeVar("Model", bound=GrowingModel)


class Mergeable(GrowingModel):
    """A model that can become one with others."""

    def merge(self, others: Iterable[Self], weights: Iterable[float] | None = None) -> Self:
        """Return one model of several that learned different parts of a stream.

        The models begin as copies of one (a warm-started or a saved one), each learns its own
        records, and they are merged now and then. The merged model is their mean: weights and
        positions of an anchor counted by its mass in each, those of cells likewise, scales as if
        all values had been pooled. What is remembered is the union, the newest as far as the
        window goes. Ferns whose questions are the same everywhere become their mean; of those
        drawn anew the most useful one is taken. Of regressors each counts in the units of all
        targets together. All models stay as they are, and the order in which they are given makes
        no difference.

        Parameters
        ----------
        others
            Models of the same class with the same options.
        weights
            How much each model counts: this one, then the others; all alike if None.

        Raises
        ------
        ValueError
            If the models are of other kinds or options, or do not share their anchors.

        Examples
        --------
        >>> import copy
        >>> from river import datasets
        >>> from stream_llsvm import SAPLClassifier
        >>> records = list(datasets.Phishing())
        >>> model = SAPLClassifier()
        >>> for x, y in records[:500]:
        ...     model.learn_one(x, y)
        >>> other = copy.deepcopy(model)
        >>> for x, y in records[500:850]:
        ...     model.learn_one(x, y)
        >>> for x, y in records[850:1200]:
        ...     other.learn_one(x, y)
        >>> merged = model.merge([other])
        >>> merged.predict_one(records[0][0])
        True

        """
        if isinstance(others, GrowingModel):
            raise TypeError("others are several models: model.merge([other])")
        return merge([self, *others], weights)


def merge(models: Sequence[Model], weights: Iterable[float] | None) -> Model:
    """Return a new model, the mean of all; they stay as they are."""
    chosen = _checked_weights(weights, len(models))
    first = models[0]
    for other in models[1:]:
        _refuse_another_kind(first, other)
    counted = [
        (model, weight)
        for model, weight in zip(models, chosen, strict=True)
        if model._state is not None and weight > 0
    ]
    new = copy.deepcopy(first)
    if not counted:
        return new
    features, labels = _spaces([model for model, _ in counted])
    width = max(model._state.width for model, _ in counted if model._state is not None)
    width = max(width, len(features))
    if not new._fits(width, len(labels)):
        new._refuse(width, len(labels))
    memories = [_brought_to(model, features, labels, width) for model, _ in counted]
    # The mean of one and the same is the same, to the bit.
    one = all(memory.state.tobytes() == memories[0].state.tobytes() for memory in memories)
    new._state = memories[0] if one else merged(memories, [weight for _, weight in counted])
    new._state.share_out(features.shares())
    new._features, new._labels = features, labels
    return new


def _spaces(models: Sequence[GrowingModel]) -> tuple[FeatureSpace, LabelSpace]:
    """Return all features and labels: the first model's, then the rest in one order."""
    features = models[0]._features.renamed(models[0]._features.names)
    labels = LabelSpace(models[0]._labels.labels)
    features.add({name for model in models[1:] for name in model._features.names})
    rest = {label for model in models[1:] for label in model._labels.labels}
    for label in sorted(rest, key=sort_key):
        labels.add(label)
    return features, labels


def _brought_to(
    model: GrowingModel, features: FeatureSpace, labels: LabelSpace, width: int
) -> ModelState:
    """Return a copy of a model's state, over these features and labels in this order."""
    assert model._state is not None
    own = model._features.renamed(model._features.names)
    known = len(own)
    own.add(features.names)
    classes = LabelSpace([*model._labels.labels, *labels.labels])
    memory = grown_to(model._state, known, own, width, len(classes))
    places = {name: i for i, name in enumerate(own.names)}
    reorder(
        memory, [places[name] for name in features.names], classes.codes(labels.labels).tolist()
    )
    return memory


def _refuse_another_kind(first: GrowingModel, other: Any) -> None:
    if type(other) is not type(first):
        raise ValueError(
            f"only models of one kind can be merged: got a {type(first).__name__} and a "
            f"{type(other).__name__}"
        )
    ours, theirs = _options(first), _options(other)
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
