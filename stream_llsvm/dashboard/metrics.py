"""A run as Prometheus reads it: text by hand, with a bounded number of lines."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate, islice
from types import MappingProxyType
from typing import NamedTuple

from stream_llsvm.dashboard.json_values import distinct, text
from stream_llsvm.dashboard.look import Look
from stream_llsvm.dashboard.messages import by_class, cohorts_shown
from stream_llsvm.engine.challengers import Rival
from stream_llsvm.engine.late_labels import DELAYS
from stream_llsvm.engine.scores import VIEWS, headline, scores_of
from stream_llsvm.engine.task import CLASSIFICATION

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
STATES = ("starting", "compiling", "running", "waiting", "recovering", "stopped", "failed")
_PREFIX = "stream_llsvm_"
_MOST = 100  # values of one label
_FEWEST = 100  # records of a value of a field
_PARTITIONS = 1_000
_MOST_FIELDS = 20

Labels = Mapping[str, str]
#: A metric's name, and the values of its labels.
Series = tuple[str | float, ...]


class Metric(NamedTuple):
    """A metric: its name without the prefix, its type, what it is, and its values."""

    name: str
    kind: str
    help: str
    values: Iterable[tuple[Labels, float]]


class Family(NamedTuple):
    """A metric as it is written: what stands before its values, and a line for each."""

    head: list[str]
    lines: list[str]


class Counters:
    """What counters have risen by in this process: from 0 on, and only up.

    A run that goes on from a checkpoint counts again what it had learned since. Prometheus takes a
    counter that falls for one that begins at 0, and would add all that the checkpoint holds.

    Parameters
    ----------
    before
        The look at the run as this process began it.

    """

    def __init__(self, before: Look) -> None:
        self._last: dict[Series, float] = {}
        self._risen: dict[Series, float] = {}
        metrics(before, 0.0, counters=self)
        self._risen.clear()

    def of(self, series: Series, value: float) -> float:
        """Return by how much a value has risen; where it fell, as another model's, by nothing."""
        last = self._last.get(series, 0)
        self._last[series] = value
        risen = self._risen[series] = self._risen.get(series, 0) + max(0, value - last)
        return risen


def metrics(
    look: Look, silent_for: float, model: str = "", *, counters: Counters
) -> dict[str, Family]:
    """Return all metrics by their names, to be `written`.

    Parameters
    ----------
    look
        The newest look at the run.
    silent_for
        Seconds since the run's loop last turned.
    model
        The name of the run's model, a label of all values; none if there is only one.
    counters
        What the counters had risen by at the last call.

    """
    own: Labels = {"model": model} if model else {}
    found = families(numbers(look, silent_for), own, counters)
    for name, help, upto, total in _histograms(look):
        risen = [(bound, counters.of((name, bound), below)) for bound, below in upto]
        lines = list(_histogram(name, own, risen, counters.of((name,), total)))
        found[name] = Family(_head(name, "histogram", help), lines)
    return found


def families(
    metrics: Iterable[Metric],
    own: Labels = MappingProxyType({}),
    counters: Counters | None = None,
) -> dict[str, Family]:
    """Return metrics by name as they are written, with labels of their own; none without values."""
    found = {}
    for metric in metrics:
        values = metric.values
        if counters is not None and metric.kind == "counter":
            name = metric.name
            values = [(of, counters.of((name, *of.values()), value)) for of, value in values]
        lines = [_line(metric.name, {**own, **labels}, value) for labels, value in values]
        if lines:
            found[metric.name] = Family(_head(metric.name, metric.kind, metric.help), lines)
    return found


def written(models: Iterable[Mapping[str, Family]]) -> str:
    """Return the text of the metrics of one model or of several: Prometheus wants each name once.

    Parameters
    ----------
    models
        What `metrics` gave of each.

    """
    together: dict[str, Family] = {}
    for families in models:
        for name, family in families.items():
            together.setdefault(name, Family(family.head, [])).lines.extend(family.lines)
    return "".join(
        f"{line}\n" for family in together.values() for line in (*family.head, *family.lines)
    )


def numbers(look: Look, silent_for: float) -> Iterable[Metric]:
    """Yield all metrics but histograms."""
    yield from _counts(look)
    yield from _gauges(look, silent_for)
    yield from _classes(look)
    yield from _input(look)
    yield from _cohorts(look)
    yield from _labels(look)
    yield from _keys(look)
    yield from _rounds(look)
    yield from _challengers(look)


