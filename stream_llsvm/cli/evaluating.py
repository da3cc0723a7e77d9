"""Score models on a file, one after the other, each record predicted before it is learned."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from time import perf_counter
from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)
from rich.table import Table

from stream_llsvm.cli.columns import is_svmlight
from stream_llsvm.cli.endpoints import make_source
from stream_llsvm.cli.entrants import Entrant
from stream_llsvm.cli.mistakes import MistakeError, RunFailedError, one_line
from stream_llsvm.cli.peers import Labels
from stream_llsvm.cli.places import check_apart, check_can_write
from stream_llsvm.cli.reporting import record, write_report
from stream_llsvm.cli.signals import INTERRUPTED, raising_interrupts
from stream_llsvm.cli.telling import doubted, print_json
from stream_llsvm.cli.whole_file import Contents, batches, look_through
from stream_llsvm.connectors.base import SourceError
from stream_llsvm.engine.learner import Learner
from stream_llsvm.engine.progress import Progress as Scored

_NAIVE = ("majority", "nochange")
_SCORES = ("accuracy", "kappa", "macro_f1", "log_loss")


def evaluate(
    data: str,
    given: Mapping[str, Any],
    entrants: list[Entrant],
    max_records: int | None,
    *,
    as_json: bool,
    report: str | None = None,
) -> int:
    """Score the learners and print a table; return the exit code.

    With a report, the first learner runs once more, and what was to be seen of it is written.
    """
    if data == "-":
        raise MistakeError("evaluate reads its records several times: name a file, not -")
    if report is not None:
        check_can_write("--report", report)
        check_apart("--report", report, [data])
    options = dict(given) | {"from": [data]}
    if "label" not in options and not is_svmlight(data, given):
        raise MistakeError("say which column is the label: --label name")
    contents, rows, code = look_through(options, max_records), list[dict[str, Any]](), 0
    if missing := contents.what_is_missing():
        raise MistakeError(f"{data}: {missing}")
    _warn(contents)
    console = Console(stderr=True, highlight=False, quiet=as_json)
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
        console=console,
        disable=not console.is_terminal,
        transient=True,
    )
    try:
        with raising_interrupts(), bar:
            for entrant in entrants:
                task = bar.add_task(entrant.name, total=contents.records, rate="")
                rows.append(_scored(entrant, options, contents, max_records, bar, task))
                if not console.is_terminal:
                    console.print(f"{entrant.name}: accuracy {rows[-1]['accuracy']:.2%}")
    except KeyboardInterrupt:
        code = INTERRUPTED
    except SourceError as error:
        raise RunFailedError(one_line(error)) from error
    told = {
        "records": contents.records,
        "rejected": contents.rejected,
        "bad_fields": dict(contents.bad_fields),
    }
    if as_json:
        print_json({"data": data, **told, "classes": len(contents.labels), "models": rows})
    elif rows:  # none if it was interrupted at once
        _print_table(f"{data}: {contents.summary()}", rows)
    _warn_of_the_majority(rows)
    if report is not None and code == 0:  # last: whatever becomes of it, the scores are told
        source = make_source(options)
        try:
            made = record(source, entrants[0].make(contents.labels), contents.records, max_records)
        finally:
            source.close()
        write_report(report, made, rows)
    return code


def _scored(
    entrant: Entrant,
    options: Mapping[str, Any],
    contents: Contents,
    max_records: int | None,
    bar: Progress,
    task: TaskID,
) -> dict[str, Any]:
    """Run one learner through the file; the clock is on the learner alone."""
    _warm(entrant, contents.labels)
    learner, scored = Learner(entrant.make(contents.labels)), Scored(1_000, None)
    seconds, done, refused = 0.0, 0, 0
    for batch in batches(options, max_records):
        begin = perf_counter()
        answers = learner.take(batch)
        seconds += perf_counter() - begin
        scored.score(batch.labels, answers)
        done += len(batch)
        refused += len(answers.refused)
        bar.update(task, completed=done, rate=f"{done / max(seconds, 1e-9):,.0f}/s")
    report = scored.scores.report(len(scored.classes))
    means = report.get("cumulative", {})
    return {
        "model": entrant.name,
        **{name: means.get(name, 0.0) for name in _SCORES},
        "majority": means.get("majority", 0.0),
        "us_per_record": 1e6 * seconds / max(done, 1),
        "refused": refused,
    }


def _warm(entrant: Entrant, labels: Labels) -> None:
    """Let what is compiled be compiled, or loaded, before the clock runs."""
    import numpy as np

    learner = Learner(entrant.make(labels))
    some = sorted(labels, key=str)[:2]
    learner.block(("a", "b"), np.eye(2)[: len(some)], some)


def _warn(contents: Contents) -> None:
    """Say on stderr what looks as if it was not meant."""
    doubt = doubted(len(contents.labels), contents.records - contents.unlabelled)
    if doubt is not None:
        print(f"stream-llsvm: {doubt}", file=sys.stderr, flush=True)


def _warn_of_the_majority(rows: list[dict[str, Any]]) -> None:
    """Say on stderr if no model is better than one that always answers the commonest class."""
    ours = [row for row in rows if row["model"] not in _NAIVE]
    if ours and all(row["accuracy"] <= row["majority"] for row in ours):
        print(
            "stream-llsvm: no model is better than always answering the commonest class so far "
            f"({ours[0]['majority']:.2%} right): the features may say nothing about the label",
            file=sys.stderr,
            flush=True,
        )


def _print_table(title: str, rows: list[dict[str, Any]]) -> None:
    drawn = Table(title=title, title_justify="left")
    drawn.add_column("model", no_wrap=True)
    for name in ("accuracy", "kappa", "macro F1", "log loss", "us/record"):
        drawn.add_column(name, justify="right", no_wrap=True)
    best = max((row["accuracy"] for row in rows), default=0.0)
    for row in rows:
        cells = [f"{row['accuracy']:.2%}", *(f"{row[name]:.3f}" for name in _SCORES[1:])]
        style = "bold" if row["accuracy"] == best else ""
        drawn.add_row(row["model"], *cells, f"{row['us_per_record']:,.1f}", style=style)
    Console(highlight=False).print(drawn)
