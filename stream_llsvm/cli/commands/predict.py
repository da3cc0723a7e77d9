"""``stream-llsvm predict``: what a saved model says of records; it learns nothing."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from typer import Option

from stream_llsvm.cli.options import (
    DATA,
    FILE_COLUMNS,
    MAX_RECORDS,
    SAVED,
    columns_in,
    with_columns,
)

HELP = "Predict a file's records with a saved model, or a checkpoint, without learning."
EXAMPLE = "stream-llsvm predict model.llsvm data.csv --to predictions.jsonl"


@with_columns(
    FILE_COLUMNS - {"features"},  # which the model knows
    label="The label's column: tells the accuracy too.",
    key="A column to write beside each prediction.",
)
def command(
    model: SAVED,
    data: DATA,
    to: Annotated[
        str | None, Option(metavar="PLACE", help="Where to; standard output if not given.")
    ] = None,
    probabilities: Annotated[
        Literal["top", "all"], Option(help="Of the likeliest label, or of all.")
    ] = "top",
    max_records: MAX_RECORDS = None,
    json: Annotated[
        bool,
        Option("--json", help="Tell the counts as a JSON object; with no --to, on stderr."),
    ] = False,
    **given: Any,
) -> int:
    """Predict records."""
    from stream_llsvm.cli.predicting import predict

    columns = columns_in(given)
    return predict(model, data, columns, to, max_records, probabilities=probabilities, as_json=json)
