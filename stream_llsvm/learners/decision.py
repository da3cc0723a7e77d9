"""What is decided of a record from the probabilities that a model gives; learning is untouched.

Three ways, each by itself or together: the least expected cost, a threshold that holds a wanted
precision or recall, and a set of labels that holds the truth as often as promised. The last two
follow the stream: each record is decided first, and then its label moves what they go by, as a
model is taught. One record after the other is the same as a block.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from math import isfinite
from typing import Any, NamedTuple

import numpy as np

from stream_llsvm.options import number

Proba = Mapping[Any, float]
#: Probabilities are counted in so many bins.
BINS = 500
#: What a record still counts in them when another has come: some 2,000 are remembered.
FADE = 0.9995
#: How far one error moves what is aimed at.
STEP = 0.005
_KINDS = ("precision", "recall")
_FEWEST = 20.0  # records of the label before a threshold is chosen


class Decided(NamedTuple):
    """What was decided of a record: a label, and a set of labels if a coverage is promised."""

    label: Any
    labels: tuple[Any, ...] | None = None


class Outcome(NamedTuple):
    """What came of a decision; NaN where there is nothing to say.

    Attributes
    ----------
    cost
        What it cost.
    covered, size
        Whether the set held the truth, and how many labels were in it.
    held
        Whether the label was decided rightly: of precision where it was decided, of recall where
        it was the truth.

    """

    cost: float
    covered: float
    size: float
    held: float


class Decision:
    """Decides from probabilities, and follows the stream.

    Parameters
    ----------
    costs
        ``{truth: {decided: cost}}``; what is not named costs 0 if it is right and 1 if not. The
        decision is the label whose expected cost is least: Elkan, The Foundations of Cost-Sensitive
        Learning (IJCAI 2001), equation 1.
    hold
        ``{"label": "fraud", "precision": 0.9}``, or ``"recall"``: this label is decided where its
        probability is above a threshold, which is the lowest one with this precision (the highest
        one with this recall) among the latest records. What is aimed at moves by a small step with
        each error, so that what is measured is right in the long run also where the probabilities
        are not.
    coverage
        A set of labels holds the truth this often, whatever the stream does: adaptive conformal
        inference, Gibbs and Candes, Adaptive Conformal Inference Under Distribution Shift (NeurIPS
        2021), equation 2. With ``alpha = 1 - coverage`` and an error where the truth is not in the
        set, the level moves by ``alpha_(t+1) = alpha_t + step (alpha - error_t)``, and the set has
        the labels that are at least as likely as the truth was in all but ``alpha_t`` of the latest
        records. The likeliest label is always in it, and no label that is not known yet.

    Examples
    --------
    >>> decision = Decision(costs={"fraud": {"fine": 100}, "fine": {"fraud": 5}})
    >>> decision.decide({"fine": 0.93, "fraud": 0.07}).label
    'fraud'
    >>> decision.decide({"fine": 0.97, "fraud": 0.03}).label
    'fine'

    """

    def __init__(
        self,
        *,
        costs: Mapping[Any, Mapping[Any, float]] | None = None,
        hold: Mapping[str, Any] | None = None,
        coverage: float | None = None,
    ) -> None:
        if costs is None and hold is None and coverage is None:
            raise ValueError("say what to decide by: costs, hold or coverage")
        self.costs = None if costs is None else checked_costs(costs)
        self.hold = None if hold is None else checked_hold(hold)
        self.coverage = None if coverage is None else number("coverage", coverage, 0.5, 0.999)
        self._kind = next((k for k in _KINDS if k in (self.hold or {})), "")
        self.wanted = 0.0 if self.hold is None else float(self.hold[self._kind])
        self._alpha = 1.0 - (self.coverage or 0.0)
        self._aim = self.wanted
        self._level = self._alpha
        self._seen = np.zeros((2, BINS))  # probabilities of the label, by whether it was the truth
        self._scores = np.zeros(BINS)  # probabilities of the truth
        self._threshold, self._least = 0.5, 0.0

    @property
    def threshold(self) -> float | None:
        """From which probability on the label is decided just now; None if nothing is held."""
        return None if self.hold is None else self._threshold

    @property
    def level(self) -> float | None:
        """Which share of errors the sets are made for just now; None if there are none."""
        return None if self.coverage is None else self._level

    def decide(self, proba: Proba) -> Decided:
        """Return what is decided; nothing, as a label, where no label is known.

        Parameters
        ----------
        proba
            The probability of each label.

        """
        if not proba:
            return Decided(None, None if self.coverage is None else ())
        return Decided(self._label(proba), None if self.coverage is None else self._set(proba))

    def _label(self, proba: Proba) -> Any:
        if self.hold is not None:
            own = self._held(proba)
            if own is not None and proba[own] >= self._threshold:
                return own
            proba = {label: p for label, p in proba.items() if label != own} or proba
        if self.costs is None:
            return max(proba, key=proba.__getitem__)
        return min(proba, key=lambda one: self.expected_cost(one, proba))

    def expected_cost(self, decided: Hashable, proba: Proba) -> float:
        """Return what deciding so is expected to cost.

        Parameters
        ----------
        decided
            The label that is decided.
        proba
            The probability of each label.

        """
        return sum(p * self.cost(truth, decided) for truth, p in proba.items())

    def cost(self, truth: Hashable, decided: Hashable) -> float:
        """Return what it costs to decide so where this is the truth.

        Parameters
        ----------
        truth
            What it is.
        decided
            What was decided.

        """
        row = (self.costs or {}).get(str(truth), {})
        return row.get(str(decided), float(truth != decided))

    def _held(self, proba: Proba) -> Any:
        """Return the label whose precision or recall is held, None if it is not known yet."""
        assert self.hold is not None
        wanted = self.hold["label"]
        if wanted in proba:
            return wanted
        return next((label for label in proba if str(label) == str(wanted)), None)

    def _set(self, proba: Proba) -> tuple[Any, ...]:
        best = max(proba, key=proba.__getitem__)
        return tuple(one for one, p in proba.items() if p >= self._least or one == best)

    def learn(self, proba: Proba, decided: Decided, truth: Any) -> Outcome:
        """Take the label of a record that was decided, and tell what came of it.

        Parameters
        ----------
        proba
            The probabilities that it was decided from.
        decided
            What was decided.
        truth
            Its label.

        """
        nan = float("nan")
        cost = nan if self.costs is None else self.cost(truth, decided.label)
        covered, size, held = nan, nan, nan
        if self.coverage is not None and decided.labels is not None:
            covered, size = float(truth in decided.labels), float(len(decided.labels))
            self._follow_coverage(proba.get(truth, 0.0), covered)
        if self.hold is not None:
            own = self._held(proba)
            is_, told = own is not None and truth == own, own is not None and decided.label == own
            if own is None:
                is_ = str(truth) == str(self.hold["label"])
            if told if self._kind == "precision" else is_:
                held = float(is_ and told)
                self._aim = min(1.0, max(0.0, self._aim + STEP * (self.wanted - held)))
            if own is not None:
                self._follow_threshold(proba[own], is_)
        return Outcome(cost, covered, size, held)

    def _follow_coverage(self, p: float, covered: float) -> None:
        self._scores *= FADE
        self._scores[_bin(p)] += 1.0
        error = 1.0 - covered
        self._level = min(1.0, max(0.0, self._level + STEP * (self._alpha - error)))
        below = np.cumsum(self._scores)
        # At most so many of the latest truths were less likely than this.
        at = int(np.searchsorted(below, self._level * (below[-1] + 1.0) - 1.0, side="right"))
        self._least = at / BINS if self._level > 0 else 0.0

    def _follow_threshold(self, p: float, is_: bool) -> None:
        self._seen *= FADE
        self._seen[int(is_), _bin(p)] += 1.0
        wrong, right = np.cumsum(self._seen[:, ::-1], axis=1)[:, ::-1]  # from each bin on
        if right[0] < _FEWEST * (1 - FADE ** (2 * _FEWEST)):
            return
        if self._kind == "recall":
            enough = np.flatnonzero(right >= self._aim * right[0])
            self._threshold = float(enough[-1]) / BINS if len(enough) else 0.0
        else:
            enough = np.flatnonzero((right > 0) & (right >= self._aim * (right + wrong)))
            # Where no threshold does, it is the highest one that was ever reached.
            self._threshold = float(enough[0] if len(enough) else BINS - 1) / BINS

    def payload(self) -> dict[str, Any]:
        """Return what a checkpoint keeps; nothing in it changes any more."""
        return {
            "aim": self._aim, "level": self._level, "seen": self._seen.copy(),
            "scores": self._scores.copy(), "threshold": self._threshold, "least": self._least,
        }  # fmt: skip

    def restore(self, payload: Mapping[str, Any]) -> None:
        """Continue from what `payload` gave; raises ValueError if it does not fit.

        Parameters
        ----------
        payload
            What a checkpoint kept.

        """
        numbers = [payload.get(name) for name in ("aim", "level", "threshold", "least")]
        arrays = [payload.get(name) for name in ("seen", "scores")]
        shapes = ((2, BINS), (BINS,))
        if not all(type(n) is float and isfinite(n) and 0 <= n <= 1 for n in numbers):
            raise ValueError("a level of it is none")
        for found, shape in zip(arrays, shapes, strict=True):
            if not isinstance(found, np.ndarray) or found.shape != shape or found.dtype != float:
                raise ValueError("a count of it is none")
            if not (np.isfinite(found).all() and (found >= 0).all()):
                raise ValueError("a count of it is none")
        self._aim, self._level, self._threshold, self._least = (float(n or 0.0) for n in numbers)
        self._seen, self._scores = (np.array(found, dtype=float) for found in arrays)


def _bin(p: float) -> int:
    return min(BINS - 1, max(0, int(p * BINS))) if p == p else 0  # noqa: PLR0124


def checked_costs(costs: Any) -> dict[str, dict[str, float]]:
    """Return costs by the texts of labels; ValueError if they are none.

    Parameters
    ----------
    costs
        What somebody gave.

    Examples
    --------
    >>> checked_costs({1: {0: 9}})
    {'1': {'0': 9.0}}

    """
    if not isinstance(costs, Mapping) or not costs:
        raise ValueError("costs are {truth: {decided: cost}}, as in {'fraud': {'fine': 100}}")
    found: dict[str, dict[str, float]] = {}
    for truth, row in costs.items():
        if not isinstance(row, Mapping) or not row:
            raise ValueError(f"costs of {truth!r} are {{decided: cost}}; got {row!r}")
        found[str(truth)] = {
            str(told): number(f"the cost of {told!r} for {truth!r}", cost, -1e9, 1e9)
            for told, cost in row.items()
        }
    return found


def checked_hold(hold: Any) -> dict[str, Any]:
    """Return what is to be held; ValueError if it is nothing that can be.

    Parameters
    ----------
    hold
        What somebody gave.

    Examples
    --------
    >>> checked_hold({"label": "fraud", "recall": 0.8})
    {'label': 'fraud', 'recall': 0.8}

    """
    kinds = [kind for kind in _KINDS if isinstance(hold, Mapping) and kind in hold]
    if len(kinds) != 1 or set(hold) != {"label", kinds[0]}:
        raise ValueError(
            "hold is a label with its precision or its recall, as in "
            f"{{'label': 'fraud', 'precision': 0.9}}; got {hold!r}"
        )
    return {"label": hold["label"], kinds[0]: number(kinds[0], hold[kinds[0]], 0.01, 0.999)}
