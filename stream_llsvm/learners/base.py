"""What every classifier of the package is: river's interface over one model's state."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
from river import base

from stream_llsvm.learners.identity import Itself
from stream_llsvm.learners.many import ManyRecords
from stream_llsvm.learners.merge import Mergeable
from stream_llsvm.learners.weights import checked_weight
from stream_llsvm.locks import let_go, locked
from stream_llsvm.model.attribution import (
    at_places,
    class_contributions,
    places_of,
    scaled_of,
    weights_of,
)
from stream_llsvm.model.context_reasons import contexts_of
from stream_llsvm.model.explain import (
    Anchor,
    Explanation,
    MemberReport,
    anchors_of,
    explain_last,
    mixture_of,
    per_unit,
    relevance_of,
    voters_of,
)
from stream_llsvm.records.columns import field_of
from stream_llsvm.records.rows import ABSENT, Row

Record = Mapping[Any, Any]


class LocalClassifier(ManyRecords, Mergeable, base.MiniBatchClassifier, metaclass=Itself):
    """A list of members and a mixer, learning one record at a time.

    Subclasses keep their parameters and say which members they are made of. Features and classes
    are discovered as they appear; nothing is learned from a record that is refused. Several threads
    may call one model: it serves them one after the other.
    """

    @property
    def _multiclass(self) -> bool:
        return True

    @property
    @locked
    def anchors(self) -> list[Anchor]:
        """Where the anchors are, in the user's units, with their mass and their own machines.

        Those of the member that has the most of them.
        """
        if self._state is None:
            return []
        sizes = [member.n_anchors for member in self._state.members]
        which = max(range(len(sizes)), key=sizes.__getitem__)
        return anchors_of(self._state, self._features.names, self._labels.labels, which)

    @property
    @locked
    def mixture(self) -> list[MemberReport]:
        """How each member is doing: its weights, its own log loss, what it is worth."""
        return [] if self._state is None else mixture_of(self._state)

    @property
    @locked
    def feature_relevance(self) -> dict[Any, float]:
        """How much each feature counts in the learned metric, 1 on the mean; empty without one."""
        return {} if self._state is None else relevance_of(self._state, self._features.names)

    def learn_one(self, x: Record, y: Hashable, w: float = 1.0) -> None:
        """Learn from one record.

        Parameters
        ----------
        x
            The record: ``{feature: number}``. None, NaN and features not named are missing.
        y
            Its label: anything hashable but None.
        w
            How much the record counts: 2 takes steps twice as long, 0 none at all.

        """
        lock = self._lock
        try:
            lock.acquire()
            features, state = self._features, self._state
            row = features.encode(x)
            code = self._labels.code(y)
            weight = 1.0 if type(w) is float and w == 1.0 else checked_weight(w)
            if (features.ignored or code < 0 or state is None) and weight > 0:
                lacking = features.lacking_of_last(x)
                self._make_room(x if lacking is None else lacking, [y])
                row, state = features.encode(x), self._state
                code = self._labels.code(y)
            if state is not None and weight > 0:
                state.run_one(row, code, weight, keep=not features.ignored)
        except BaseException:
            let_go(lock)
            raise
        lock.release()

    def predict_one(self, x: Record, **kwargs: Any) -> Any:
        """Return the likeliest label, None before anything was learned.

        Parameters
        ----------
        x
            The record.
        **kwargs
            Ignored; river's interface asks for it.

        """
        lock, answer = self._lock, None
        try:
            lock.acquire()
            if self._asked(x) is not None and self._state is not None:
                answer = self._labels.labels[self._state.one_code[0]]
        except BaseException:
            let_go(lock)
            raise
        lock.release()
        return answer

    def predict_proba_one(self, x: Record, **kwargs: Any) -> dict[Any, float]:
        """Return each label's probability; empty before anything was learned.

        Parameters
        ----------
        x
            The record.
        **kwargs
            Ignored; river's interface asks for it.

        """
        lock, answer = self._lock, {}
        try:
            lock.acquire()
            if self._asked(x) is not None and self._state is not None:
                shares = self._state.one_shares.tolist()
                answer = dict(zip(self._labels.labels, shares, strict=True))
        except BaseException:
            let_go(lock)
            raise
        lock.release()
        return answer

    @locked
    def _unkept_proba_one(self, x: Record) -> dict[Any, float]:
        """Return the same, and keep nothing of it: no label will come."""
        if self._asked(x, keep=False) is None or self._state is None:
            return {}
        return dict(zip(self._labels.labels, self._state.one_shares.tolist(), strict=True))

    def _asked(self, x: Record, *, keep: bool = True) -> Row | None:
        """Answer a record, whose row is returned; None before anything was learned."""
        features, state = self._features, self._state
        row = features.encode(x)
        if state is None:
            return None
        ignored = features.ignored
        if ignored or not x:
            self._warn_of_unknown(x)
        # A record with unknown features is encoded without them: its digest would not match when
        # its label comes, so that its prediction need not be kept.
        state.run_one(row, keep=keep and not ignored)
        return row

    @locked
    def decision_function_one(self, x: Record) -> dict[Any, float]:
        """Return each label's score, as the mixer adds it up; they sum to zero.

        The probabilities are the softmax of the scores, calibrated.

        Parameters
        ----------
        x
            The record.

        """
        if not self.predict_proba_one(x):
            return {}
        memory = self._state
        assert memory is not None
        views = memory.views(0)
        scores = memory.trust @ views["normal"]
        return dict(zip(self._labels.labels, scores.tolist(), strict=True))

    @locked
    def explain_one(self, x: Record, label: Hashable | None = None) -> Explanation:
        """Take the prediction for a record apart into what each feature contributes.

        Parameters
        ----------
        x
            The record.
        label
            The label whose score is to be explained; the predicted one if None.

        """
        row = self._features.encode(x)
        memory = self._state
        if memory is None:
            raise ValueError("nothing has been learned yet, so there is nothing to explain")
        row = memory.as_taken(row)
        memory.run_one(row, keep=False)
        code = memory.one_code[0] if label is None else self._labels.code(label)
        if code < 0:
            raise ValueError(f"the label {label!r} has not been seen; those seen: {self.classes}")
        columns, z = scaled_of(memory, row)
        taken = explain_last(memory, code, z)
        slopes = per_unit(memory, columns, z[columns], taken.slopes[columns])
        voters = voters_of(memory, self._labels.labels)
        names = [self._features.names[c] for c in columns]
        places = places_of(row, [self._feature_of(name) for name in names])
        contexts = contexts_of(memory, code, row, self._features.names, self._labels.labels, x)
        contributions, reference = class_contributions(
            memory,
            row,
            code,
            places,
            at_places(taken.linear, columns),
            at_places(taken.held, columns),
        )
        # Whoever looks at the model next finds the record itself in it.
        memory.run_one(row, keep=False)
        named = row.values.reshape(-1) != ABSENT
        shown = np.flatnonzero(named & bool(contributions or slopes.any()))
        weights = weights_of(row, names, slopes, shown)
        return Explanation(
            label=self._labels.labels[code],
            score=taken.score,
            bias=taken.score - taken.memory - sum(contributions.values()),
            contributions=contributions,
            weights=weights,
            memory=taken.memory,
            voters=voters,
            members=taken.members,
            reference=reference + taken.usual,
            contexts=contexts,
        )

    def _feature_of(self, name: Hashable) -> Hashable:
        """Return which of a record's features a column is of, None if it is of all together."""
        field: Hashable = field_of(name)
        return field
