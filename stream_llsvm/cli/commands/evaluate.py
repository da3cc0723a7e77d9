"""``stream-llsvm evaluate``: how good models are on a file, each record predicted first."""

from __future__ import annotations

from typing import Annotated

import typer
from typer import Option

from stream_llsvm.cli.commands.record_options import (
    Decimal,
    Delimiter,
    Encoding,
    Features,
    Ignore,
    Missing,
    Names,
    OnBadField,
)

HELP = "Score models on a file: each record is predicted first and learned afterwards, once."
EXAMPLE = "stream-llsvm evaluate data.csv --label y --models committee,sapl --against logreg"


def command(
    data: Annotated[str, typer.Argument(help="A file of records.")],
    label: Annotated[str | None, Option(help="The column that is the label.")] = None,
    ignore: Ignore = None,
    features: Features = None,
    format_: Annotated[
        str | None, Option("--format", help="csv, jsonl, svmlight or parquet.")
    ] = None,
    names: Names = None,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    missing: Missing = None,
    decimal: Decimal = None,
    on_bad_field: OnBadField = None,
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
    given = asked_for(
        label=label,
        ignore=ignore,
        features=features,
        format=format_,
        names=names,
        delimiter=delimiter,
        encoding=encoding,
        missing=missing,
        decimal=decimal,
        on_bad_field=on_bad_field,
    )
    return evaluate(data, given, entrants, max_records, as_json=json, report=report)
