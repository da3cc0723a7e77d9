"""A file from its first record to its last, as often as it takes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from stream_llsvm.cli.build import open_source
from stream_llsvm.cli.checks import check_columns
from stream_llsvm.cli.errors import RunFailedError, one_line
from stream_llsvm.cli.tables import bad_fields_of, not_utf8
from stream_llsvm.connectors.base import Batch, SourceError

_MOST = 500


class Contents(NamedTuple):
    """What is in a file.

    Attributes
    ----------
    records
        How many can be read.
    rejected
        How many cannot.
    first_rejected
        What is wrong with the first of those; empty if there is none.
    bad_fields
        How many values could not be read, by field.
    unlabelled
        How many of the records have no label.
    labels
        Which labels occur.

    """

    records: int
    rejected: int
    first_rejected: str
    bad_fields: Counter[str]
    unlabelled: int
    labels: set[Any]

    def what_is_missing(self) -> str:
        """Say why nothing can be learned from it; empty if something can."""
        if self.records == 0:
            return "there are no records in it" if self.rejected == 0 else self._told_rejected()
        return "" if self.labels else "no record has a label"

    def summary(self) -> str:
        """Say how much there is of what, on one line."""
        told = [
            _several(self.records, "record"),
            _several(len(self.labels), "class", "classes"),
            f"{self.unlabelled:,} without a label" if self.unlabelled else "",
            self._told_rejected() if self.rejected else "",
            bad_fields_of(self.bad_fields),
        ]
        return ", ".join(part for part in told if part)

    def _told_rejected(self) -> str:
        return f"{self.rejected:,} cannot be read (the first: {self.first_rejected})"


def _several(number: int, one: str, many: str = "") -> str:
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def batches(options: Mapping[str, Any], max_records: int | None) -> Iterator[Batch]:
    """Yield the file's records, or only the first so many; its columns were checked before."""
    source, left = open_source(options), max_records
    try:
        while not source.ended and left != 0:
            batch = source.poll(_MOST if left is None else min(_MOST, left), 1.0)
            if batch is None:
                continue
            if left is not None:
                left -= len(batch)
            yield batch
    finally:
        source.close()


def look_through(options: Mapping[str, Any], max_records: int | None) -> Contents:
    """Return what there is to know of a file before learners can be run through it."""
    records = rejected = unlabelled = 0
    labels, first, bad_fields = set[Any](), "", Counter[str]()
    for address in options["from"]:
        check_columns(address, options)
    try:
        for batch in batches(options, max_records):
            records += len(batch)
            rejected += len(batch.rejected)
            bad_fields.update(one.field for one in batch.bad_fields)
            unlabelled += batch.labels.count(None)
            labels.update(batch.labels)
            if batch.rejected and not first:
                one = batch.rejected[0]
                first = f"{one.reason}, {one.detail}{not_utf8(one.reason)}"
    except SourceError as error:
        raise RunFailedError(one_line(error)) from error
    return Contents(records, rejected, first, bad_fields, unlabelled, labels - {None})
