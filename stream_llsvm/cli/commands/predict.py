"""``stream-llsvm predict``: what a saved model says of records; it learns nothing."""

from __future__ import annotations

from typing import Annotated

import typer
from typer import Option

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
    names: Annotated[
        list[str] | None, Option(help="Its columns, if it has no header: a,b,y.")
    ] = None,
    delimiter: Annotated[
        str | None, Option(help="CSV: what stands between two fields, if no comma.")
    ] = None,
) -> int:
    """Predict records."""
    from stream_llsvm.cli.columns import asked_for
    from stream_llsvm.cli.predicting import predict

    given = asked_for(label=label, key=key, format=format_, names=names, delimiter=delimiter)
    return predict(model, data, given, to)
