"""How much a record counts by its class: rare ones more, as a table says or as the stream shows."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import Any, Literal

from stream_llsvm.options import number

#: What a record still counts when another has come: the balance follows the last 5,000 or so.
FADE = 0.9998
#: Longer steps than so many cost accuracy; a class that is rarer does not count more.
_MOST = 20.0
BALANCED: Literal["balanced"] = "balanced"


class ClassWeights:
    """Weights by class.

    Parameters
    ----------
    chosen
        ``{label: weight}``, where what is not named counts 1; or ``"balanced"``: all classes count
        the same together, and a record 1 on the mean, by how often each class has come of late. Not
        above 20.

    Examples
    --------
    >>> weights = ClassWeights("balanced")
    >>> for _ in range(90):
    ...     common = weights.take("fine")
    >>> for _ in range(10):
    ...     rare = weights.take("fraud")
    >>> round(weights.of("fine"), 2), round(weights.of("fraud"), 2)
    (0.56, 4.6)
    >>> ClassWeights({"fraud": 5}).take("fraud")
    5.0

    """

    def __init__(self, chosen: Literal["balanced"] | Mapping[Any, float]) -> None:
        if isinstance(chosen, Mapping):
            self.table: dict[str, float] | None = {
                str(label): number(f"the weight of {label!r}", weight, 0.0, 1e6)
                for label, weight in chosen.items()
            }
        elif chosen == BALANCED:
            self.table = None
        else:
            raise ValueError(
                f'class_weight is "balanced" or weights by label, as in {{"fraud": 5}}; got '
                f"{chosen!r}"
            )
        self._counts: dict[Any, float] = {}
        self._total = 0.0

    def of(self, label: Any) -> float:
        """Return how much a record of this class counts, by what came before it.

        Parameters
        ----------
        label
            Its label.

        """
        if self.table is not None:
            return self.table.get(str(label), 1.0)
        own = self._counts.get(label, 0.0) + 1.0
        classes = len(self._counts) + (label not in self._counts)
        return min(_MOST, (self._total + classes) / (classes * own))

    def take(self, label: Any) -> float:
        """Return how much a record of this class counts, and note that it came.

        Parameters
        ----------
        label
            Its label.

        """
        weight = self.of(label)
        if self.table is None:
            for known in self._counts:
                self._counts[known] *= FADE
            self._counts[label] = self._counts.get(label, 0.0) + 1.0
            self._total = FADE * self._total + 1.0
        return weight

    def payload(self) -> dict[str, Any]:
        """Return what a checkpoint keeps."""
        return {"counts": list(self._counts.items()), "total": self._total}

    def restore(self, payload: Mapping[str, Any]) -> None:
        """Continue from what `payload` gave; raises ValueError if it does not fit.

        Parameters
        ----------
        payload
            What a checkpoint kept.

        """
        counts, total = payload.get("counts"), payload.get("total")
        if not isinstance(counts, list) or not _is_count(total):
            raise ValueError("counts of classes are none")
        if not all(type(one) is tuple and len(one) == 2 and _is_count(one[1]) for one in counts):
            raise ValueError("counts of classes are none")
        self._counts, self._total = dict(counts), float(total or 0.0)


def _is_count(value: Any) -> bool:
    return type(value) is float and isfinite(value) and value >= 0
