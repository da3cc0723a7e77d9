"""``stream-llsvm diff``: what changed between two models, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from stream_llsvm.cli.errors import MistakeError, listed, put
from stream_llsvm.cli.options import (
    FILE_COLUMNS,
    JSON,
    MAX_RECORDS,
    TRUST,
    columns,
    columns_in,
    with_flags,
)

if TYPE_CHECKING:
    from stream_llsvm.cli.inspect import Saved

EXAMPLE = "stream-llsvm diff kept/checkpoint-0000000001.llsvm kept --on data.csv --label y"
_MOST = 8
_SMALL = 0.005  # a change of less is none, in words


@with_flags(columns(FILE_COLUMNS - {"features"}))
def command(
    before: Annotated[
        str, Argument(metavar="A", help="A model file, a checkpoint, or a folder of them.")
    ],
    after: Annotated[str, Argument(metavar="B", help="The other.")],
    on: Annotated[
        str | None, Option(metavar="FILE", help="Score both on this file, without learning.")
    ] = None,
    max_records: MAX_RECORDS = None,
    json: JSON = False,
    trust_pickle: TRUST = False,
    **given: Any,
) -> int:
    """Compare two models."""
    from stream_llsvm.cli.inspect import read_saved
    from stream_llsvm.cli.terminal import print_json

    both = [read_saved(name, trust_pickle=trust_pickle, runs=on is not None)
            for name in (before, after)]  # fmt: skip
    found = differences(*both)
    if on is not None:
        found["scores"] = scores_on(both, on, columns_in(given), max_records)
    if json:
        print_json(found)
    else:
        put("\n".join(in_words(found)))
    return 0


def differences(one: Saved, other: Saved) -> dict[str, Any]:
    """Return what differs, by what it is."""
    from stream_llsvm.learners.pipeline import learner_in

    kinds = [type(learner_in(each.model)).__name__ for each in (one, other)]
    models: list[Any] = [each.own for each in (one, other)]
    learned = [_learned(each) for each in (one, other)]
    found: dict[str, Any] = {
        "a": str(one.path), "b": str(other.path), "class": kinds, "learned": learned,
    }  # fmt: skip
    if any(model is None for model in models):
        return found
    found["options"] = _pairs(*map(_options, models))
    for name in ("features", "classes"):
        had, has = (list(map(str, getattr(model, name, ()))) for model in models)
        found[name] = {"came": _without(has, had), "gone": _without(had, has)}
    members = [{m.name: m for m in getattr(model, "mixture", ())} for model in models]
    found["members"] = {
        name: [_member(each.get(name)) for each in members] for name in {**members[0], **members[1]}
    }
    relevance = [
        {str(k): v for k, v in getattr(model, "feature_relevance", {}).items()} for model in models
    ]
    found["relevance"] = {
        name: [each.get(name) for each in relevance] for name in {**relevance[0], **relevance[1]}
    }
    found["anchors"] = _moved(*models)
    return found


def _learned(saved: Saved) -> int | None:
    """Return how many records a checkpoint's run had learned; a model alone does not say."""
    kept = saved.checkpoint
    return None if kept is None else kept["progress"]["counts"]["learned"]


def _options(model: Any) -> dict[str, Any]:
    params = model._saved_params() if hasattr(model, "n_keys") else model._get_params()
    return dict(params)


