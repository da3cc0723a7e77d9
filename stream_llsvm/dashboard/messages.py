"""What one look at a run becomes: a point of its history, and a frame for those who watch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np

from stream_llsvm.dashboard.json_values import distinct, number, text
from stream_llsvm.dashboard.keys import shown as keys_shown
from stream_llsvm.dashboard.look import (
    Counts,
    Details,
    Fields,
    Input,
    Look,
    Sureness,
    Table,
    quantile,
)
from stream_llsvm.engine.by_class import OTHERS
from stream_llsvm.engine.cohorts import Cohort
from stream_llsvm.engine.late_labels import DELAYS
from stream_llsvm.engine.rounds import PARTS
from stream_llsvm.engine.scores import VIEWS, headline, listed_scores, scores_of
from stream_llsvm.engine.task import Task

CLASSES = 40
_LETTER = 500
_EVENTS = 50
_PARTITIONS = 200
_LABELS = 20  # whose costs and weights are sent
_QUANTILES = (50, 95, 99)
_OTHERS = "(others)"
_DIFFERENCE = ("difference", "low", "high", "microseconds")


def point(look: Look, predict: Counts, learn: Counts) -> dict[str, Any]:
    """Return what is kept of a look for as long as the run goes on.

    Parameters
    ----------
    look
        The look.
    predict, learn
        How long the last seconds' records took, as a histogram counts them.

    """
    windowed = look.scores.get("windowed", {})
    waits = {
        f"{name}_p{percent}": quantile(counts, percent / 100)
        for name, counts in (("predict", predict), ("learn", learn))
        for percent in _QUANTILES
    }
    return {
        "id": look.id,
        "time": look.time,
        "records": look.counts["records"],
        "learned": look.counts["learned"],
        "rate": look.rate,
        **{view: look.scores.get(view, {}).get(headline(look.task).name) for view in VIEWS},
        **{one.name: windowed.get(one.name) for one in scores_of(look.task) if one.chart != "view"},
        **({"estimated": look.estimated.get("windowed")} if look.estimated else {}),
        **waits,
        "lag": total_lag(look),
        "rejected": look.rejected,
        "fields_moved": None if look.input is None else look.input.moved,
        "most_drift": None
        if look.input is None
        else max((one.drift for one in look.input.fields), default=0.0),
        "by_class": [
            [one.code, *(number(v, 3) for v in (one.precision, one.recall, one.f1)), one.support]
            for one in look.by_class
        ],
        "members": [share for _, share in look.members],
        "steps": [[number(share, 3) for share in each] for each in look.steps],
    }


def score_list(task: Task, scores: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the scores that a run has, as those who show them need to know them."""
    shown = ("name", "title", "help", "percent", "in_units", "less", "chart", "main")
    return [{key: getattr(score, key) for key in shown} for score in listed_scores(task, scores)]


def frame(
    look: Look,
    kept: dict[str, Any],
    model: dict[str, Any] | None,
) -> dict[str, Any]:
    """Return a frame; the look must have its details.

    Parameters
    ----------
    look
        The look.
    kept
        Its point.
    model
        What is shown of the model, None if that has not changed or there is nothing.

    """
    seen = look.details
    assert seen is not None
    return {
        "id": look.id,
        "time": look.time,
        "status": _status(look),
        "task": look.task,
        "point": kept,
        "scores": look.scores,
        "score_list": score_list(look.task, look.scores),
        "window": look.window,
        "estimated": look.estimated,
        "by_class": by_class(look),
        "sureness": _sureness(seen.sureness),
        "input": input_shown(look.input),
        "cohorts": cohorts_shown(look.cohorts),
        "decision": decision_shown(look.decision),
        "confusion": confusion(look.classes, seen),
        "lag": {
            f"{text(topic)}[{part}]": behind
            for topic, parts in look.lag.items()
            for part, behind in list(parts.items())[:_PARTITIONS]
        } or None,
        "labels": _labels(look),
        "rounds": _rounds(look),
        "keys": keys_shown(look.keys, seen.key_answers),
        "challengers": _challengers(look),
        "events": [event(one) for one in look.events[-_EVENTS:]],
        "dead_letters": [
            {"place": text(one.place), "reason": text(one.reason), "detail": text(one.detail)}
            for one in seen.rejected
        ],
        "fields": _fields(seen.fields),
        "model": model,
    }  # fmt: skip


