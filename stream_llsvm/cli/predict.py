"""``stream-llsvm predict``: what a saved model says of records; it learns nothing."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from itertools import repeat
from typing import Annotated, Any

from typer import Option

from stream_llsvm.cli.errors import MistakeError, RunFailedError, listed, nearest, one_line, put
from stream_llsvm.cli.inspect import Saved, read_saved
from stream_llsvm.cli.options import (
    DATA,
    FILE_COLUMNS,
    MAX_RECORDS,
    SAVED,
    SECTIONS,
    TRUST,
    checked,
    columns,
    columns_in,
    with_flags,
)

EXAMPLE = "stream-llsvm predict model.llsvm data.csv --to predictions.jsonl"


_COLUMNS = columns(
    FILE_COLUMNS - {"features"},  # which the model knows
    label="The label's column: tells how good the predictions are, too.",
    key="A column to write beside each prediction.",
)
_MORE = {"--probabilities": SECTIONS["engine"]["probabilities"]}


@with_flags(_COLUMNS | _MORE)
def command(
    model: SAVED,
    data: DATA,
    to: Annotated[
        str | None, Option(metavar="PLACE", help="Where to; standard output if not given.")
    ] = None,
    max_records: MAX_RECORDS = None,
    trust_pickle: TRUST = False,
    json: Annotated[
        bool,
        Option("--json", help="Tell the counts as a JSON object; with no --to, on stderr."),
    ] = False,
    **given: Any,
) -> int:
    """Predict records."""
    every = checked(_MORE, given).get("--probabilities") == "all"
    saved = read_saved(model, trust_pickle=trust_pickle)
    return predict(saved, data, columns_in(given), to, max_records, every=every, as_json=json)


def predict(
    saved: Saved,
    data: str,
    given: Mapping[str, Any],
    to: str | None,
    max_records: int | None,
    *,
    every: bool,
    as_json: bool,
) -> int:
    """Write a prediction for each record; tell how good they are if there are labels."""
    from stream_llsvm.cli.build import batches, label_values, made, make_sink
    from stream_llsvm.cli.checks import check_apart, check_columns
    from stream_llsvm.cli.log import bad_fields_of, first_bad_of, first_of
    from stream_llsvm.cli.terminal import print_json
    from stream_llsvm.connectors.base import SourceError
    from stream_llsvm.engine.learner import Learner
    from stream_llsvm.engine.progress import Progress
    from stream_llsvm.engine.rejects import Rejects
    from stream_llsvm.engine.results import results_of
    from stream_llsvm.engine.scores import headline

    model = saved.own
    if model is not None and not model.features:
        raise MistakeError(f"{saved.path}: the model has not learned anything yet")
    if to is not None:
        check_apart("--to", to, [data, str(saved.path)])
    options = dict(given)
    if model is saved.model:
        if saved.key is not None:
            options.setdefault("key", saved.key)
        options |= _left_out(model.features, data, options)
        check_columns(data, options)
    else:  # what stands in front of it decides what it makes of which column
        options["numeric"] = False
    options = _own_kinds(saved, given) | options
    sink = make_sink({"to": "-" if to is None else to})
    kept, values = saved.checkpoint, label_values(options)
    learner = made(lambda: Learner(saved.model, every=every, values=values))
    scored = Progress(1, None, learner.task)
    learned = None if kept is None else kept["progress"]["counts"]["learned"]
    rejects = Rejects(None, 1.0)
    done = 0
    try:
        for read in batches(options | {"from": [data]}, max_records):
            batch = learner.readable(read)
            rejects.take(batch.rejected, batch.bad_fields)
            answers = learner.take(batch, [None] * len(batch))
            rejects.refused(batch.places, answers.refused)
            results = results_of(batch, answers, time.time(), repeat(learned))
            sink.write(results)
            done += len(results)
            scored.score(batch.labels, answers)
        sink.flush()
    except SourceError as error:
        raise RunFailedError(one_line(error)) from error
    sink.close()
    if rejects.first:
        put(f"stream-llsvm: {first_of(rejects)}", file=sys.stderr)
    if bad := bad_fields_of(rejects.bad_fields):
        put(f"stream-llsvm: {bad}; {first_bad_of(rejects)}", file=sys.stderr)
    rejected, labelled = rejects.counts.total(), scored.counts["learned"]
    score = headline(learner.task)
    value = scored.scores.report().get("cumulative", {}).get(score.name)
    if as_json:
        counts = {"predicted": done, "rejected": rejected, "labelled": labelled}
        print_json(counts | {score.name: value}, sys.stderr if to in (None, "-") else sys.stdout)
        return 0
    good = ""
    if value is not None:
        told = score.text(value)
        right = f"{told} of {labelled:,} labels right"
        good = f", {right if score.percent else f'{score.title} {told} over {labelled:,} labels'}"
    put(f"{done:,} predicted, {rejected:,} rejected{good}", file=sys.stderr)
    return 0


def _own_kinds(saved: Saved, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a checkpoint's run was told that columns are; a model alone does not know."""
    said = None if saved.checkpoint is None else saved.checkpoint.get("columns")
    apart = {given.get(name) for name in ("label", "key", "weight")}
    kinds = {} if said is None else said.get("fields", {})
    return {"fields": {name: kind for name, kind in kinds.items() if name not in apart}}


def _left_out(features: Sequence[Any], data: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return which columns are to be left out: those that the model does not know."""
    from stream_llsvm.cli.checks import column_names, first_records, has_own_labels

    records = first_records(data, given)
    if records is None or has_own_labels(data, given):
        return {}
    ignored = given.get("ignore", [])
    names = [name for name in column_names(records) if name not in ignored]
    known = set(features)
    absent = [name for name in features if name not in names]
    if names and len(absent) == len(features):
        like = nearest(str(absent[0]), names)
        hint = f" (did you mean {like!r}?)" if like else ""
        raise MistakeError(
            f"{data} has none of the model's features: they are {listed(features)}{hint}; the "
            f"file has {listed(names)}"
        )
    if names and absent:
        put(f"stream-llsvm: {data} does not have {listed(absent)}", file=sys.stderr)
    apart = {given.get(name) for name in ("label", "key", "weight")}
    return {"ignore": ignored + [name for name in names if name not in known and name not in apart]}