def _counts(look: Look) -> Iterable[Metric]:
    def count(name: str, help: str, value: float) -> Metric:
        return Metric(name, "counter", help, [({}, value)])

    counts = look.counts
    yield count("records_total", "Records that came, the rejected included.", counts["records"])
    yield count("predicted_total", "Records that were predicted.", counts["predicted"])
    yield count("learned_total", "Records that were learned.", counts["learned"])
    yield Metric(
        "rejected_total",
        "counter",
        "Records that could not be used.",
        [({"reason": text(reason)}, n) for reason, n in look.reasons.items()],
    )
    yield count("late_total", "Records too late to be put in order by time.", counts["late"])
    yield count("order_gave_up_total", "Waits for a partition that ran out.", counts["gave_up"])
    yield count("order_wait_seconds_total", "Seconds records were held for others.", look.waited)
    lost = "Records that the source had deleted before they could be read."
    yield count("lost_records_total", lost, counts["lost_records"])
    yield count("stalled_total", "Partitions that had more, and gave nothing.", counts["stalled"])
    yield count("non_finite_total", "Answers that were no number.", counts["non_finite"])
    yield count("drift_total", "Drift alarms.", counts["drifts"])
    help = "Features max_mb has no room for, as often as they came."
    yield count("features_left_out_total", help, look.left_out)
    yield count("anchor_moves_total", "How often an anchor was moved.", look.moves)


def _gauges(look: Look, silent_for: float) -> Iterable[Metric]:
    def gauge(name: str, help: str, value: float) -> Metric:
        return Metric(name, "gauge", help, [({}, value)])

    yield gauge("rate_records", "Records a second, smoothed.", look.rate)
    lag = [
        ({"topic": text(topic), "partition": text(part)}, float(behind))
        for topic, parts in look.lag.items()
        for part, behind in parts.items()
    ]
    yield Metric("lag_records", "gauge", "Records behind the partition's end.", lag[:_PARTITIONS])
    yield from _scores(look)
    names = distinct(name for name, _ in look.members)
    shares = zip(names, (share for _, share in look.members), strict=True)
    yield Metric(
        "member_weight_ratio",
        "gauge",
        "Each member's share of the mixer's weights.",
        [({"member": name}, share) for name, share in islice(shares, _MOST)],
    )
    yield gauge("features", "Features known.", look.features)
    if look.task == CLASSIFICATION:
        yield gauge("classes", "Classes seen.", len(look.classes))
    if look.checkpoint is not None:
        age = max(0.0, look.time + silent_for - look.checkpoint.time)
        yield gauge("checkpoint_age_seconds", "Since the last checkpoint.", age)
        behind = look.counts["records"] - look.checkpoint.record
        yield gauge("checkpoint_behind_records", "Records since the last checkpoint.", behind)
        every = look.checkpoint_interval
        yield gauge("checkpoint_interval_seconds", "Between two checkpoints, as was asked.", every)
        yield gauge("checkpoint_failed", "Whether the last one failed.", float(look.failing))
    help = "For how long records came of which none was learned."
    yield gauge("unlabelled_seconds", help, look.unlabelled)
    yield gauge("silent_seconds", "Since the run's loop last turned.", silent_for)
    yield gauge("start_time_seconds", "When the run began.", look.started)
    states = [({"state": state}, float(state == look.status.state)) for state in STATES]
    yield Metric("state", "gauge", "1 for the state that the run is in.", states)


def _scores(look: Look) -> Iterable[Metric]:
    """Yield each family of scores: of one score by view, or, windowed, of several by name."""
    helps: dict[str, list[str]] = {}
    values: dict[str, list[tuple[Labels, float]]] = {}
    # Without any label there is the estimate alone.
    known = look.scores or {view: {"estimated": value} for view, value in look.estimated.items()}
    for score in scores_of(look.task):
        by_view = score.labels == "view"
        helps.setdefault(score.metric, []).append(f"{score.title}, {score.help}")
        values.setdefault(score.metric, []).extend(
            ({"kind": view if by_view else score.name}, known[view][score.name])
            for view in (VIEWS if by_view else VIEWS[:1])
            if score.name in known.get(view, {})
        )
    for name, told in values.items():
        yield Metric(name, "gauge", f"{'; '.join(helps[name])}.", told)


