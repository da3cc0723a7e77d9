"""``stream-llsvm replay``: a file's records again, at a rate."""

from __future__ import annotations

from typing import Annotated

import typer
from typer import Option

HELP = "Send a file's records to a topic or another file, as JSON, so many a second."
EXAMPLE = "stream-llsvm replay data.csv --to kafka://localhost:9092/wind --rate 5000"


def command(
    data: Annotated[str, typer.Argument(help="A file of records.")],
    to: Annotated[str, Option(help="kafka://host:port/topic, or a .jsonl file.")],
    rate: Annotated[float, Option(min=0, help="Records a second; 0: no limit.")] = 0.0,
    key: Annotated[str | None, Option(help="The column that is each message's key.")] = None,
    format_: Annotated[
        str | None, Option("--format", help="csv, jsonl, svmlight or parquet.")
    ] = None,
    max_records: Annotated[int | None, Option(min=1, help="Only the first so many.")] = None,
) -> int:
    """Send records."""
    from stream_llsvm.cli.columns import asked_for
    from stream_llsvm.cli.replaying import replay

    return replay(data, asked_for(key=key, format=format_), to, rate, max_records)
