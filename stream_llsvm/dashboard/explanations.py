"""Why answers came out as they did, by the model as it was when it gave them."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from stream_llsvm.dashboard.json_values import WEEKDAYS, largest, number, pairs, shown, text
from stream_llsvm.dashboard.model_copy import replayed
from stream_llsvm.dashboard.recent_records import Recent, Taken
from stream_llsvm.model.anchor_table import answering
from stream_llsvm.model.explain import Context
from stream_llsvm.records.column_space import flat

MOST = 8
#: Of these so many may be wrong answers that are older than right ones which are left out.
_WRONG = 4
#: Contributions, contexts and voters that are listed.
_PARTS, _CONTEXTS, _VOTERS = 12, 6, 20
_HOUR = re.compile(r"-?\d+(?:\.\d+)?(?:e[-+]\d+)?")
#: Seconds of work that one look may do on them; a right and a wrong answer are explained in any
#: case.
_TIME = 0.003
#: Seconds that learning the records before them once more may take, but for the first few.
_WORK, _FEWEST = 0.005, 8


class Kept(NamedTuple):
    """A record, and what the page shows of its answer."""

    one: Recent
    why: dict[str, Any]


class Explanations:
    """Explains some of the latest answers, each once; right ones and wrong ones."""

    def __init__(self) -> None:
        self._kept: tuple[Kept, ...] = ()  # replaced, never changed: others read it
        self._member: int | None = None
        self._cost = 0.0  # seconds that a record took to learn

    def replay(
        self,
        model: Any,
        taken: Sequence[Taken],
        choose: Callable[[Any], int | None],
    ) -> None:
        """Explain some of the answers to the records that came after a copy was made.

        Parameters
        ----------
        model
            The copy. It learns these records.
        taken
            The records.
        choose
            Says which member is on the map.

        """
        wanted, kept = self._wanted(taken), list(self._kept)
        surplus = set(wanted[2:])
        learned, explaining, begin = 0.0, 0.0, time.thread_time()
        for one in replayed(model, taken, sorted(wanted)):
            now = time.thread_time()
            learned += now - begin
            self._cost = learned / max(1, one.record - taken[0].before - 1)
            begin = now
            if one.record in surplus and explaining > _TIME:
                continue
            if model._state is None or not _answers(model, one):
                continue
            self._member = choose(model)
            why = explained(model, one, self._member)
            if why is not None:
                kept.append(Kept(one, why))
            explaining += time.thread_time() - begin
            begin = time.thread_time()
        self._kept = _mixed(kept)

    def _wanted(self, taken: Sequence[Taken]) -> list[int]:
        """Return which records to explain: one of each kind, then until all is full.

        Nobody knows which answers are wrong before the labels come; so all are replayed up to one
        that is.
        """
        known = {kept.one.record for kept in self._kept}
        last = taken[0].before + max(_FEWEST, _WORK / max(self._cost, 1e-9))
        kinds: tuple[list[int], list[int]] = ([], [])
        for each in taken:
            for i, told in enumerate(each.answers.labels):
                if told is not None and i not in each.answers.refused:
                    record = each.before + i + 1
                    if record not in known and record <= last:
                        kinds[each.recent(i).wrong].append(record)
        right, wrong = (kind[::-1] for kind in kinds)  # the newest first
        more = [*wrong[1:_WRONG], *right[1:]][: max(0, MOST - 2 - len(self._kept))]
        return [*right[:1], *wrong[:1], *more]

    def look(self, member: int | None) -> list[dict[str, Any]]:
        """Return what is known of them, newest first; ``member`` is the one on the map."""
        if member != self._member:
            # They still say what was answered and why; only the anchors are of another map.
            self._kept = tuple(Kept(one, why | {"anchors": []}) for one, why in self._kept)
            self._member = member
        return [kept.why for kept in self._kept]

    def record(self, which: int) -> Kept | None:
        """Return one of those that are shown, None if it is not; any thread may ask."""
        return next((kept for kept in self._kept if kept.one.record == which), None)


def _mixed(kept: Sequence[Kept]) -> tuple[Kept, ...]:
    """Return the newest, newest first; a few wrong ones stay, however many right ones follow."""
    newest = sorted(kept, key=lambda each: -each.one.record)
    wrong = [each for each in newest if each.one.wrong]
    others = [each for each in newest if not each.one.wrong]
    few = wrong[:_WRONG]
    shown = few + others[: MOST - len(few)]
    shown += wrong[_WRONG:][: MOST - len(shown)]
    return tuple(sorted(shown, key=lambda each: -each.one.record))


def _answers(model: Any, one: Recent) -> bool:
    """Whether the model answers a record as it was answered: if not, it is another model."""
    try:
        if one.sure is None:
            return math.isclose(model.predict_one(one.x), one.prediction, rel_tol=1e-6)
        memory = model._state
        memory.run_one(model._features.encode(one.x), keep=False)
    except (ValueError, TypeError):
        return False
    code = int(memory.one_likeliest[0])
    sure = float(memory.one_proba[0, code])
    same = bool(model.classes[code] == one.prediction)
    # Sure answers of different models are all near 1: how far from it tells them apart.
    doubt = math.isclose(1 - sure, 1 - one.sure, rel_tol=1e-4, abs_tol=1e-15)
    return same and doubt and math.isclose(sure, one.sure, rel_tol=1e-6)


def _number_text(told: float) -> str:
    return format(told, ",.5g")


def explained(model: Any, one: Recent, member: int | None) -> dict[str, Any] | None:
    """Explain an answer, as the model sees it now; None if it can make nothing of the record.

    Without a prediction the likeliest label is explained.
    """
    told = text if one.sure is not None else _number_text
    try:
        if one.sure is None:
            explanation = model.explain_one(one.x)
        else:
            explanation = model.explain_one(one.x, one.prediction)
    except (ValueError, TypeError):
        return None
    near = [] if member is None else answering(model._state, member)
    top, rest = largest(explanation.contributions, _PARTS)
    x = flat(one.x)
    return {
        "record": one.record,
        "place": text(one.place),
        "label": told(explanation.score if one.sure is None else explanation.label),
        "truth": None if one.label is None else told(one.label),
        "sure": None if one.sure is None else number(one.sure),
        "error": None
        if one.sure is not None or one.label is None
        else number(explanation.score - one.label),
        "score": number(explanation.score),
        "bias": number(explanation.bias),
        "reference": number(explanation.reference),
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
        "contexts": [_context(each, x) for each in explanation.contexts[:_CONTEXTS]],
        "values": [[text(name), shown(x.get(name))] for name in top],
    }


def _context(context: Context, x: Mapping[Any, Any]) -> dict[str, Any]:
    """Return what some fields say together, and what came with it."""
    said = {
        # What is no field of the record is a part of a time, such as "at hour".
        text(name): _said(value) if name in x else _of_time(text(name).rpartition(" ")[2], value)
        for name, value in context.values.items()
    }
    return {
        "values": [list(pair) for pair in said.items()],
        "counts": [[text(label), n] for label, n in context.counts.items()],
        "part": number(context.contribution),
    }


def _said(value: Any) -> str:
    """Return what a field says in a context, as text."""
    return "missing" if value is None else text(value)


def _of_time(part: str, value: Any) -> str:
    """Return what the hour or the weekday of a time says, as text.

    Examples
    --------
    >>> _of_time("weekday", 4), _of_time("hour", "-0.4 to 3.75"), _of_time("hour", 12)
    ('Fri', '0:00 to 3:45', '12:00')

    """
    if part == "weekday" and value in range(len(WEEKDAYS)):
        return WEEKDAYS[value]
    return _HOUR.sub(_clock, _said(value)) if part == "hour" else _said(value)


def _clock(found: re.Match[str]) -> str:
    hours, minutes = divmod(round(60 * min(max(float(found[0]), 0.0), 24.0)), 60)
    return f"{hours}:{minutes:02}"