def _classes(look: Look) -> Iterable[Metric]:
    """Yield what there is to say of each class, those that are many together."""
    told = by_class(look)
    for name, key, help in (
        ("class_precision_ratio", "precision", "Share of the class's answers that was right"),
        ("class_recall_ratio", "recall", "Share of the class's records that was found"),
        ("class_f1_ratio", "f1", "F1 of the class"),
        ("class_records", "support", "Labels of the class"),
        ("label_share_ratio", "labels", "Share of the labels that the class has"),
        ("answer_share_ratio", "answers", "Share of the answers that the class has"),
    ):
        values: list[tuple[Labels, float]] = [
            ({"class": one["name"]}, one[key]) for one in told if one[key] is not None
        ]
        yield Metric(name, "gauge", f"{help}, in the window.", values)


def _input(look: Look) -> Iterable[Metric]:
    """Yield what the fields of the records do: of many those that matter most."""
    seen = look.input
    if seen is None:
        return
    nothing: Labels = {}
    alarms = [(nothing, float(seen.alarms))]
    yield Metric("input_drift_total", "counter", "Alarms that fields have moved.", alarms)
    yield Metric("input_fields", "gauge", "Fields watched.", [(nothing, float(seen.known))])
    moved = [(nothing, float(seen.moved))]
    yield Metric("input_fields_moved", "gauge", "Fields that are others than they were.", moved)
    if seen.duplicates is not None:
        again = [(nothing, seen.duplicates)]
        yield Metric("input_duplicates_ratio", "gauge", "Records whose key came before.", again)
    some = seen.fields[:_MOST_FIELDS]
    names = distinct(one.name for one in some)
    for name, help, values in (
        ("field_drift_bits", "Divergence from before", (one.drift for one in some)),
        ("field_missing_ratio", "Share of records without a value", (one.missing for one in some)),
        ("field_outside_ratio", "Numbers out of the range seen", (one.outside for one in some)),
        ("field_fresh_ratio", "Names that had never come", (one.fresh for one in some)),
    ):
        told = [({"field": field}, v) for field, v in zip(names, values, strict=True)]
        yield Metric(name, "gauge", f"{help}, of late.", told)


def _cohorts(look: Look) -> Iterable[Metric]:
    """Yield how good the answers are by the values of fields."""
    told = [
        ({"field": one["field"], "value": cohort["name"]}, cohort)
        for one in cohorts_shown(look.cohorts)
        for cohort in one["cohorts"]
        if cohort["records"] >= _FEWEST  # values that hardly ever come would each be a series
    ]
    if not told:
        return
    what = "Share of wrong answers" if look.task == CLASSIFICATION else "Mean absolute error"
    for name, key, help in (
        ("slice_records", "records", "Records scored"),
        ("slice_error", "recent", f"{what} of the last 1,000 or so"),
    ):
        values = [(labels, float(v)) for labels, one in told if (v := one[key]) is not None]
        yield Metric(name, "gauge", f"{help}, by the values of a field.", values)


def _labels(look: Look) -> Iterable[Metric]:
    """Yield what there is to say of labels that come later."""
    late = look.labels
    if late is None:
        return
    waiting: list[tuple[Labels, float]] = [({}, float(late.waiting))]
    yield Metric("labels_waiting", "gauge", "Records that wait for their labels.", waiting)
    yield Metric(
        "labels_total",
        "counter",
        "What became of labels that came later.",
        [({"outcome": outcome}, n) for outcome, n in late.counts.items()],
    )


def _challengers(look: Look) -> Iterable[Metric]:
    """Yield how those do that learn beside the champion."""
    if not look.rivals:
        return
    own: list[tuple[Labels, Rival]] = [({"challenger": one.name}, one) for one in look.rivals]
    name = headline(look.task).name
    windowed = [(labels, one.scores.get("windowed", {}).get(name)) for labels, one in own]
    known = [(labels, value) for labels, value in windowed if value is not None]
    yield Metric("challenger_score", "gauge", "The main score of challengers, windowed.", known)
    bounds = [
        ({**labels, "bound": bound}, value)
        for labels, one in own
        for bound, value in (("low", one.low), ("mean", one.difference), ("high", one.high))
    ]
    help = "A challenger's error minus the champion's, on the mean, and where that lies."
    yield Metric("challenger_error_difference", "gauge", help, bounds)
    compared = [(labels, float(one.compared)) for labels, one in own]
    yield Metric("challenger_compared", "gauge", "Records that both have answered.", compared)


