"""``stream-llsvm evaluate``: how good models are on a file, each record predicted first."""

from __future__ import annotations

from typing import Annotated

import typer
from typer import Option

HELP = "Score models on a file: each record is predicted first and learned afterwards, once."
EXAMPLE = "stream-llsvm evaluate data.csv --label y --models committee,sapl --against logreg"


def command(
    data: Annotated[str, typer.Argument(help="A file of records.")],
    label: Annotated[str | None, Option(help="The column that is the label.")] = None,
    ignore: Annotated[list[str] | None, Option(help="A column that is no feature.")] = None,
    format_: Annotated[
        str | None, Option("--format", help="csv, jsonl, svmlight or parquet.")
    ] = None,
    names: Annotated[
        list[str] | None, Option(help="Its columns, if it has no header: a,b,y.")
    ] = None,
    delimiter: Annotated[
        str | None, Option(help="CSV: what stands between two fields, if no comma.")
    ] = None,
    models: Annotated[
        str,
        Option(help="committee,sapl,llsvm,additive,memory, ... or all."),
    ] = "committee",
    against: Annotated[
        str | None, Option(help="river's, beside them: logreg,arf,knn,majority,nochange.")
    ] = None,
    max_records: Annotated[int | None, Option(min=1, help="Only the first so many.")] = None,
    report: Annotated[
        str | None, Option(help="Write the first one's run as a page to this file.")
    ] = None,
    json: Annotated[bool, Option("--json", help="Print one JSON object.")] = False,
) -> int:
    """Evaluate models on a file."""
    from stream_llsvm.cli.columns import asked_for
    from stream_llsvm.cli.entrants import chosen
    from stream_llsvm.cli.evaluating import evaluate

    entrants = chosen(models, against or "")
    given = asked_for(label=label, ignore=ignore, format=format_, names=names, delimiter=delimiter)
    return evaluate(data, given, entrants, max_records, as_json=json, report=report)