def _pairs(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Return what is not the same in both."""
    names = {**one, **other}
    return {n: [one.get(n), other.get(n)] for n in names if one.get(n) != other.get(n)}


def _without(some: Sequence[str], others: Sequence[str]) -> list[str]:
    known = set(others)
    return [one for one in some if one not in known]


def _member(report: Any) -> dict[str, Any] | None:
    if report is None:
        return None
    weight = float(sum(map(abs, report.weights)))
    return {"weight": weight, "worth": report.worth, "log_loss": report.log_loss,
            "awake": report.awake}  # fmt: skip


def _moved(one: Any, other: Any) -> dict[str, Any] | None:
    """Return how many anchors moved, and how far the one that moved farthest.

    A distance is in standard deviations of the second model's anchors, root of the mean square over
    the numbers that both know; names and times are not compared. Anchors are told by their places
    in the model.
    """
    import numpy as np

    if not (hasattr(one, "anchors") and hasattr(other, "anchors")):
        return None
    had, has = one.anchors, other.anchors
    if not had or not has:
        return None
    shared = [n for n in had[0].position if _is_number(had, n) and _is_number(has, n)]
    if not shared:
        return None
    places = [np.array([[anchor.position[n] for n in shared] for anchor in some], dtype=float)
              for some in (had, has)]  # fmt: skip
    n = min(len(had), len(has))
    spread = places[1].std(axis=0)
    spread[spread == 0] = 1.0
    far = np.sqrt((((places[1][:n] - places[0][:n]) / spread) ** 2).mean(axis=1))
    return {
        "before": len(had), "after": len(has), "moved": int((far > _SMALL).sum()),
        "mean": float(far.mean()), "farthest": float(far.max()), "which": int(far.argmax()),
    }  # fmt: skip


def _is_number(anchors: Sequence[Any], name: Any) -> bool:
    """Whether a feature of all these anchors is a number."""
    return all(isinstance(anchor.position.get(name), float) for anchor in anchors)


def scores_on(
    both: Sequence[Saved], data: str, given: Mapping[str, Any], max_records: int | None
) -> dict[str, list[float | None]]:
    """Return each score of both models on a file; neither learns from it."""
    import numpy as np

    from stream_llsvm.cli.build import batches, label_values
    from stream_llsvm.cli.checks import check_columns, has_own_labels
    from stream_llsvm.engine.learner import Learner
    from stream_llsvm.engine.progress import Progress
    from stream_llsvm.engine.scores import main_scores
    from stream_llsvm.engine.task import CLASSIFICATION, task_of

    options = dict(given) | {"from": [data]}
    if "label" not in options and not has_own_labels(data, given):
        raise MistakeError("say which column is the label: --label name")
    check_columns(data, options)
    values = label_values(options)
    every = all(task_of(one.model) == CLASSIFICATION for one in both)
    learners = [Learner(one.model, every=every, values=values) for one in both]
    if learners[0].task != learners[1].task:
        raise MistakeError("one learns classes and the other numbers: they have no common score")
    scored = [Progress(1, None, learner.task) for learner in learners]
    for read in batches(options, max_records):
        for learner, progress in zip(learners, scored, strict=True):
            batch = learner.readable(read)
            answers = learner.take(batch, [None] * len(batch))
            if answers.probabilities is not None:
                told = zip(answers.probabilities, batch.labels, strict=True)
                truth = np.array([(shares or {}).get(label, 0.0) for shares, label in told])
                answers = answers._replace(truth=truth)
            progress.score(batch.labels, answers, batch.weights)
    means = [one.scores.report().get("cumulative", {}) for one in scored]
    return {
        score.name: [each.get(score.name) for each in means]
        for score in main_scores(learners[0].task)
    }


def in_words(found: Mapping[str, Any]) -> list[str]:
    """Return what differs, a line for each thing that does."""
    lines = [f"A  {found['a']}{_how_much(found, 0)}", f"B  {found['b']}{_how_much(found, 1)}"]
    kinds = found["class"]
    if kinds[0] != kinds[1]:
        lines.append(f"A is a {kinds[0]}, and B a {kinds[1]}")
    for name, (was, is_) in found.get("options", {}).items():
        lines.append(f"option {name}: {was!r}, now {is_!r}")
    for name in ("features", "classes"):
        for what, names in found.get(name, {}).items():
            if names:
                verb = "came" if what == "came" else "are gone"
                lines.append(f"{len(names):,} {name} {verb}: {listed(names)}")
    lines += _members_in_words(found.get("members", {}))
    lines += _relevance_in_words(found.get("relevance", {}))
    if (moved := found.get("anchors")) is not None:
        lines.append(
            f"anchors: {moved['before']:,}, now {moved['after']:,}; {moved['moved']:,} moved, by "
            f"{moved['mean']:.3f} on the mean and {moved['farthest']:.3f} at most (number "
            f"{moved['which']}), in standard deviations of where anchors are"
        )
    lines += _scores_in_words(found.get("scores", {}))
    return lines if len(lines) > 2 else [*lines, "nothing that can be told has changed"]


def _how_much(found: Mapping[str, Any], which: int) -> str:
    learned = found["learned"][which]
    return "" if learned is None else f", {learned:,} records learned"


def _members_in_words(members: Mapping[str, Any]) -> list[str]:
    lines = list[tuple[float, str]]()
    totals = [sum(both[i]["weight"] for both in members.values() if both[i]) or 1.0 for i in (0, 1)]
    for name, (was, is_) in members.items():
        if was is None or is_ is None:
            lines.append((1.0, f"member {name}: {'new' if was is None else 'gone'}"))
            continue
        shares = was["weight"] / totals[0], is_["weight"] / totals[1]
        change = abs(shares[1] - shares[0])
        rest = ""
        if was["awake"] != is_["awake"]:
            rest = ", awake now" if is_["awake"] else ", rests now"
        if change > _SMALL or rest:
            told = f"member {name}: weight {shares[0]:.1%}, now {shares[1]:.1%}; worth "
            lines.append((change, f"{told}{was['worth']:.4f}, now {is_['worth']:.4f}{rest}"))
    return [text for _, text in sorted(lines, key=lambda one: -one[0])]


def _relevance_in_words(relevance: Mapping[str, Any]) -> list[str]:
    changed = [
        (abs(is_ - was), f"relevance of {name}: {was:.3f}, now {is_:.3f}")
        for name, (was, is_) in relevance.items()
        if was is not None and is_ is not None and abs(is_ - was) > _SMALL
    ]
    changed.sort(key=lambda one: -one[0])
    more = len(changed) - _MOST
    lines = [text for _, text in changed[:_MOST]]
    return [*lines, f"relevance of {more:,} others changed less"] if more > 0 else lines


def _scores_in_words(scores: Mapping[str, Sequence[float | None]]) -> list[str]:
    from stream_llsvm.engine.scores import SCORE

    lines = []
    for name, (was, is_) in scores.items():
        score = SCORE[name]
        change = "" if was is None or is_ is None else (
            ", the same" if was == is_ else
            ", better" if (is_ < was) == score.less else ", worse"
        )  # fmt: skip
        lines.append(f"{score.title}: {score.text(was)}, now {score.text(is_)}{change}")
    return lines
