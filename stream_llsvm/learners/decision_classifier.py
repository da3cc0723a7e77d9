"""A classifier that decides by cost, by a held precision or recall, or with sets of labels."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any, Literal

from river import base

from stream_llsvm.learners.class_weights import ClassWeights
from stream_llsvm.learners.decision import Decided, Decision
from stream_llsvm.locks import OneAtATime, locked


class DecidingClassifier(OneAtATime, base.Classifier):
    """Any classifier, with decisions of its own from its probabilities.

    `predict_one` is the decision, `predict_proba_one` what the classifier says, and
    `predict_set_one` the labels that hold the truth as often as promised. Learning is untouched but
    for ``class_weight``. In the engine, give the classifier itself, and `Engine` the same options.

    Parameters
    ----------
    model
        The classifier: one of this package's, or of river's.
    costs, hold, coverage
        As for `Decision`: what each mistake costs, which precision or recall to hold, how often a
        set must hold the truth.
    class_weight
        ``"balanced"``, or ``{label: weight}``; the classifier must learn by weight.

    Examples
    --------
    >>> from stream_llsvm import DecidingClassifier, LLSVMClassifier
    >>> costs = {"fraud": {"fine": 50}}
    >>> model = DecidingClassifier(LLSVMClassifier(), costs=costs, coverage=0.9)
    >>> for i in range(300):
    ...     x, y = {"amount": i % 10 / 10}, "fraud" if i % 10 == 9 else "fine"
    ...     model.learn_one(x, y)
    >>> model.predict_one({"amount": 0.9}), model.predict_set_one({"amount": 0.1})
    ('fraud', ('fine',))

    """

    def __init__(
        self,
        model: base.Classifier,
        *,
        costs: Mapping[Any, Mapping[Any, float]] | None = None,
        hold: Mapping[str, Any] | None = None,
        coverage: float | None = None,
        class_weight: Literal["balanced"] | Mapping[Any, float] | None = None,
    ) -> None:
        self._lock = self._make_lock()
        self.model = model
        self.costs, self.hold, self.coverage = costs, hold, coverage
        self.class_weight = class_weight
        asked = any(one is not None for one in (costs, hold, coverage))
        self.decision = Decision(costs=costs, hold=hold, coverage=coverage) if asked else None
        self._weights = None if class_weight is None else ClassWeights(class_weight)

    @property
    def _multiclass(self) -> bool:
        return bool(self.model._multiclass)

    @locked
    def learn_one(self, x: dict[Any, Any], y: Hashable, w: float = 1.0) -> None:
        """Learn from one record, after it was decided.

        Parameters
        ----------
        x
            The record.
        y
            Its label.
        w
            How much the record counts.

        """
        if self.decision is not None:
            proba = self.model.predict_proba_one(x)
            self.decision.learn(proba, self.decision.decide(proba), y)
        if self._weights is not None:
            w *= self._weights.take(y)
        if w == 1.0:
            self.model.learn_one(x, y)  # type: ignore[arg-type]
        else:
            learner: Any = self.model
            learner.learn_one(x, y, w=w)

    @locked
    def predict_proba_one(self, x: dict[Any, Any], **kwargs: Any) -> dict[Any, float]:
        """Return each label's probability, as the classifier says it.

        Parameters
        ----------
        x
            The record.
        **kwargs
            Handed on.

        """
        proba: dict[Any, float] = self.model.predict_proba_one(x, **kwargs)
        return proba

    @locked
    def predict_one(self, x: dict[Any, Any], **kwargs: Any) -> Any:
        """Return what is decided, None before anything was learned.

        Parameters
        ----------
        x
            The record.
        **kwargs
            Handed on.

        """
        if self.decision is None:
            return self.model.predict_one(x, **kwargs)
        return self._decided(x).label

    @locked
    def predict_set_one(self, x: dict[Any, Any]) -> tuple[Any, ...]:
        """Return the labels that hold the truth as often as ``coverage`` promises.

        Parameters
        ----------
        x
            The record.

        """
        if self.coverage is None:
            raise ValueError("there are no sets: DecidingClassifier(model, coverage=0.9)")
        return self._decided(x).labels or ()

    def _decided(self, x: dict[Any, Any]) -> Decided:
        assert self.decision is not None
        return self.decision.decide(self.model.predict_proba_one(x))
