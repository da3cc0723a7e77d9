"""``stream-llsvm evaluate``: how good models are on a file, each record predicted first."""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping
from time import perf_counter
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from stream_llsvm.cli.decide import FLAGS, KEYS, for_engine
from stream_llsvm.cli.errors import MistakeError, RunFailedError, one_line, put
from stream_llsvm.cli.models import PEERS, SEVERAL, Entrant, chosen, short_names, with_keys
from stream_llsvm.cli.options import (
    DATA,
    JSON,
    MAX_RECORDS,
    checked,
    columns,
    columns_in,
    completing,
    with_flags,
)
from stream_llsvm.cli.signals import INTERRUPTED, raising_interrupts

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, TaskID

    from stream_llsvm.cli.build import Contents
    from stream_llsvm.engine.learner import Learner
    from stream_llsvm.engine.task import Task

EXAMPLE = "stream-llsvm evaluate data.csv --label y --models committee,sapl --against logreg"
_FIRST = 100  # records
_NAIVE = ("majority", "nochange", "mean")


@with_flags(
    columns(key="Also with a model for each value of this column, which no other sees.") | FLAGS
)
def command(
    data: DATA,
    models: Annotated[
        str,
        Option(
            metavar="MODELS",
            help=f"With commas between: {', '.join(short_names())}; {', '.join(SEVERAL)}.",
            autocompletion=completing(lambda: [*short_names(), *SEVERAL], several=True),
        ),
    ] = "committee",
    against: Annotated[
        str | None,
        Option(
            metavar="NAMES",
            help=f"river's, beside them: {', '.join(PEERS)}.",
            autocompletion=completing(lambda: PEERS, several=True),
        ),
    ] = None,
    max_records: MAX_RECORDS = None,
    report: Annotated[
        str | None, Option(metavar="FILE", help="Write the first one's run as a page to this file.")
    ] = None,
    json: JSON = False,
    **given: Any,
) -> int:
    """Evaluate models on a file."""
    columns = columns_in(given)
    entrants = with_keys(chosen(models, against or ""), columns.get("key"))
    flags = checked(FLAGS, given)
    decide = {name: flags[key.flag] for name, key in KEYS.items() if key.flag in flags}
    return evaluate(
        data, columns, entrants, max_records, as_json=json, report=report, decide=decide
    )


def evaluate(
    data: str,
    given: Mapping[str, Any],
    entrants: list[Entrant],
    max_records: int | None,
    *,
    as_json: bool,
    report: str | None = None,
    decide: Mapping[str, Any] = MappingProxyType({}),
) -> int:
    """Score the learners and print a table; return the exit code.

    With a report, the first learner runs once more, and what was to be seen of it is written.
    """
    from rich.console import Console

    from stream_llsvm.cli.build import look_through
    from stream_llsvm.cli.checks import check_apart, check_can_write, has_own_labels
    from stream_llsvm.cli.columns import lines
    from stream_llsvm.cli.terminal import print_json, print_models
    from stream_llsvm.connectors.base import SourceError
    from stream_llsvm.engine.scores import headline
    from stream_llsvm.engine.task import CLASSIFICATION

    if data == "-":
        raise MistakeError("evaluate reads its records several times: name a file, not -")
    if report is not None:
        check_can_write("--report", report)
        check_apart("--report", report, [data])
    options = dict(given) | {"from": [data]}
    if "label" not in options and not has_own_labels(data, given):
        raise MistakeError("say which column is the label: --label name")
    task, rows, code = entrants[0].task, list[dict[str, Any]](), 0
    contents, leading = look_through(options, max_records, task), headline(task)
    if missing := contents.what_is_missing():
        raise MistakeError(f"{data}: {missing}")
    _warn(contents, options.get("fields", {}))
    console = Console(stderr=True, highlight=False, quiet=as_json)
    try:
        with raising_interrupts(), _progress_bar(console) as bar:
            for entrant in entrants:
                line = bar.add_task(entrant.name, total=contents.records, rate="")
                rows.append(_scored(entrant, options, contents, max_records, bar, line, decide))
                if not console.is_terminal:
                    told = leading.text(rows[-1][leading.name])
                    console.print(f"{entrant.name}: {leading.title} {told}")
    except KeyboardInterrupt:
        code = INTERRUPTED
    except SourceError as error:
        raise RunFailedError(one_line(error)) from error
    counts = {
        "records": contents.records,
        "rejected": contents.rejected,
        "bad_fields": dict(contents.bad_fields),
        "columns": contents.census.report(),
    }
    if as_json:
        classes = {"classes": len(contents.labels)} if task == CLASSIFICATION else {}
        print_json({"data": data, **counts, "task": task, **classes, "models": rows})
    elif rows:  # none if it was interrupted at once
        said = options.get("fields", {}).items()
        ignored = [*options.get("ignore", []), *(name for name, kind in said if kind == "ignore")]
        for text in lines(contents.census.fields(), ignored):
            put(text)
        print_models(f"{data}: {contents.summary()}", rows, task)
    _warn_of_refused(rows)
    _warn_of_the_baseline(rows, task)
    if report is not None and code == 0:  # last: whatever becomes of it, the scores are told
        _report(report, options, entrants[0], contents, max_records, rows)
    return code