def by_class(look: Look) -> list[dict[str, Any]]:
    """Return what is told of each class; the classes that are many are one, the last."""
    names = distinct(look.classes)
    labels = max(1, sum(one.support for one in look.by_class))
    answers = max(1, sum(one.foretold for one in look.by_class))
    return [
        {
            "code": one.code,
            "name": _OTHERS if one.code == OTHERS else names[one.code],
            "precision": number(one.precision, 4),
            "recall": number(one.recall, 4),
            "f1": number(one.f1, 4),
            "support": one.support,
            "labels": number(one.support / labels, 4),
            "answers": number(one.foretold / answers, 4),
        }
        for one in look.by_class
        if one.code < len(names)
    ]


def _sureness(seen: Sureness | None) -> dict[str, Any] | None:
    """Return how sure answers were, by equal bins; and how often such answers were right."""
    if seen is None:
        return None
    views = zip(("windowed", "cumulative"), seen.answers, seen.labelled, strict=True)
    return {
        view: {
            "answers": answers.tolist(),
            "labelled": labelled[0].astype(int).tolist(),
            "held": [number(h / n if n else None, 4) for n, h, _ in labelled.T.tolist()],
            "right": [number(r / n if n else None, 4) for n, _, r in labelled.T.tolist()],
        }
        for view, answers, labelled in views
    }


def input_shown(seen: Input | None) -> dict[str, Any] | None:
    """Return what the fields do, with what has changed in words."""
    if seen is None:
        return None
    return seen._asdict() | {
        "duplicates": number(seen.duplicates, 4),
        "fields": [
            {key: number(v, 5) if isinstance(v, float) else v for key, v in one._asdict().items()}
            | {"name": text(one.name), "what": one.what() if one.moved >= 0 else ""}
            for one in seen.fields
        ],
    }


def cohorts_shown(cohorts: Mapping[str, Sequence[Cohort]]) -> list[dict[str, Any]]:
    """Return how good the answers are by the values of fields; empty if nobody asks for it."""
    return [
        {
            "field": text(field),
            "cohorts": [
                {
                    "name": name,
                    "records": one.records,
                    "error": number(one.error),
                    "recent": number(one.recent),
                    "majority": number(one.majority),
                }
                for name, one in zip(distinct(one.name for one in told), told, strict=True)
            ],
        }
        for field, told in cohorts.items()
    ]


