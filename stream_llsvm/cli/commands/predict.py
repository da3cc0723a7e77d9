"""``stream-llsvm predict``: what a saved model says of records; it learns nothing."""

from __future__ import annotations

from typing import Annotated, Literal

import typer
from typer import Option

from stream_llsvm.cli.commands.record_options import (
    Decimal,
    Delimiter,
    Encoding,
    Missing,
    Names,
    OnBadField,
)

HELP = "Predict a file's records with a saved model, or a checkpoint, without learning."
EXAMPLE = "stream-llsvm predict model.llsvm data.csv --to predictions.jsonl"


def command(
    model: Annotated[str, typer.Argument(help="A model file, a checkpoint or a folder of them.")],
    data: Annotated[str, typer.Argument(help="A file of records.")],
    to: Annotated[str | None, Option(help="Where to; standard output if not given.")] = None,
    label: Annotated[str | None, Option(help="The label's column: tells the accuracy too.")] = None,
    key: Annotated[str | None, Option(help="A column to write beside each prediction.")] = None,
    format_: Annotated[
        str | None, Option("--format", help="csv, jsonl, svmlight or parquet.")
    ] = None,
    names: Names = None,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    missing: Missing = None,
    decimal: Decimal = None,
    on_bad_field: OnBadField = None,
    probabilities: Annotated[
        Literal["top", "all"], Option(help="Of the likeliest label, or of all.")
    ] = "top",
) -> int:
    """Predict records."""
    from stream_llsvm.cli.columns import asked_for
    from stream_llsvm.cli.predicting import predict

    given = asked_for(
        label=label,
        key=key,
        format=format_,
        names=names,
        delimiter=delimiter,
        encoding=encoding,
        missing=missing,
        decimal=decimal,
        on_bad_field=on_bad_field,
    )
    return predict(model, data, given, to, probabilities)
