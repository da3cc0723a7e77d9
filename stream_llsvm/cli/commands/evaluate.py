"""``stream-llsvm evaluate``: how good models are on a file, each record predicted first."""

from __future__ import annotations

from typing import Annotated, Any

from typer import Option

from stream_llsvm.cli.models import short_names
from stream_llsvm.cli.options import (
    DATA,
    FILE_COLUMNS,
    JSON,
    MAX_RECORDS,
    columns_in,
    completing,
    with_columns,
)
from stream_llsvm.cli.peers import PEERS

HELP = "Score models on a file: each record is predicted first and learned afterwards, once."
EXAMPLE = "stream-llsvm evaluate data.csv --label y --models committee,sapl --against logreg"


@with_columns(FILE_COLUMNS - {"key"})
def command(
    data: DATA,
    models: Annotated[
        str,
        Option(
            metavar="MODELS",
            help=f"With commas between: {', '.join(short_names())}; or all.",
            autocompletion=completing(lambda: [*short_names(), "all"], several=True),
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
    from stream_llsvm.cli.entrants import chosen
    from stream_llsvm.cli.evaluating import evaluate

    entrants, columns = chosen(models, against or ""), columns_in(given)
    return evaluate(data, columns, entrants, max_records, as_json=json, report=report)