def _rounds(look: Look) -> Iterable[Metric]:
    """Yield what there is to say of many learners."""
    rounds = look.rounds
    if rounds is None:
        return
    nothing: Labels = {}
    for name, kind, help, value in (
        ("cluster_workers", "gauge", "Learners of the last round.", rounds.learners),
        ("cluster_rounds_total", "counter", "Rounds that were learned.", rounds.rounds),
        ("cluster_rounds_repeated_total", "counter", "Rounds something died in.", rounds.repeated),
        ("cluster_restarts_total", "counter", "Learners that were replaced.", rounds.restarts),
        ("cluster_backlog_records", "gauge", "Records not learned yet, about.", rounds.backlog),
    ):
        yield Metric(name, kind, help, [(nothing, float(value))])
    if rounds.price is not None:
        help = "How much better one learner did in rounds that were learned twice."
        yield Metric("cluster_audit_price", "gauge", help, [(nothing, rounds.price)])
    yield Metric(
        "cluster_round_seconds",
        "gauge",
        "How long each part of the last round took.",
        [({"part": part}, seconds) for part, seconds in rounds.seconds.items()],
    )
    yield Metric(
        "cluster_fallbacks_total",
        "counter",
        "Merges that took a member of the newest learner.",
        [({"member": name}, float(n)) for name, n in rounds.fallbacks.items()],
    )
    by_rank = [({"learner": str(rank)}, one) for rank, one in enumerate(rounds.shards)]
    if by_rank:
        keys = [(labels, float(one.keys)) for labels, one in by_rank]
        yield Metric("cluster_shard_keys", "gauge", "Keys that each learner has.", keys)
        sizes = [(labels, float(one.bytes)) for labels, one in by_rank]
        yield Metric("cluster_shard_bytes", "gauge", "Bytes of each learner's keys.", sizes)


def _keys(look: Look) -> Iterable[Metric]:
    """Yield what there is to say of a model for each key."""
    keys = look.keys
    if keys is None:
        return
    nothing: Labels = {}
    yield Metric("keys_known", "gauge", "Keys known.", [(nothing, keys.known)])
    new = [(nothing, float(keys.known + keys.forgotten))]
    yield Metric("keys_new_total", "counter", "Keys that were new.", new)
    yield Metric("keys_bytes", "gauge", "What is known of keys.", [(nothing, keys.size)])

    def by_age(values: Iterable[float]) -> list[tuple[Labels, float]]:
        ages = ({"records": str(age.since)} for age in keys.ages)
        return list(zip(ages, values, strict=True))

    for name, kind, help, values in (
        ("key_answers_total", "counter", "Labelled answers", (a.answers for a in keys.ages)),
        ("key_right_total", "counter", "Right answers", (a.right for a in keys.ages)),
        ("key_right_alone_total", "counter", "What the model for all had right",
         (a.model_right for a in keys.ages)),
        ("key_trust", "gauge", "Trust in corrections", (a.trust_in_key for a in keys.ages)),
    ):  # fmt: skip
        yield Metric(name, kind, f"{help}, by how many records a key had had.", by_age(values))


def _histograms(look: Look) -> Iterable[tuple[str, str, Sequence[tuple[float, int]], float]]:
    """Yield the name and meaning of each histogram, how many were below each bound, and the sum."""
    for name, help, timed in (
        ("predict_seconds", "What a record waits for its answer.", look.predict),
        ("learn_seconds", "The model's time for a record that it learns.", look.learn),
    ):
        yield name, help, timed.coarse(), timed.sum
    if look.labels is not None:
        bounds, counts = (*DELAYS, math.inf), accumulate(look.labels.delays)
        delays = list(zip(bounds, counts, strict=True))
        help = "How long after its record a label came."
        yield "label_delay_seconds", help, delays, look.labels.delayed


def _histogram(
    name: str, own: Labels, upto: Sequence[tuple[float, float]], total: float
) -> Iterable[str]:
    for bound, below in upto:
        le = "+Inf" if bound == math.inf else f"{bound:g}"
        yield _line(f"{name}_bucket", {**own, "le": le}, below)
    yield _line(f"{name}_sum", own, total)
    yield _line(f"{name}_count", own, upto[-1][1])


def _head(name: str, kind: str, help: str) -> list[str]:
    return [f"# HELP {_PREFIX}{name} {help}", f"# TYPE {_PREFIX}{name} {kind}"]


def _line(name: str, labels: Labels, number: float) -> str:
    inside = ",".join(f'{key}="{escaped(value)}"' for key, value in labels.items())
    return f"{_PREFIX}{name}{{{inside}}} {number}" if inside else f"{_PREFIX}{name} {number}"


def escaped(value: str) -> str:
    r"""Return a label's value as it stands between quotes.

    Examples
    --------
    >>> print(escaped('a "b"\n\\'))
    a \"b\"\n\\

    """
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
