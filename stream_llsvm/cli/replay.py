"""``stream-llsvm replay``: a file's records again, at a rate."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from stream_llsvm.cli.errors import MistakeError, RunFailedError, one_line
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

if TYPE_CHECKING:
    from stream_llsvm.cli.addresses import Topics

HELP = "Send a file's records to a topic or another file, as JSON, so many a second."
EXAMPLE = "stream-llsvm replay data.csv --to kafka://localhost:9092/wind --rate 5000"

_SLICES = 20.0  # a second: how often there is a pause
_MOST = 1_000
_PATIENCE = 15.0


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


class FileTarget:
    """Lines of a file."""

    def __init__(self, path: str) -> None:
        from stream_llsvm.connectors.file.line_writer import LineWriter

        self._file = LineWriter(path, max_bytes=10**15)

    def send(self, key: Any, value: bytes) -> None:
        """Write a line."""
        self._file.write_lines([value])

    def push(self) -> None:
        """Let others see what was written."""
        self._file._file.flush()

    def close(self) -> None:
        """Finish."""
        self._file.close()


class KafkaTarget:
    """Messages of a topic."""

    def __init__(self, where: Topics) -> None:
        from kafka import KafkaProducer

        from stream_llsvm.cli.topics import make_topic
        from stream_llsvm.connectors.kafka.client import Settings, wait_for_topics

        settings = Settings(where.servers, None, _PATIENCE)
        make_topic(settings, where.topics[0])
        self._producer: Any = settings.connect(lambda how: KafkaProducer(linger_ms=5, **how))
        trouble = wait_for_topics(
            self._producer._metadata, where.topics, time.monotonic() + _PATIENCE
        )
        if trouble is not None:
            self._producer.close(timeout=0)
            raise MistakeError(f"Kafka at {where.servers}: {trouble.text}")
        self._topic = where.topics[0]
        self._failed: list[BaseException] = []

    def send(self, key: Any, value: bytes) -> None:
        """Hand over a message."""
        coded = None if key is None else str(key).encode()
        self._producer.send(self._topic, value, key=coded).add_errback(self._failed.append)

    def push(self) -> None:
        """Raise what went wrong so far."""
        if self._failed:
            raise RunFailedError(f"Kafka topic {self._topic!r}: {one_line(self._failed[0])}")

    def close(self) -> None:
        """Wait until all has arrived."""
        self._producer.flush(_PATIENCE)
        self._producer.close(timeout=_PATIENCE)
        self.push()


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
    from stream_llsvm.cli.checks import check_names, first_records
    from stream_llsvm.cli.tables import print_json
    from stream_llsvm.connectors.base import SourceError
    from stream_llsvm.connectors.predictions import as_json as line_of

    key = given.get("key")
    if data != "-":
        ignored = {f"to ignore {name}": name for name in given.get("ignore", [])}
        check_names(data, first_records(data, given), {"key": key} | ignored)
    target = _target(to)
    sent, begin = 0, time.monotonic()
    try:
        with raising_interrupts():
            for record in _records(data, given):
                target.send(None if key is None else record.get(key), line_of(record))
                sent += 1
                if sent == max_records:
                    break
                if rate and sent % max(1, int(rate / _SLICES)) == 0:
                    target.push()
                    time.sleep(max(0.0, begin + sent / rate - time.monotonic()))
    except SourceError as error:
        raise RunFailedError(one_line(error)) from error
    finally:
        target.close()
        seconds = time.monotonic() - begin
        rate = sent / max(seconds, 1e-9)
        if as_json:
            print_json({"sent": sent, "seconds": seconds, "records_per_second": rate})
        else:
            print(f"{sent:,} records sent, {rate:,.0f}/s", file=sys.stderr)
    return 0


def _target(to: str) -> FileTarget | KafkaTarget:
    from stream_llsvm.cli.addresses import topic_of

    where = topic_of(to)
    try:
        return FileTarget(to) if where is None else KafkaTarget(where)
    except MistakeError:
        raise
    except Exception as error:  # of kafka-python, and of this package's connector to it
        raise MistakeError(one_line(error)) from error


def _records(data: str, given: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    from stream_llsvm.connectors.file.source import FileSource

    columns = {name: value for name, value in given.items() if name != "key"}
    source = FileSource(data, numeric=False, **columns)
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
        print(f"stream-llsvm: {rejected:,} records could not be read", file=sys.stderr)
