"""What the loops over JSON and CSV are told of fields, and what they fill."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stream_llsvm.connectors.flat.compile import Array

Table = tuple[Array, Array, Array, Array]


class Fields(NamedTuple):
    """The fields of a record, in their order.

    Attributes
    ----------
    names, ends
        Their names one after the other, and where each ends; none of records that do not name them.
    roles
        What each is: the column of a feature, or `LABEL`, `KEY` or `IGNORED`.
    kinds
        What the values of each are taken for, see ``parse_text.py``.

    """

    names: Array
    ends: Array
    roles: Array
    kinds: Array


class Filled(NamedTuple):
    """What is read of n records.

    Attributes
    ----------
    values
        (n, features), the numbers and the boxes.
    spans
        (n, 4), where label and key begin and end in the data; -1 where there is none.
    odd
        (n,), what is known of each record.

    """

    values: Array
    spans: Array
    odd: Array

    @classmethod
    def empty(cls, records: int, features: int) -> Filled:
        """Return room for so much."""
        return cls(
            np.empty((records, features)),
            np.full((records, 4), -1, dtype=np.int64),
            np.empty(records, dtype=np.uint8),
        )
