"""Why the latest predictions came out as they did."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from stream_llsvm.anchor_table import answering
from stream_llsvm.dashboard.plain import largest, number, pairs, text
from stream_llsvm.dashboard.recent import Recent
from stream_llsvm.learners.base import LocalClassifier

MOST = 8
#: Contributions, values of the record, and voters that are listed.
_PARTS, _VALUES, _VOTERS = 12, 40, 20
#: Seconds of work that one look may do on them; one prediction is explained in any case, and as
#: many as it takes to fill the list.
_TIME = 0.003


class Whys:
    """Explains the latest predictions, each once, the newest first."""

    def __init__(self) -> None:
        self._kept: list[tuple[tuple[int, str], dict[str, Any]]] = []
        self._member: int | None = None

    def look(
        self, model: LocalClassifier, recent: Sequence[Recent], member: int | None
    ) -> list[dict[str, Any]]:
        """Return what is known of them, newest first; ``member`` is the one on the map."""
        if member != self._member:
            # They still say what was answered and why; only the anchors are of another map.
            self._kept = [(key, why | {"anchors": []}) for key, why in self._kept]
            self._member = member
        done = {key for key, _ in self._kept}
        begin, fresh = time.thread_time(), list[tuple[tuple[int, str], dict[str, Any]]]()
        for one in reversed(recent[-MOST:]):
            key = one.record, one.place
            if one.prediction is None or key in done:
                continue
            full = len(fresh) + len(self._kept) >= MOST
            if fresh and full and time.thread_time() - begin > _TIME:
                break
            why = explained(model, one, member)
            if why is not None:
                fresh.append((key, why))
        everything = [*fresh, *self._kept]
        self._kept = sorted(everything, key=lambda kept: -kept[0][0])[:MOST]
        return [why for _, why in self._kept]


def explained(model: LocalClassifier, one: Recent, member: int | None) -> dict[str, Any] | None:
    """Explain a prediction as the model sees it now; None if it can make nothing of the record.

    Without a prediction the likeliest label is explained.
    """
    memory = model._memory
    try:
        explanation = model.explain_one(one.x, one.prediction)
    except (ValueError, TypeError):
        return None
    assert memory is not None
    near = [] if member is None else answering(memory, member)
    top, rest = largest(explanation.contributions, _PARTS)
    others = [name for name in explanation.contributions if name not in set(top)]
    values = {name: one.x[name] for name in [*top, *others][:_VALUES]}
    return {
        "record": one.record,
        "place": text(one.place),
        "label": text(explanation.label),
        "truth": None if one.label is None else text(one.label),
        "sure": number(one.sure),
        "score": number(explanation.score),
        "bias": number(explanation.bias),
        "memory": number(explanation.memory),
        "contributions": pairs(top, explanation.contributions),
        "rest": number(rest),
        "members": {text(name): number(part) for name, part in explanation.members.items()},
        "anchors": [{"id": a, "share": number(share, 4)} for a, share in near],
        "voters": [
            {
                "label": text(voter.label),
                "age": voter.age,
                "distance": number(voter.distance, 4),
                "share": number(voter.share, 4),
            }
            for voter in explanation.voters[:_VOTERS]
        ],
        "values": pairs(values, values),
    }
