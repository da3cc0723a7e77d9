"""``stream-llsvm replay``: a file's records again, at a rate."""

from __future__ import annotations

from typing import Annotated, Any

from typer import Option

from stream_llsvm.cli.options import DATA, FILE_COLUMNS, JSON, MAX_RECORDS, columns_in, with_columns

HELP = "Send a file's records to a topic or another file, as JSON, so many a second."
EXAMPLE = "stream-llsvm replay data.csv --to kafka://localhost:9092/wind --rate 5000"


@with_columns(
    FILE_COLUMNS - {"label", "features", "on_bad_field"},
    key="The column that is each message's key.",
    ignore="Columns that are not sent: a,b.",
)
def command(
    data: DATA,
    to: Annotated[str, Option(metavar="PLACE", help="kafka://host:port/topic, or a .jsonl file.")],
    rate: Annotated[
        float, Option(min=0, metavar="RATE", help="Records a second; 0: no limit.")
    ] = 0.0,
    max_records: MAX_RECORDS = None,
    json: JSON = False,
    **given: Any,
) -> int:
    """Send records."""
    from stream_llsvm.cli.replaying import replay

    return replay(data, columns_in(given), to, rate, max_records, as_json=json)