def decision_shown(said: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return what is decided by, of many labels some; None if answers stay what they are."""
    if said is None:
        return None
    hold, weights, costs = said["hold"], said["class_weight"], said["costs"]
    if hold is not None:
        hold = {name: text(v) if name == "label" else v for name, v in hold.items()}
    if costs is not None:
        costs = {truth: _some(row) for truth, row in _some(costs).items()}
    return {
        "costs": costs,
        "hold": hold,
        "threshold": said["threshold"],
        "coverage": said["coverage"],
        "class_weight": _some(weights) if isinstance(weights, Mapping) else weights,
    }


def _some(by_label: Mapping[str, Any]) -> dict[str, Any]:
    """Return the first entries, their labels as they are sent."""
    names = distinct(islice(by_label, _LABELS))
    return dict(zip(names, by_label.values(), strict=False))


def _fields(fields: Fields) -> dict[str, Any]:
    """Return what each field was taken for; of many the first, and how many there are."""
    records = max(1, fields.records)
    return {
        "known": fields.known,
        "fields": [
            {
                "name": text(name),
                "kind": taken.usual,
                "share": {kind: number(n / records, 3) for kind, n in taken.counts.items()},
                "distinct": taken.distinct or None,
                "about": taken.about,
                "example": text(taken.example) if taken.distinct else None,
                "missing": number(max(0.0, 1 - taken.said / records), 3),
            }
            for name, taken in fields.taken.items()
        ],
    }


def _status(look: Look) -> dict[str, Any]:
    made = look.checkpoint
    return {
        "state": look.status.state,
        "since": look.status.since,
        "text": text(look.status.text, _LETTER),
        "model": text(look.model),
        "source": text(look.source),
        "records": look.counts["records"],
        "predicted": look.counts["predicted"],
        "learned": look.counts["learned"],
        "rate": look.rate,
        "lag": total_lag(look),
        "late": look.counts["late"],
        "gave_up": look.counts["gave_up"],
        "waited": look.waited,
        "rejected": look.rejected,
        "reasons": {text(reason): n for reason, n in look.reasons.items()},
        "started": look.started,
        "checkpoint": None if made is None else made._asdict() | {"failed": look.failing},
        "drifts": look.counts["drifts"],
        "features": look.features,
        "classes": len(look.classes),
    }


def total_lag(look: Look) -> int | None:
    """Return how many records the source is behind, None if it does not say."""
    return sum(sum(parts.values()) for parts in look.lag.values()) if look.lag else None


def event(noted: dict[str, Any]) -> dict[str, Any]:
    """Return an event as it is sent."""
    return noted | {"kind": text(noted["kind"]), "text": text(noted["text"], _LETTER)}


def _challengers(look: Look) -> dict[str, Any] | None:
    """Return who answers, and how those do that learn beside it; None if there are none."""
    if not (look.rivals or look.dropped):
        return None
    return {
        "champion": text(look.champion),
        "rivals": [
            one._asdict() | {name: number(getattr(one, name), 5) for name in _DIFFERENCE}
            for one in look.rivals
        ],
        "dropped": {text(name): text(why, _LETTER) for name, why in look.dropped.items()},
    }


def _labels(look: Look) -> dict[str, Any] | None:
    if look.labels is None:
        return None
    delays = {"upto": [*DELAYS, None], "counts": look.labels.delays}
    return {"waiting": look.labels.waiting, **look.labels.counts, "delays": delays}


def _rounds(look: Look) -> dict[str, Any] | None:
    """Return how the rounds of many learners go, and how long each part of the last one took."""
    rounds = look.rounds
    if rounds is None:
        return None
    seconds = [[PARTS[name], number(rounds.seconds[name], 3)] for name in PARTS
               if name in rounds.seconds]  # fmt: skip
    shards = [one._asdict() for one in rounds.shards]
    told = {"fallbacks": dict(rounds.fallbacks), "seconds": seconds, "shards": shards}
    return rounds._asdict() | told


def confusion(labels: Sequence[Any], seen: Details) -> dict[str, Any] | None:
    """Return both tables, None of numbers; classes with the least support are folded into one."""
    if seen.windowed is None or seen.cumulative is None:
        return None
    n = len(labels)
    windowed, cumulative = _square(seen.windowed, n), _square(seen.cumulative, n)
    names = distinct(labels)
    since = (seen.since + [0] * n)[:n]
    others = max(0, n - CLASSES)
    if others:
        support = cumulative.sum(axis=1)
        kept = np.sort(np.argsort(-support, kind="stable")[:CLASSES])
        rest = np.setdiff1d(np.arange(n), kept)
        windowed, cumulative = _folded(windowed, kept, rest), _folded(cumulative, kept, rest)
        names = [names[i] for i in kept] + [_OTHERS]
        since = [since[i] for i in kept] + [min(since[i] for i in rest)]
    return {
        "classes": names,
        "table": windowed.tolist(),
        "cumulative": cumulative.tolist(),
        "since": since,
        "others": others,
    }


def _square(table: Table, n: int) -> Table:
    """Return the table with room for all classes."""
    return np.pad(table, (0, max(0, n - len(table))))[:n, :n]


def _folded(table: Table, kept: Table, rest: Table) -> Table:
    small = np.zeros((len(kept) + 1,) * 2, dtype=np.int64)
    small[:-1, :-1] = table[np.ix_(kept, kept)]
    small[:-1, -1] = table[np.ix_(kept, rest)].sum(axis=1)
    small[-1, :-1] = table[np.ix_(rest, kept)].sum(axis=0)
    small[-1, -1] = table[np.ix_(rest, rest)].sum()
    return small