def _progress_bar(console: Console) -> Progress:
    """Return a bar a model, shown on a terminal only."""
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
        console=console,
        disable=not console.is_terminal,
        transient=True,
    )


def _report(
    path: str,
    options: Mapping[str, Any],
    entrant: Entrant,
    contents: Contents,
    max_records: int | None,
    rows: list[dict[str, Any]],
) -> None:
    """Run a learner once more, and write what was to be seen of it."""
    from stream_llsvm.cli.build import open_source
    from stream_llsvm.cli.page_file import record, write_report

    source = open_source(options)
    try:
        made = record(source, entrant.make(contents.labels), contents.records, max_records)
    finally:
        source.close()
    write_report(path, made, rows)


def _scored(
    entrant: Entrant,
    options: Mapping[str, Any],
    contents: Contents,
    max_records: int | None,
    bar: Progress,
    line: TaskID,
    decide: Mapping[str, Any],
) -> dict[str, Any]:
    """Run one learner through the file; the clock is on the learner alone."""
    from stream_llsvm.cli.build import batches, label_values, made
    from stream_llsvm.engine.decisions import Decisions
    from stream_llsvm.engine.learner import Learner
    from stream_llsvm.engine.progress import Progress as Scored
    from stream_llsvm.engine.scores import SCORE, baselines, listed_scores, main_scores
    from stream_llsvm.engine.watchers import left_out_of
    from stream_llsvm.model.feature_warnings import without_warnings

    values = label_values(options)
    _warm(Learner(entrant.make(contents.labels), values=values), options)
    asked = for_engine(decide)
    decisions = Decisions(**asked)
    every = "decision" in asked
    learner = made(lambda: Learner(entrant.make(contents.labels), every=every, values=values))
    made(lambda: decisions.check(learner))
    scored = Scored(1_000, None, learner.task)
    seconds, done, refused, weighted = 0.0, 0, list[str](), False
    for read in batches(options, max_records):
        batch = decisions.weighted(learner.readable(read))
        begin = perf_counter()
        with without_warnings():
            answers = learner.take(batch)
        seconds += perf_counter() - begin
        scored.score(batch.labels, answers, batch.weights)
        decisions.take(batch, answers, scored)
        weighted |= batch.weights is not None
        done += len(batch)
        refused += answers.refused.values()
        bar.update(line, completed=done, rate=f"{done / max(seconds, 1e-9):,.0f}/s")
    if weighted and not learner.weighs and entrant.name not in _NAIVE:
        put(
            f"stream-llsvm: {entrant.name} learns each record that counts as one: it takes no "
            "weights",
            file=sys.stderr,
        )
    if text := left_out_of(entrant.name, learner.model):
        put(f"stream-llsvm: {text}", file=sys.stderr)
    report = scored.scores.report()
    means = report.get("cumulative", {})
    shown = [*main_scores(learner.task), baselines(learner.task)[0]]
    if decide:
        shown += [SCORE["g_mean"]]
        shown += [one for one in listed_scores(learner.task, report) if one.optional]
    return {
        "model": entrant.name,
        **{score.name: means.get(score.name, 0.0) for score in shown},
        "us_per_record": 1e6 * seconds / max(done, 1),
        "refused": len(refused),
        "first_refused": refused[0] if refused else None,
    }


def _warm(learner: Learner, options: Mapping[str, Any]) -> None:
    """Let what is compiled for records like the first be compiled, or loaded, before the clock."""
    from stream_llsvm.cli.build import batches
    from stream_llsvm.model.feature_warnings import without_warnings

    for batch in batches(options, _FIRST):
        with without_warnings():
            learner.take(learner.readable(batch))


def _warn(contents: Contents, declared: Collection[str]) -> None:
    """Say on stderr what looks as if it was not meant."""
    from stream_llsvm.cli.columns import doubts
    from stream_llsvm.cli.log import doubted

    doubt = doubted(len(contents.labels), contents.records - contents.unlabelled)
    odd = doubts(contents.census.fields(), declared)
    for text in [doubt, contents.mean_weight.doubt(), *odd]:
        if text is not None:
            put(f"stream-llsvm: {text}", file=sys.stderr)


def _warn_of_refused(rows: list[dict[str, Any]]) -> None:
    """Say on stderr if a model could not take some records."""
    for row in rows:
        if row["refused"]:
            put(
                f"stream-llsvm: {row['model']} refused {row['refused']:,} records (the first: "
                f"{row['first_refused']})",
                file=sys.stderr,
            )


def _warn_of_the_baseline(rows: list[dict[str, Any]], task: Task) -> None:
    """Say on stderr if no model is better than one that looks at no feature."""
    from stream_llsvm.engine.scores import baselines, headline

    score, naive = headline(task), baselines(task)[0]
    sign = -1 if score.less else 1
    ours = [row for row in rows if row["model"] not in _NAIVE]
    if ours and all(sign * row[score.name] <= sign * row[naive.name] for row in ours):
        what = (
            "answering the commonest class" if score.percent else "telling the mean of the labels"
        )
        told = naive.text(ours[0][naive.name])
        told = f"{told} right" if score.percent else f"{score.title} {told}"
        put(
            f"stream-llsvm: no model is better than always {what} so far ({told}): the features "
            "may say nothing about the label",
            file=sys.stderr,
        )
