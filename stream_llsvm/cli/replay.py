"""``stream-llsvm replay``: a file's records again, at a rate."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from typing import Annotated, Any

from typer import Option

from stream_llsvm.cli.errors import RunFailedError, one_line, put
from stream_llsvm.cli.options import (
    DATA,
    FILE_COLUMNS,
    JSON,
    MAX_RECORDS,
    columns,
    columns_in,
    with_flags,
)
from stream_llsvm.cli.signals import raising_interrupts

EXAMPLE = "stream-llsvm replay data.csv --to kafka://localhost:9092/wind --rate 5000"

_SLICES = 20.0  # a second: how often there is a pause
_MOST = 1_000


@with_flags(
    columns(
        FILE_COLUMNS - {"label", "features", "on_bad_field"},
        key="The column that is each message's key.",
        ignore="Columns that are not sent: a,b.",
    )
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
    return replay(data, columns_in(given), to, rate, max_records, as_json=json)


def replay(
    data: str,
    given: Mapping[str, Any],
    to: str,
    rate: float,
    max_records: int | None,
    *,
    as_json: bool,
) -> int:
    """Send records until the file ends; return the exit code."""
    from stream_llsvm.cli.build import connector_for, made
    from stream_llsvm.cli.checks import check_names, first_records
    from stream_llsvm.cli.terminal import print_json
    from stream_llsvm.connectors.base import SinkError, SourceError
    from stream_llsvm.connectors.predictions import as_json as line_of

    key = given.get("key")
    if (records := first_records(data, given)) is not None:
        ignored = {f"to ignore {name}": name for name in given.get("ignore", [])}
        check_names(data, records, {"key": key} | ignored)
    connector = connector_for(to)
    made(lambda: connector.check_sink(to))
    target = made(lambda: connector.writer(to))
    sent, begin = 0, time.monotonic()
    try:
        with raising_interrupts(), closing(target):
            for record in _records(data, given):
                target.send(None if key is None else record.get(key), line_of(record))
                sent += 1
                if sent == max_records:
                    break
                if rate and sent % max(1, int(rate / _SLICES)) == 0:
                    target.push()
                    time.sleep(max(0.0, begin + sent / rate - time.monotonic()))
    except (SourceError, SinkError) as error:
        raise RunFailedError(one_line(error)) from error
    finally:
        seconds = time.monotonic() - begin
        rate = sent / max(seconds, 1e-9)
        if as_json:
            print_json({"sent": sent, "seconds": seconds, "records_per_second": rate})
        else:
            put(f"{sent:,} records sent, {rate:,.0f}/s", file=sys.stderr)
    return 0


def _records(data: str, given: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    from stream_llsvm.cli.build import connector_for, made

    columns = {name: value for name, value in given.items() if name != "key"}
    source = made(lambda: connector_for(data).source([data], columns | {"numeric": False}))
    rejected = 0
    try:
        while not source.ended:
            batch = source.poll(_MOST, 1.0)
            if batch is not None:
                rejected += len(batch.rejected)
                yield from (batch.record(i) for i in range(len(batch)))
    finally:
        source.close()
    if rejected:
        put(f"stream-llsvm: {rejected:,} records could not be read", file=sys.stderr)
